// Package complete offers the shell what a command can be given: Experts, models, jobs and checkpoints.
//
// What cannot be read offers nothing. A completion is no place for an error; the
// command itself will tell.
package complete

import (
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/history"
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

// mostJobs bounds what a shell is offered.
const mostJobs = 50

// Jobs returns the newest jobs; or, after the user has typed the start of an id, jobs whose ids begin
// so. It reads no others: there can be thousands.
func Jobs(cmd *cobra.Command, s store.Store, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil { // cobra sets none when a test asks directly
		return nil, directive
	}
	if start == "" {
		return describe(s.Jobs(ctx)), directive
	}
	ids, err := history.JobIDs(ctx, s)
	if err != nil {
		return nil, directive
	}
	slices.Sort(ids)
	return describe(func(yield func(store.JobInfo, error) bool) {
		for _, id := range ids {
			if strings.HasPrefix(id, start) && !yield(store.FindJob(ctx, s, id)) {
				return
			}
		}
	}), directive
}

// describe returns the first jobs that can be read.
func describe(jobs iter.Seq2[store.JobInfo, error]) (offers []cobra.Completion) {
	for job, err := range jobs {
		if err != nil || store.CheckID(job.ID) != nil {
			continue
		}
		description := string(job.CurrentStatus()) + ", " + job.CoordinatorExpertKey
		if offers = append(offers, cobra.CompletionWithDesc(job.ID, terminal.CleanLine(description))); len(offers) == mostJobs {
			break
		}
	}
	return offers
}
