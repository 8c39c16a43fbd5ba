package rules

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/terminal"
)

// RevokeOptions are what revoke works with.
type RevokeOptions struct {
	Host   *host.Host
	Config string
	IDs    []string
}

func newRevoke(h *host.Host, runF func(context.Context, *RevokeOptions) error) *cobra.Command {
	opts := &RevokeOptions{Host: h}
	if runF == nil {
		runF = revoke
	}
	cmd := &cobra.Command{
		Use:   "revoke <id...>",
		Short: "Forget an answer that is remembered",
		Long: `Forget answers that you let perstack remember for this project or for always. The next
call that they covered is asked about again. perstack rules lists them with their ids.`,
		Example: `  perstack rules revoke k3v9a2xq`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return host.Usagef("no grant is named; list them with: perstack rules")
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completeGrants(h, opts.Config), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.IDs = args
			return runF(cmd.Context(), opts)
		},
	}
	host.AddLocalConfigFlag(cmd, &opts.Config)
	return cmd
}

// completeGrants offers the ids of grants, with what they allow.
func completeGrants(h *host.Host, config string) (ids []cobra.Completion) {
	s, err := load(h, config)
	if err != nil {
		return nil
	}
	for _, g := range s.grants.All {
		if terminal.CleanLine(g.ID) == g.ID { // a shell reads lines
			ids = append(ids, cobra.CompletionWithDesc(g.ID, granted(g)))
		}
	}
	return ids
}

func revoke(ctx context.Context, opts *RevokeOptions) error {
	s, err := load(opts.Host, opts.Config)
	if err != nil {
		return err
	}
	for _, id := range opts.IDs {
		found, err := s.grants.Revoke(ctx, id)
		switch {
		case err != nil:
			return err
		case !found:
			return host.Usagef("there is no grant %s; list them with: perstack rules", terminal.ShellJoin(id))
		}
		if _, err := fmt.Fprintf(opts.Host.Stdout, "Revoked %s\n", id); err != nil {
			return err
		}
	}
	return nil
}
