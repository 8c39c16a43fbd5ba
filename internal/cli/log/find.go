package log

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/store"
)

// find returns the id of the job that the options mean; "" if there is no job at all.
// Ids of runs and checkpoints are unique, so a user who has one need not know the job.
func (o *Options) find(ctx context.Context, s store.Store) (string, error) {
	if o.Job != "" {
		return o.Job, nil
	}
	empty := true
	for info, err := range s.Jobs(ctx) {
		if err != nil && info.ID == "" {
			return "", err
		}
		empty = false
		if o.Latest || holds(ctx, s, info.ID, o) {
			return info.ID, nil
		}
	}
	switch {
	case empty:
		return "", nil
	case o.Run != "":
		return "", host.Usagef("no job has a run %s; %s log <job> shows the runs of a job", o.Run, o.command())
	}
	return "", host.Usagef("no job has a checkpoint %s; %s log <job> shows the checkpoints of a job", o.Checkpoint, o.command())
}

// holds reports whether a job has the run or the checkpoint that is looked for. A
// journal that is damaged is searched up to the damage.
func holds(ctx context.Context, s store.Store, jobID string, o *Options) bool {
	for r, err := range s.Read(ctx, jobID, 0) {
		if err != nil {
			if errors.Is(err, event.ErrUnknownType) {
				continue
			}
			return false
		}
		switch b := r.Event.Body.(type) {
		case event.StartRun:
			if o.Run != "" && r.Event.RunID == o.Run || b.CheckpointID != "" && b.CheckpointID == o.Checkpoint {
				return true
			}
		case event.ContinueToNextStep:
			if b.NextCheckpointID != "" && b.NextCheckpointID == o.Checkpoint {
				return true
			}
		}
	}
	return false
}

// completeRun offers the Runs of the job that was named to the shell. What cannot be read
// offers nothing.
func (o *Options) completeRun(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	job := o.named(args)
	ctx := cmd.Context()
	history, err := o.open()
	if err != nil || ctx == nil || store.CheckID(job) != nil { // cobra sets no context when a test asks directly
		return nil, directive
	}
	var runs []cobra.Completion
	seen := make(map[string]bool)
	for r, err := range history.Read(ctx, job, 0) {
		if err != nil && !errors.Is(err, event.ErrUnknownType) {
			break
		}
		// A shell reads this line by line: an id that is none must not reach it.
		if _, ok := r.Event.Body.(event.StartRun); ok && !seen[r.Event.RunID] && store.CheckID(r.Event.RunID) == nil {
			seen[r.Event.RunID] = true
			runs = append(runs, cobra.CompletionWithDesc(r.Event.RunID, terminal.CleanLine(r.Event.ExpertKey)))
		}
	}
	return runs, directive
}

// completeCheckpoint offers the checkpoints of the job that was named.
func (o *Options) completeCheckpoint(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	history, err := o.open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return complete.Checkpoints(cmd, history, o.named(args), o.Latest)
}

// named is the job that the command line names so far.
func (o *Options) named(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return o.Job
}

// complete offers job ids to the shell.
func (o *Options) complete(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	history, err := o.open()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return complete.Jobs(cmd, history)
}
