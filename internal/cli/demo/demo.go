// Package demo is the command perstack demo: a real Expert at work in a scratch
// directory, without any key.
//
// Engine, tools and journal are the real ones. Only the model is played from a
// cassette that is part of the binary. Start reading at [New].
package demo

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/run"
	"github.com/perstack-go/perstack/internal/terminal"
)

// files is the scratch workspace: an Expert, its notes, and the cassette.
//
//go:embed all:files
var files embed.FS

// Options are what the demo can be told.
type Options struct {
	Host *host.Host
	Dir  string // where to work; empty makes a new directory
}

// New returns the command. runF, if set, is called instead of running the demo.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch an Expert at work, without an API key",
		Long: `Run an Expert in a new directory. It reads a few notes, keeps a to-do list and
writes a report. Only the answers of the model are prepared. The engine, the tools
and the history are the same as in any other run.`,
		Example: `  perstack demo
  perstack demo --dir /tmp/my-demo`,
		Args:              host.NoArgs("--dir chooses where it works"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return demo(cmd.Context(), opts)
		},
	}
	cmd.Flags().StringVar(&opts.Dir, "dir", "", "new directory to work in (default: a temporary one)")
	return cmd
}

func demo(ctx context.Context, opts *Options) error {
	h := opts.Host
	dir, err := scratch(opts)
	if err != nil {
		return err
	}
	fmt.Fprintf(h.Stdout, "An Expert called reporter works in %s\n\n", terminal.CleanLine(dir))

	job := h.Source.NewID()
	storage := filepath.Join(dir, "perstack")
	err = run.Run(ctx, &run.Options{
		Host:      h,
		Expert:    "reporter",
		Query:     "Write the report of this week.",
		HasQuery:  true,
		Config:    filepath.Join(dir, "perstack.toml"),
		Workspace: dir,
		Storage:   storage,
		JobID:     job,
		Output:    "progress",
	})
	if err != nil {
		return err
	}
	fmt.Fprint(h.Stdout, terminal.Clean(closing(h.Command, dir, storage, job)))
	return nil
}

// scratch lays out the workspace. An existing directory is never written to.
func scratch(opts *Options) (string, error) {
	dir := opts.Dir
	var err error
	if dir == "" {
		dir, err = os.MkdirTemp("", "perstack-demo-")
	} else {
		dir = opts.Host.Path(dir)
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		return "", host.Usagef("make the directory of the demo: %w; choose another with --dir", err)
	}
	source, err := fs.Sub(files, "files")
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, source); err != nil {
		return "", fmt.Errorf("lay out the demo: %w", err)
	}
	return dir, nil
}

// closing says where things are, and what to try next.
func closing(command, dir, storage, job string) string {
	call := func(words ...string) string { return "  " + command + " " + terminal.ShellJoin(words...) + "\n" }
	return "\nResult:  " + filepath.Join(dir, "report.md") +
		"\nHistory: " + filepath.Join(storage, "jobs", job) + "\n\nTry next:\n" +
		call("log", job, "--storage", storage) +
		call("log", job, "--verify", "--storage", storage) +
		call("run", "reporter", "What is most urgent?", "--continue-job", job,
			"--config", filepath.Join(dir, "perstack.toml"), "--workspace", dir, "--storage", storage)
}
