package jobs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/store"
)

// KeyOptions are what key works with.
type KeyOptions struct {
	Host   *host.Host
	Rotate bool
}

func newKey(h *host.Host, runF func(context.Context, *KeyOptions) error) *cobra.Command {
	opts := &KeyOptions{Host: h}
	if runF == nil {
		runF = key
	}
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Show where the key is that seals your jobs, or make a new one",
		Long: `Show where the key is that seals your jobs, and the ids of all keys that still check them.
The key itself is never shown.

Perstack seals every record of a job with a key of yours, which it makes when it is first
needed. A job that your key did not seal may have been written by another program, so it is
not continued. If you think that someone else has read the key, make a new one: --rotate.
New records are sealed with it. Jobs that the older keys sealed can still be continued; to
stop that, remove the lines of the older keys from the file.`,
		Example: `  perstack jobs key
  perstack jobs key --rotate`,
		Args: host.NoArgs("there is one key for all projects"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := h.RefuseInJob(cmd); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.Rotate, "rotate", false, "make a new key; the older ones still check")
	return cmd
}

func key(_ context.Context, opts *KeyOptions) error {
	h := opts.Host
	dir, err := h.StateDir()
	if err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	if opts.Rotate {
		if _, err := dir.RotateKey(); err != nil {
			return err
		}
	}
	keys, err := dir.Keys()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(h.Stdout, terminal.CleanLine(dir.KeyFile())); err != nil {
		return err
	}
	use := "seals and checks"
	for _, k := range keys {
		if _, err := fmt.Fprintf(h.Stdout, "  %s  made %s  %s\n", store.SealKey(k.Secret).ID(), k.Made.Format("2006-01-02 15:04:05 MST"), use); err != nil {
			return err
		}
		use = "checks"
	}
	return nil
}
