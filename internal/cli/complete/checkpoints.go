package complete

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/store"
)

// mostCheckpoints bounds what a shell is offered.
const mostCheckpoints = 50

// Checkpoints returns the newest checkpoints of a job, newest first, with the step and the
// Expert of each. Newest means the newest job, if none is named.
func Checkpoints(cmd *cobra.Command, s store.Store, jobID string, newest bool) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil { // cobra sets none when a test asks directly
		return nil, directive
	}
	if jobID == "" && newest {
		jobID = newestJob(ctx, s)
	}
	jobID, err := history.Job(ctx, s, jobID)
	if err != nil {
		return nil, directive
	}
	var offers []cobra.Completion
	for c, err := range history.Checkpoints(ctx, s, jobID) {
		if err != nil {
			break
		}
		// A shell reads this line by line: an id that is none must not reach it.
		if store.CheckID(c.ID) != nil {
			continue
		}
		description := fmt.Sprintf("step %d, %s", c.Event.StepNumber, c.Event.ExpertKey)
		offers = append(offers, cobra.CompletionWithDesc(c.ID, terminal.CleanLine(description)))
		if len(offers) > 2*mostCheckpoints { // a job may have had a million
			offers = slices.Delete(offers, 0, len(offers)-mostCheckpoints)
		}
	}
	slices.Reverse(offers)
	return offers[:min(len(offers), mostCheckpoints)], directive
}

// newestJob is the job in which something happened last, as perstack run --continue means
// it.
func newestJob(ctx context.Context, s store.Store) string {
	var newest store.JobInfo
	for job, err := range s.Jobs(ctx) {
		if err == nil && job.UpdatedAt > newest.UpdatedAt {
			newest = job
		}
	}
	return newest.ID
}
