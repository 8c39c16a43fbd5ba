// Package view is the command that shows a published Expert, or the difference between two.
//
// The content that it shows is verified with the log of the registry. What only the registry says, such as
// a status or a list of versions, is marked. Start reading at [New], then load.go.
package view

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/definition"
)

// Options are what the command works with.
type Options struct {
	Host *host.Host

	Key, Other string // Other is empty if nothing is compared
	Registry   string // name or address; empty for that of the scope
	Config     string // path of perstack.toml, which can name registries
	JSON       bool
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "view <expert> [other]",
		Short: "Show a published Expert, or the difference between two versions",
		Long: `Show a published Expert: its newest version with digest, signature and position in the log,
what it can do with everything that it delegates to, and all versions. With a version or a
tag, it shows that one with its instruction.

With a second Expert, or a second version of the same one, it shows the difference: what the
second can do that the first cannot, the instruction, and everything else that changed.

The content is verified with the log of the registry, as before a run. What only the
registry says is marked with *. Nothing is run, and nothing in your project changes.`,
		Example: `  perstack view @acme/researcher
  perstack view @acme/researcher@1.2.0
  perstack view @acme/researcher@1.2.0 1.3.0
  perstack view @acme/researcher@stable @acme/researcher --json`,
		Args: func(_ *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return host.Usagef("no Expert given; name one, like @acme/researcher; perstack search finds them")
			case 1, 2:
				return nil
			}
			return host.Usagef("view takes one Expert, or two to compare, but got %d arguments", len(args))
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := host.RefuseEmpty(cmd.Flags()); err != nil {
				return err
			}
			opts.Key = args[0]
			if len(args) > 1 {
				opts.Other = args[1]
			}
			return runF(cmd.Context(), opts)
		},
	}
	h.AddRegistryFlag(cmd, &opts.Registry, "name or address of the registry (default: that of the scope)")
	host.AddLocalConfigFlag(cmd, &opts.Config)
	h.JSONErrors(cmd, &opts.JSON)
	return cmd
}

func run(ctx context.Context, opts *Options) error {
	h := opts.Host
	key, err := parse(opts.Key)
	if err != nil {
		return err
	}
	s, err := open(ctx, opts)
	if err != nil {
		return err
	}
	if opts.Other != "" {
		if definition.IsVersion(opts.Other) {
			opts.Other = key.Name + "@" + opts.Other
		}
		if _, err := parse(opts.Other); err != nil {
			return err
		}
		before, err := s.version(ctx, opts.Key)
		if err != nil {
			return err
		}
		after, err := s.version(ctx, opts.Other)
		if err != nil {
			return err
		}
		c := compare(before, after)
		if opts.JSON {
			return host.WriteJSON(h.Stdout, c)
		}
		_, err = fmt.Fprint(h.Stdout, c.describe())
		return err
	}
	v, err := s.version(ctx, opts.Key)
	if err != nil {
		return err
	}
	v.whole = key.Version != "" || key.Tag != ""
	if err := s.addPackage(ctx, v); err != nil {
		return err
	}
	if opts.JSON {
		return host.WriteJSON(h.Stdout, v)
	}
	_, err = fmt.Fprint(h.Stdout, v.describe())
	return err
}

func parse(text string) (expert.Key, error) {
	key, err := expert.ParseKey(text)
	if err != nil {
		return key, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	return key, nil
}
