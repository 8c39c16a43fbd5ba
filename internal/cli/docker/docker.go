// Package docker is the command perstack docker: what perstack keeps on the container
// daemon, seen by the user.
//
// Its only command so far is prune, which removes images that no run would use again and
// what killed runs left. Runs themselves are perstack run --runtime docker. Start reading
// at [New], then [Options].
package docker

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// New returns the command with those below it. pruneF, if set, is called instead of
// pruning.
func New(h *host.Host, pruneF func(context.Context, *Options) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "docker",
		Short: "Remove images and containers that perstack no longer uses",
		Long: `Remove what perstack has left in Docker. To run an Expert in a container, use
perstack run --runtime docker.`,
		Example: `  perstack docker prune`,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return host.Usagef("unknown command %q; perstack docker --help lists what there is", "docker "+args[0])
			}
			cmd.SetOut(h.Stderr)
			if err := cmd.Help(); err != nil {
				return err
			}
			return host.Exit(host.ExitUsage)
		},
	}
	cmd.AddCommand(newPrune(h, pruneF))
	return cmd
}
