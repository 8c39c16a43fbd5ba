// Package models is the command that lists the models perstack knows: how much they read
// and write, what they cost and what they can do.
//
// It reads the catalogue that is part of the program, and perstack.toml if there is one.
// No provider is contacted. Start reading at [Options], then [New].
package models

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/model"
)

// Options are what the command works with.
type Options struct {
	Host *host.Host

	Provider string // empty: all
	Config   string // path of perstack.toml; empty means to look for it
	JSON     bool
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "models [provider]",
		Short: "List the models that perstack knows",
		Long: `List the models that perstack knows, of all providers or of one: the most tokens of
a request and of an answer, the price, how reasoning is requested, and whether the
model accepts images and PDF files.

The list is part of the program; no provider is asked. A model that is not on the
list can be used, too, with a warning. [models] and [prices] in perstack.toml replace
values of the list; these are marked.`,
		Example: `  perstack models
  perstack models openai
  perstack models --json | jq -r '.models[].id'`,
		Args: host.AtMost(1, func(args []string) error {
			return host.Usagef("models takes one provider, but got %d arguments; leave it out for all", len(args))
		}),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return complete.Providers(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.Provider = args[0]
			}
			return runF(cmd.Context(), opts)
		},
	}
	host.AddConfigFlag(cmd, &opts.Config)
	h.AddRemoteYesFlag(cmd)
	cmd.Flags().BoolVar(&opts.JSON, "json", false, "print the list as JSON")
	return cmd
}

func run(ctx context.Context, opts *Options) error {
	if opts.Provider != "" {
		if err := model.CheckProvider(opts.Provider); err != nil {
			return &host.ExitError{Code: host.ExitUsage, Err: err}
		}
		if opts.Provider == "replay" {
			return host.Usagef("the provider replay has no models: it plays the answers of a cassette")
		}
	}
	if err := opts.Host.FetchConfig(ctx, &opts.Config); err != nil {
		return err
	}
	config, err := opts.config()
	if err != nil {
		return err
	}
	l := newList(config, opts.Provider)
	if opts.JSON {
		return host.WriteJSON(opts.Host.Stdout, l)
	}
	return l.print(opts.Host.Stdout, opts.Host.Width)
}

// config is perstack.toml. The list is worth reading without one.
func (o *Options) config() (*manifest.Config, error) {
	if _, err := manifest.Locate(o.Host.Dir, o.Config); errors.Is(err, manifest.ErrNotFound) {
		return &manifest.Config{}, nil
	}
	return o.Host.LoadConfig(o.Config)
}
