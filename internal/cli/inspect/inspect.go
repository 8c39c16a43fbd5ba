// Package inspect is the command that prints the capability card of an Expert: everything
// that it and the Experts it can reach may start, reach, read from the environment, call
// and spend, before any of it happens.
//
// It reads perstack.toml, perstack.lock and the names in env files. It starts nothing,
// needs no key and never prints a value of a variable or of a header. It asks a registry only for
// an Expert that the user names.
// Start reading at [Options], then [Card], which is also what --json prints.
package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
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
		Short: "Show what an Expert can do before you run it",
		Long: `Print what an Expert can do: its skills with their commands, packages and pins, the
environment variables that they get, the hosts that they can reach, their tools, the
delegates and the limits. Every Expert that it can delegate to, directly or through
others, is included. At the end is what the files of the project ask for beyond the
defaults, which perstack run asks you about, and findings that you should look at.

Tools of MCP skills are taken from perstack.lock, which perstack install writes.
Nothing is started, and values of variables are not shown. The network is used only if
you name a published Expert that this machine does not have yet.
Invisible characters in texts that the model reads are shown as <U+200B>.

--json prints one object, which docs/inspect.md describes. The exit code is 0 even if
there are findings, and 2 for wrong usage or an invalid perstack.toml.`,
		Example: `  perstack inspect writer
  perstack inspect @acme/writer --config experts/perstack.toml
  perstack inspect writer --json | jq -r '.findings[].message'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return host.Usagef("expected one Expert, got %d arguments; call it as: perstack inspect <expert>", len(args))
			}
			return nil
		},
		ValidArgsFunction: complete.Expert(h, &opts.Config),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Expert = args[0]
			if err := host.RefuseEmpty(cmd.Flags()); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	host.AddConfigFlag(cmd, &opts.Config)
	h.AddRemoteYesFlag(cmd)
	flags.StringArrayVar(&opts.EnvPath, "env-path", nil, "env file to look for variables in; can be repeated (default: .env, .env.local)")
	flags.BoolVar(&opts.JSON, "json", false, "print the card as JSON")
	return cmd
}

func run(ctx context.Context, opts *Options) error {
	card, _, err := Read(ctx, opts)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if !opts.JSON {
		out.WriteString(card.text())
	} else if err := host.WriteJSON(&out, card); err != nil {
		return err
	}
	_, err = io.WriteString(opts.Host.Stdout, opts.Host.Secrets.Redact(out.String()))
	return err
}

// Print writes the card for people, without the secrets that h knows. It does not say that there
// are no findings: the caller has its own.
func (c *Card) Print(h *host.Host) string {
	return h.Secrets.Redact(strings.TrimSuffix(c.text(), "\n"+noFindings+"\n"))
}

// Read reads the files of the project and puts the card of the Expert together. Secrets that a
// command line of the file contains are in the card: what is printed must be redacted.
func Read(ctx context.Context, opts *Options) (*Card, *manifest.Config, error) {
	h := opts.Host
	if err := h.FetchConfig(ctx, &opts.Config); err != nil {
		return nil, nil, err
	}
	config, err := opts.Host.LoadConfig(opts.Config)
	if errors.Is(err, manifest.ErrNotFound) && opts.Config == "" && manifest.NamesPublished(opts.Expert) {
		config, err = manifest.Empty(h.Dir), nil
	}
	if err != nil {
		return nil, nil, err
	}
	lock, lockErr := lockfile.Read(config)
	// The user named a published Expert: it is asked for. Delegates are shown as far as they are known.
	fetch := host.Fetch{Config: config, Workspace: h.Dir, Lock: lock, Keys: config.Missing(opts.Expert), Offline: !config.Fetched(opts.Expert)}
	published, err := h.Fetch(ctx, fetch)
	if err != nil {
		return nil, nil, err
	}
	e, err := host.FindExpert(config, opts.Expert)
	if err != nil {
		return nil, nil, err
	}
	if err := h.SandboxPaths(config); err != nil {
		fmt.Fprintln(h.Stderr, "perstack: "+terminal.Clean(err.Error())) // no run will start
	}
	own, err := h.Own(config.Dir, h.Dir)
	if err != nil {
		fmt.Fprintln(h.Stderr, "perstack: "+terminal.Clean(err.Error()))
	}
	asks := consent.Project{Config: config, Resolved: job.Resolve(job.Flags{User: own.Settings}, config.Settings, job.Settings{}, providers.Catalogue{})}
	asks.Experts, _ = config.Closure(e)
	asks.Lock, asks.Published, asks.Registries = lock, published.Requests, published.Registries
	question := host.Question{
		Host: h, Project: asks, Workspace: h.Dir,
		Files: manifest.EnvFiles(h.Dir, h.Home, opts.EnvPath, config), Named: len(opts.EnvPath) > 0,
	}
	variables, requests, envErr := question.Peek()
	if envErr != nil {
		// The card is about the Expert. What is missing here is shown as not set.
		fmt.Fprintln(h.Stderr, "perstack: "+terminal.Clean(envErr.Error()))
		if variables, err = env.Load(h.Environ, nil); err != nil {
			return nil, nil, err
		}
	}
	h.HideProject(config, variables) // a command line of the file may contain a key
	card := newCard(config, e, lock, lockErr, variables, h.Dir, opts.Config)
	card.Requests = requests
	card.Programs = programsOf(asks.Resolved.Settings, own.Isolation.TightenedBy(config.Settings.Isolation))
	return card, config, nil
}
