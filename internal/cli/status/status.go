// Package status is the command that says whether a published version should be used.
//
// Start reading at [New]; screens.go is the wizard.
package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/published"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

// Options are what the command works with.
type Options struct {
	Host       *host.Host
	Flags      published.Flags
	Key        string // empty for the wizard
	Status     string
	Message    string
	ReplacedBy string
}

// statuses are those that a publisher can set.
var statuses = []string{api.Available, api.Deprecated, api.Disabled}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = func(ctx context.Context, opts *Options) error { return opts.run(ctx) }
	}
	cmd := &cobra.Command{
		Use:   "status [key] [status]",
		Short: "Deprecate or disable a published version of an Expert",
		Long: `Set the status of a published version. The key must have the exact version.

  available    users get it as usual
  deprecated   it still runs, and users are told why and what to use instead
  disabled     new users cannot run it; a project that has pinned it still can

The registry decides which change it accepts. For its owner, a deprecated version does not
become available again, and a disabled one stays disabled: publish a new version instead.
--message and --replaced-by are shown to users.

On a terminal, without arguments, you choose the version and its status on screens.

Exit codes: 0 changed, or cancelled on a screen; 1 refused by the registry, or it could
not be reached; 2 wrong usage, no key, or a version that does not exist.`,
		Example: `  perstack status @acme/researcher@1.0.0 deprecated --replaced-by @acme/researcher@2.0.0
  perstack status @acme/researcher@1.0.1 disabled --message "It deletes files. Use 1.0.2."
  perstack status`,
		Args: host.AtMost(2, func(args []string) error {
			return host.Usagef("status takes a key and a status, but got %d arguments; a message goes into --message", len(args))
		}),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return statuses, cobra.ShellCompDirectiveNoFileComp
			}
			return complete.Expert(h, &opts.Flags.Config)(cmd, args, word)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := h.RefuseInJob(cmd); err != nil {
				return err
			}
			if err := host.RefuseEmpty(cmd.Flags()); err != nil {
				return err
			}
			if len(args) > 0 {
				opts.Key = args[0]
			}
			if len(args) > 1 {
				opts.Status = args[1]
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.Flags.Add(h, cmd)
	cmd.Flags().StringVar(&opts.Message, "message", "", "what users of the version are told")
	cmd.Flags().StringVar(&opts.ReplacedBy, "replaced-by", "", "key of the Expert to use instead")
	for _, flag := range []string{"message", "replaced-by"} {
		if err := cmd.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return cmd
}

func (o *Options) run(ctx context.Context) (err error) {
	key, err := o.check()
	if err != nil {
		return err
	}
	s, err := published.Open(ctx, o.Host, o.Flags.Config)
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
	return o.set(ctx, r, key, o.Status)
}

// check reads the arguments.
func (o *Options) check() (key expert.Key, err error) {
	if o.ReplacedBy != "" {
		if _, err := expert.ParseKey(o.ReplacedBy); err != nil {
			return key, host.Usagef("--replaced-by: %w", err)
		}
	}
	if o.Key == "" {
		if o.Flags.JSON || !published.CanChoose(o.Host) {
			err = host.Usagef("no version given; name one, like %s status @acme/researcher@1.0.0 deprecated", o.Host.Command)
		}
		return key, err
	}
	if key, err = published.ExactKey(o.Key); err != nil {
		return key, err
	}
	switch {
	case o.Status == "":
		err = host.Usagef("no status given; it is %s", wording.Or(statuses))
	case !slices.Contains(statuses, o.Status):
		err = host.Usagef("%q is no status; it is %s", o.Status, wording.Or(statuses))
	}
	return key, err
}

// set changes the status.
func (o *Options) set(ctx context.Context, r *published.Registry, key expert.Key, status string) error {
	to := api.SetStatus{Status: status, Message: o.Message, ReplacedBy: o.ReplacedBy}
	err := r.Client.SetStatus(ctx, key.String(), to)
	if client.KindOf(err) == client.NotFound {
		if _, err := r.Version(ctx, key); err != nil {
			return err // which says which versions there are
		}
	}
	if err != nil {
		return r.Explain(err)
	}
	if o.Flags.JSON {
		return host.WriteJSON(o.Host.Stdout, struct {
			Key        string `json:"key"`
			Registry   string `json:"registry"`
			Status     string `json:"status"`
			Message    string `json:"message,omitzero"`
			ReplacedBy string `json:"replacedBy,omitzero"`
		}{key.String(), r.Client.URL(), status, o.Message, o.ReplacedBy})
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Updated %s\n  Status: %s\n", key, status)
	if o.Message != "" {
		fmt.Fprintf(&text, "  Message: %s\n", terminal.CleanLine(o.Message))
	}
	if o.ReplacedBy != "" {
		fmt.Fprintf(&text, "  Replaced by: %s\n", o.ReplacedBy)
	}
	_, err = fmt.Fprint(o.Host.Stdout, text.String())
	return err
}
