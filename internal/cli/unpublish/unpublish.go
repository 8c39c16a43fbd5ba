// Package unpublish is the command that removes a version of an Expert from its registry.
//
// The content is gone for good, so an exact version must be named, and the user has to confirm. Start
// reading at [New]; screens.go is the wizard.
package unpublish

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/published"
	"github.com/perstack-go/perstack/internal/terminal"
)

// Options are what the command works with.
type Options struct {
	Host  *host.Host
	Flags published.Flags
	Key   string // empty for the wizard
	Force bool
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = func(ctx context.Context, opts *Options) error { return opts.run(ctx) }
	}
	cmd := &cobra.Command{
		Use:   "unpublish [key]",
		Short: "Remove a version of an Expert from the registry",
		Long: `Remove a version of an Expert from its registry. The key must have the exact version.

The content is erased for good, and the number of the version can never be used again.
The log of the registry keeps the record that the version existed. A registry refuses
this if the version is older than 72 hours, or if another Expert delegates to it. To
keep users away from an old version, deprecate it: perstack status --help.

On a terminal you are asked first, and without a key you choose the version on screens.
Elsewhere --force or --yes is needed.

Exit codes: 0 unpublished, or cancelled on a screen; 1 refused by the registry, or it
could not be reached; 2 wrong usage, no key, or a version that does not exist.`,
		Example: `  perstack unpublish @acme/researcher@1.0.1
  perstack unpublish @acme/researcher@1.0.1 --force
  perstack unpublish`,
		Args: host.AtMost(1, func(args []string) error {
			return host.Usagef("unpublish takes one key, but got %d arguments", len(args))
		}),
		ValidArgsFunction: complete.Expert(h, &opts.Flags.Config),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(h.RefuseInJob(cmd), host.RefuseEmpty(cmd.Flags())); err != nil {
				return err
			}
			opts.Force = opts.Force || h.Yes
			if len(args) > 0 {
				opts.Key = args[0]
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.Flags.Add(h, cmd)
	cmd.Flags().BoolVar(&opts.Force, "force", false, "remove it without a question")
	h.AddYes(cmd, "the same as --force")
	return cmd
}

func (o *Options) run(ctx context.Context) (err error) {
	h := o.Host
	var key expert.Key
	switch {
	case o.Key != "":
		if key, err = published.ExactKey(o.Key); err != nil {
			return err
		}
		if !o.Force && !h.CanConfirm() {
			return host.Usagef("this permanently removes %s from the registry; add --force to confirm, or run it in a terminal", key)
		}
	case o.Flags.JSON || !published.CanChoose(h):
		return host.Usagef("no version given; name one, like %s unpublish @acme/researcher@1.0.0 --force", h.Command)
	}
	s, err := published.Open(ctx, h, o.Flags.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if o.Key == "" {
		return o.choose(ctx, s)
	}
	r, err := s.Registry(ctx, key.Name)
	if err != nil {
		return err
	}
	if !o.Force {
		yes, err := h.Confirm(ctx, "perstack: this permanently removes %s from %s, and its number cannot be used again. Remove it?",
			key, terminal.CleanLine(r.Client.URL()))
		if err != nil {
			return err
		}
		if !yes {
			_, err := fmt.Fprintln(h.Stdout, "Cancelled")
			return err
		}
	}
	return o.remove(ctx, r, key)
}

// remove removes a version.
func (o *Options) remove(ctx context.Context, r *published.Registry, key expert.Key) error {
	if err := r.Client.Unpublish(ctx, key.String()); err != nil {
		return r.Explain(err)
	}
	if o.Flags.JSON {
		return host.WriteJSON(o.Host.Stdout, struct {
			Key      string `json:"key"`
			Registry string `json:"registry"`
			Status   string `json:"status"`
		}{key.String(), r.Client.URL(), "unpublished"})
	}
	_, err := fmt.Fprintln(o.Host.Stdout, "Unpublished "+key.String())
	return err
}
