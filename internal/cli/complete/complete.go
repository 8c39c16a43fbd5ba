// Package complete offers the shell what a command can be given: Experts, models, jobs and checkpoints.
//
// What cannot be read offers nothing. A completion is no place for an error; the
// command itself will tell.
package complete

import (
	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/store"
)

// directive keeps our order, and offers no files.
const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder

// Expert offers the Experts of the configuration for the first argument.
func Expert(h *host.Host, config *string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return experts(h, *config)
	}
}

// experts returns the Experts of the configuration, in file order.
func experts(h *host.Host, config string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var keys []cobra.Completion
	for _, e := range load(h, config).Experts {
		if _, err := expert.ParseKey(e.Key); err != nil {
			continue // a shell reads this line by line; a key that is none must not reach it
		}
		keys = append(keys, cobra.CompletionWithDesc(e.Key, terminal.CleanLine(e.Description)))
	}
	return keys, directive
}

// load reads the configuration; an empty one if that is not possible.
func load(h *host.Host, config string) *manifest.Config {
	if path, err := manifest.Locate(h.Dir, config); err == nil {
		if c, _, err := manifest.Load(path); err == nil && c != nil {
			return c
		}
	}
	return &manifest.Config{}
}

// Jobs returns the recorded jobs, newest first.
func Jobs(cmd *cobra.Command, s store.Store) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil { // cobra sets none when a test asks directly
		return nil, directive
	}
	var ids []cobra.Completion
	for job, err := range s.Jobs(ctx) {
		if err == nil && store.CheckID(job.ID) == nil {
			description := string(job.CurrentStatus()) + ", " + job.CoordinatorExpertKey
			ids = append(ids, cobra.CompletionWithDesc(job.ID, terminal.CleanLine(description)))
		}
	}
	return ids, directive
}
