// Package inspect is the command that prints the capability card of an Expert: everything
// that it and the Experts it can reach may start, reach, read from the environment, call
// and spend, before any of it happens.
//
// It reads perstack.toml, perstack.lock and the names in env files. It starts nothing,
// uses no network, needs no key and never prints a value of a variable or of a header.
// Start reading at [Options], then [Card], which is also what --json prints.
package inspect

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
)

// Options are what the command works with.
type Options struct {
	Host *host.Host

	Expert  string
	Config  string // path of the file; empty means to look for it
	EnvPath []string
	JSON    bool
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "inspect <expert>",
		Short: "Show what an Expert can do, before it does",
		Long: `Print the capability card of an Expert: its skills with their commands, packages
and pins, the environment variables they get, the hosts they may reach and the
tools they offer, whom it can delegate to, and its limits; the same for every
Expert that it can reach by delegation. Findings name what deserves a second look.

Tools of MCP skills are known from perstack.lock; perstack install writes it.
Nothing is started, no network is used, and values of variables are not shown.
Characters that nobody sees, in texts that the model reads, show as <U+200B>.

--json prints one object; docs/inspect.md describes it. The exit code is 0, also
with findings, and 2 for wrong usage or a broken perstack.toml.`,
		Example: `  perstack inspect writer
  perstack inspect @acme/writer --config experts/perstack.toml
  perstack inspect writer --json | jq -r '.findings[].message'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return host.Usagef("expected one Expert, got %d arguments; call it as: perstack inspect <expert>", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return complete.Experts(opts.Host, opts.Config)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Expert = args[0]
			if err := host.RefuseEmpty(cmd.Flags()); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Config, "config", "", "perstack.toml to use (default: searched for upwards from here)")
	flags.StringArrayVar(&opts.EnvPath, "env-path", nil, "env file to look for variables in, may be repeated (default: .env, .env.local)")
	flags.BoolVar(&opts.JSON, "json", false, "print the card as JSON")
	if err := cmd.MarkFlagFilename("config", "toml"); err != nil {
		panic(err) // the flag stands three lines above
	}
	return cmd
}

func run(_ context.Context, opts *Options) error {
	h := opts.Host
	config, err := opts.Host.LoadConfig(opts.Config)
	if err != nil {
		return err
	}
	if _, err := expert.ParseKey(opts.Expert); err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	e, ok := config.Lookup(opts.Expert)
	if !ok {
		return host.Usagef("expert %q not found in %s; it has: %s", opts.Expert, config.Path, names(config))
	}
	variables, envErr := env.Load(h.Environ, manifest.EnvFiles(h.Dir, h.Home, opts.EnvPath, config))
	if envErr != nil {
		// The card is about the Expert. What is missing here is shown as not set.
		fmt.Fprintln(h.Stderr, "perstack: "+terminal.Clean(envErr.Error()))
		if variables, err = env.Load(h.Environ, nil); err != nil {
			return err
		}
	}
	h.HideProject(config, variables) // a key may stand in a command line of the file
	card := newCard(config, e, variables, opts.Config)
	var text string
	if opts.JSON {
		text, err = card.json()
	} else {
		text = card.text()
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(h.Stdout, h.Secrets.Redact(text))
	return err
}

func names(c *manifest.Config) string {
	var keys []string
	for _, e := range c.Experts {
		keys = append(keys, e.Key)
	}
	return cmp.Or(strings.Join(keys, ", "), "no experts")
}
