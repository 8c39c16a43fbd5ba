package log

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/store"
)

// find returns the id of the job that the options mean; "" if there is no job at all. The beginning
// of an id becomes the whole id. Ids of runs and checkpoints are unique, so a user who has one need
// not know the job.
func (o *Options) find(ctx context.Context, s store.Store) (jobID string, err error) {
	switch {
	case o.Job != "":
		jobID, err = host.FindJob(ctx, s, o.Job, o.command()+" log lists the jobs")
	case o.Latest || o.Run == "" && o.Checkpoint == "":
		return o.first(ctx, s)
	}
	if err != nil {
		return "", err
	}
	if o.Checkpoint != "" && jobID == "" {
		if jobID, o.Checkpoint, err = history.Find(ctx, s, history.CheckpointID, "", o.Checkpoint); err != nil {
			return o.notFound(ctx, s, err)
		}
	}
	if o.Run != "" {
		in, run, err := history.Find(ctx, s, history.RunID, jobID, o.Run)
		wrong, ok := errors.AsType[*history.IDError](err)
		switch {
		case ok && wrong.None() && jobID != "": // a run that was called and never started has no record of its own
		case err != nil:
			return o.notFound(ctx, s, err)
		default:
			jobID, o.Run = in, run
		}
	}
	return jobID, nil
}

// first returns the id of the newest job; "" if there is none.
func (o *Options) first(ctx context.Context, s store.Store) (string, error) {
	for info, err := range s.Jobs(ctx) {
		if info.ID == "" {
			return "", err
		}
		return info.ID, nil
	}
	return "", nil
}

// notFound explains an error about an id that no job has. Without any job, there is nothing to find.
func (o *Options) notFound(ctx context.Context, s store.Store, err error) (string, error) {
	wrong, ok := errors.AsType[*history.IDError](err)
	if !ok || !wrong.None() {
		return "", err
	}
	if jobID, err := o.first(ctx, s); jobID == "" {
		return "", err
	}
	return "", host.Usagef("no job has a %s %s; %s log <job> shows the %ss of a job", wrong.Kind, wrong.Text, o.command(), wrong.Kind)
}

// completeRun offers the Runs of the job that was named to the shell. What cannot be read
// offers nothing.
func (o *Options) completeRun(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	job := o.named(args)
	ctx := cmd.Context()
	jobs, err := o.open()
	if err != nil || ctx == nil { // cobra sets no context when a test asks directly
		return nil, directive
	}
	if job, err = history.Job(ctx, jobs, job); err != nil {
		return nil, directive
	}
	var runs []cobra.Completion
	seen := make(map[string]bool)
	for r, err := range jobs.Read(ctx, job, 0) {
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
	jobs, err := o.open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return complete.Checkpoints(cmd, jobs, o.named(args), o.Latest)
}

// named is the job that the command line names so far.
func (o *Options) named(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return o.Job
}

// complete offers job ids to the shell.
func (o *Options) complete(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	jobs, err := o.open()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return complete.Jobs(cmd, jobs, start)
}
