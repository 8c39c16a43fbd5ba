package log

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
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

// complete offers job ids to the shell.
func (o *Options) complete(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return complete.Jobs(cmd, o.Store(o.Host.StoragePath(o.Storage)))
}
