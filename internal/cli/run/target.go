package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/history"
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
	if !o.continues() {
		return &target{jobID: cmp.Or(o.JobID, o.Host.Source.NewID()), expertKey: o.Expert}, nil
	}
	jobID, err := o.FindJob(ctx, s)
	if err != nil {
		return nil, err
	}
	h, err := engine.Load(ctx, s, jobID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, o.notFound(jobID)
	}
	if err != nil {
		return nil, engine.StoreError(err)
	}
	return o.target(jobID, h)
}

// FindJob returns the id of the job to continue.
func (o *Options) FindJob(ctx context.Context, s store.Store) (string, error) {
	switch {
	case o.ContinueJob != "":
		id, err := history.Job(ctx, s, o.ContinueJob)
		if errors.Is(err, store.ErrNotFound) {
			err = o.notFound(o.ContinueJob)
		}
		return id, err
	case o.Continue:
		newest, err := newestJob(ctx, s)
		return newest.ID, err
	}
	return o.jobWithCheckpoint(ctx, s)
}

func (o *Options) notFound(jobID string) error {
	return o.hint(&engine.JobError{Problem: engine.JobNotFound, JobID: jobID})
}

// target is the job to continue, once its journal is folded.
func (o *Options) target(jobID string, h *engine.History) (*target, error) {
	if h.Job.Imported != nil {
		return nil, o.hint(&engine.JobError{Problem: engine.JobImported, JobID: jobID})
	}
	if err := o.completeCheckpoint(h); err != nil {
		return nil, err
	}
	t := &target{jobID: jobID, from: o.ResumeFrom, history: h, expertKey: cmp.Or(o.Expert, h.Job.CoordinatorExpertKey)}
	if point, ok := h.Origin(o.ResumeFrom); ok && o.ResumeFrom != "" {
		if err := o.checkExpert(point.State.Expert); err != nil {
			return nil, err
		}
		// The job is the coordinator's, whose delegate returns to it.
		t.expertKey = h.Root(point).State.Expert.Key
	}
	var err error
	t.recorded, err = h.Recorded(o.ResumeFrom) // if there is none, the engine says what is missing
	return t, err
}

// checkExpert refuses an Expert that is not the one whose conversation continues.
func (o *Options) checkExpert(of event.ExpertRef) error {
	if o.Expert == "" {
		return nil
	}
	key, err := expert.ParseReference(o.Expert)
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
func (o *Options) completeCheckpoint(h *engine.History) error {
	if o.ResumeFrom == "" {
		return nil
	}
	id, err := history.CheckpointIn(h, o.ResumeFrom)
	if wrong, ok := errors.AsType[*history.IDError](err); ok && wrong.None() {
		return nil
	}
	if err == nil {
		o.ResumeFrom = id
	}
	return err
}

// jobWithCheckpoint finds the job that a checkpoint belongs to.
func (o *Options) jobWithCheckpoint(ctx context.Context, s store.Store) (string, error) {
	jobID, id, err := history.Find(ctx, s, history.CheckpointID, "", o.ResumeFrom)
	if wrong, ok := errors.AsType[*history.IDError](err); ok && wrong.None() {
		if wrong.Unread != nil {
			return "", fmt.Errorf("checkpoint %s not found, and not every job can be read: %w", o.ResumeFrom, wrong.Unread)
		}
		return "", host.Usagef("checkpoint %s not found in any job; perstack log <job> lists the checkpoints", o.ResumeFrom)
	}
	if err == nil {
		o.ResumeFrom = id
	}
	return jobID, err
}
