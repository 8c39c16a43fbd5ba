package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
)

// A target is the job that a run starts or continues.
type target struct {
	jobID     string
	expertKey string          // of the coordinator, even when a delegate's checkpoint is meant
	from      string          // checkpoint; empty for the newest
	history   *engine.History // nil for a new job
	recorded  job.Spec        // zero for a new job
}

// findTarget works out which job is meant, and folds its journal. The Expert can be left
// out for a job that is continued: its journal knows.
func findTarget(ctx context.Context, o *Options, s store.Store) (*target, error) {
	switch {
	case !o.continues():
		return &target{jobID: cmp.Or(o.JobID, o.Host.Source.NewID()), expertKey: o.Expert}, nil
	case o.ContinueJob == "" && !o.Continue:
		return jobWithCheckpoint(ctx, o, s)
	}
	jobID := o.ContinueJob
	if jobID == "" {
		newest, err := newestJob(ctx, s)
		if err != nil {
			return nil, err
		}
		jobID = newest.ID
	}
	history, err := engine.Load(ctx, s, jobID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, o.hint(&engine.JobError{Problem: engine.JobNotFound, JobID: jobID})
	}
	if err != nil {
		return nil, engine.StoreError(err)
	}
	return o.target(jobID, history)
}

// target is the job to continue, once its journal is folded.
func (o *Options) target(jobID string, history *engine.History) (*target, error) {
	if history.Job.Imported != nil {
		return nil, o.hint(&engine.JobError{Problem: engine.JobImported, JobID: jobID})
	}
	if err := o.completeCheckpoint(history); err != nil {
		return nil, err
	}
	t := &target{jobID: jobID, from: o.ResumeFrom, history: history, expertKey: cmp.Or(o.Expert, history.Job.CoordinatorExpertKey)}
	if point, ok := history.Origin(o.ResumeFrom); ok && o.ResumeFrom != "" {
		if err := o.checkExpert(point.State.Expert); err != nil {
			return nil, err
		}
		// The job is the coordinator's, whose delegate returns to it.
		t.expertKey = history.Root(point).State.Expert.Key
	}
	var err error
	t.recorded, err = history.Recorded(o.ResumeFrom) // if there is none, the engine says what is missing
	return t, err
}

// checkExpert refuses an Expert that is not the one whose conversation continues.
func (o *Options) checkExpert(of event.ExpertRef) error {
	if o.Expert == "" {
		return nil
	}
	key, err := expert.ParseKey(o.Expert)
	switch {
	case err != nil:
		return host.Usagef("%w; the query comes after the expert: perstack run %s <query>", err, terminal.ShellJoin(of.Key))
	case o.Expert == of.Key, key.Name == of.Name && (key.Version == "" || key.Version == of.Version):
		return nil
	}
	return host.Usagef("checkpoint %s is of expert %s, not of %s; name that Expert, or none", o.ResumeFrom, of.Key, o.Expert)
}

// newestJob returns the job in which something happened last.
func newestJob(ctx context.Context, s store.Store) (store.JobInfo, error) {
	newest, err := host.NewestJob(ctx, s, "to continue another job, name it with --continue-job <job>")
	if err == nil && newest.ID == "" {
		err = host.Usagef("no job to continue; start one with: perstack run <expert> <query>")
	}
	return newest, err
}

// completeCheckpoint replaces the beginning of a checkpoint's id by the id. If there is no such
// checkpoint, the engine says so.
func (o *Options) completeCheckpoint(history *engine.History) error {
	id, err := restore.FindCheckpoint(history, o.ResumeFrom)
	if err == nil {
		o.ResumeFrom = id
	}
	if several, ok := errors.AsType[*restore.TargetError](err); ok && len(several.Matches) > 0 {
		return host.Usagef("%w; write more of the id", err)
	}
	return nil
}

// jobWithCheckpoint finds the job that a checkpoint belongs to.
func jobWithCheckpoint(ctx context.Context, o *Options, s store.Store) (*target, error) {
	var unread error
	var matches []string
	var in *engine.History
	for job, err := range s.Jobs(ctx) {
		var history *engine.History
		if err == nil {
			history, err = engine.Load(ctx, s, job.ID)
		}
		if err != nil {
			unread = cmp.Or(unread, err)
			continue
		}
		id, err := restore.FindCheckpoint(history, o.ResumeFrom)
		if id == o.ResumeFrom {
			return o.target(job.ID, history)
		}
		if several, ok := errors.AsType[*restore.TargetError](err); ok {
			matches = append(matches, several.Matches...)
			continue
		}
		matches, in = append(matches, id), history
	}
	switch {
	case len(matches) == 1:
		return o.target(in.Job.ID, in)
	case len(matches) > 1:
		slices.Sort(matches)
		return nil, host.Usagef("several checkpoints begin with %s: %s; write more of the id", o.ResumeFrom, strings.Join(matches, " "))
	case unread != nil:
		return nil, fmt.Errorf("checkpoint %s not found, and not every job can be read: %w", o.ResumeFrom, unread)
	}
	return nil, host.Usagef("checkpoint %s not found in any job; perstack log <job> lists the checkpoints", o.ResumeFrom)
}
