package log

import (
	"context"
	"errors"
	"slices"
	"strings"

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
	var begin []string // checkpoints that begin with the one that is looked for
	var in string      // the job of the last of them
	for info, err := range s.Jobs(ctx) {
		if err != nil && info.ID == "" {
			return "", err
		}
		empty = false
		if o.Latest {
			return info.ID, nil
		}
		found, more := o.search(ctx, s, info.ID)
		if found {
			return info.ID, nil
		}
		if len(more) > 0 {
			begin, in = append(begin, more...), info.ID
		}
	}
	switch {
	case empty:
		return "", nil
	case o.Run != "":
		return "", host.Usagef("no job has a run %s; %s log <job> shows the runs of a job", o.Run, o.command())
	case len(begin) == 1:
		return in, nil
	case len(begin) > 1:
		slices.Sort(begin)
		return "", host.Usagef("several checkpoints begin with %s: %s; write more of the id", o.Checkpoint, strings.Join(begin, " "))
	}
	return "", host.Usagef("no job has a checkpoint %s; %s log <job> shows the checkpoints of a job", o.Checkpoint, o.command())
}

// search reports whether a job has the run or the checkpoint that is looked for, and else returns the
// checkpoints that begin with it. A journal that is damaged is searched up to the damage.
func (o *Options) search(ctx context.Context, s store.Store, jobID string) (found bool, begin []string) {
	for r, err := range s.Read(ctx, jobID, 0) {
		if err != nil {
			if errors.Is(err, event.ErrUnknownType) {
				continue
			}
			break
		}
		var id string
		switch b := r.Event.Body.(type) {
		case event.StartRun:
			if o.Run != "" && r.Event.RunID == o.Run {
				return true, nil
			}
			id = b.CheckpointID
		case event.ContinueToNextStep:
			id = b.NextCheckpointID
		}
		switch {
		case id == "" || o.Checkpoint == "" || slices.Contains(begin, id):
		case id == o.Checkpoint:
			return true, nil
		case strings.HasPrefix(id, o.Checkpoint):
			begin = append(begin, id)
		}
	}
	return false, begin
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
