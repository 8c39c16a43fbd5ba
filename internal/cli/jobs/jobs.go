// Package jobs is the commands that manage the history of a project as a whole: they list, delete,
// export, import and take over jobs. What happened in a job is shown by perstack log.
//
// Start reading at [New].
package jobs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// New returns the command. Tests hand in functions to see the options.
func New(h *host.Host, adoptF func(context.Context, *AdoptOptions) error, keyF func(context.Context, *KeyOptions) error) *cobra.Command {
	cmd := h.AddBelow(&cobra.Command{
		Use:   "jobs",
		Short: "List, delete and move the jobs of a project",
		Long: `List the jobs of the project, newest first, or manage them with one of the commands below.
perstack log explains what happened in a job. A job is named by its id, or by the beginning
of its id: 4 characters or more that begin no other.

The history lies outside of the project, in a directory that is named after the path of
the project. docs/journal.md says where.`,
		Example: `  perstack jobs
  perstack jobs rm <job>
  perstack jobs prune --older 30d --keep 20
  perstack jobs export <job> -o job.tar.gz
  perstack jobs import job.tar.gz
  perstack jobs adopt ~/old/path
  perstack jobs key`,
	}, newAdopt(h, adoptF), newExport(h, nil), newImport(h, nil), newKey(h, keyF), newList(h, nil), newPrune(h, nil), newRemove(h, nil))
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return host.Usagef("unknown command %q; perstack jobs --help lists what there is", "jobs "+args[0])
		}
		return nil
	}
	(&ListOptions{Host: h}).add(cmd, nil)
	return cmd
}
