package run

import (
	"cmp"
	"context"
	"fmt"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/store"
)

// A target is the job that a run starts or goes on with.
type target struct {
	jobID        string
	expertKey    string // of the coordinator, also when a delegate's checkpoint is meant
	checkpointID string // empty: the newest
}

// findTarget works out which job is meant. The Expert may be left out for a job that
// is continued: its journal knows.
func findTarget(ctx context.Context, o *Options, s store.Store) (target, error) {
	t := target{jobID: o.ContinueJob, expertKey: o.Expert, checkpointID: o.ResumeFrom}
	switch {
	case !o.continues():
		t.jobID = o.JobID
		if t.jobID == "" {
			t.jobID = o.Host.Source.NewID()
		}
		return t, nil
	case t.jobID == "" && o.Continue:
		newest, err := newestJob(ctx, s)
		if err != nil {
			return target{}, err
		}
		t.jobID = newest.ID
	case t.jobID == "":
		return jobWithCheckpoint(ctx, o, s)
	}
	if t.checkpointID != "" {
		// What cannot be read, or is not there, is for the engine to tell.
		if history, err := engine.Load(ctx, s, t.jobID); err == nil {
			if point, ok := history.At(t.checkpointID); ok {
				return o.at(t.jobID, history, point)
			}
		}
	}
	if t.expertKey != "" {
		return t, nil
	}
	job, err := store.FindJob(ctx, s, t.jobID)
	t.expertKey = job.CoordinatorExpertKey
	return t, err
}

// recordedJob returns what is recorded of a job that is continued.
func recordedJob(ctx context.Context, o *Options, s store.Store, t target) (event.Job, error) {
	if !o.continues() {
		return event.Job{}, nil
	}
	info, err := store.FindJob(ctx, s, t.jobID)
	return info.Job, err
}

// newestJob returns the job in which something happened last.
func newestJob(ctx context.Context, s store.Store) (store.JobInfo, error) {
	var newest store.JobInfo
	for job, err := range s.Jobs(ctx) {
		if err != nil {
			// It may be the one that is meant, so going on with another is no guess
			// for a program to make.
			return newest, fmt.Errorf("which job is the newest cannot be told: %w; name one with --continue-job", err)
		}
		if job.UpdatedAt > newest.UpdatedAt {
			newest = job
		}
	}
	if newest.ID == "" {
		return newest, host.Usagef("no job to continue; start one with: perstack run <expert> <query>")
	}
	return newest, nil
}

// jobWithCheckpoint finds the job that a checkpoint belongs to.
func jobWithCheckpoint(ctx context.Context, o *Options, s store.Store) (target, error) {
	var unread error
	for job, err := range s.Jobs(ctx) {
		var history *engine.History
		if err == nil {
			history, err = engine.Load(ctx, s, job.ID)
		}
		if err != nil {
			unread = cmp.Or(unread, err)
			continue
		}
		if point, ok := history.At(o.ResumeFrom); ok {
			return o.at(job.ID, history, point)
		}
	}
	if unread != nil {
		return target{}, fmt.Errorf("checkpoint %s not found, and not every job can be read: %w", o.ResumeFrom, unread)
	}
	return target{}, host.Usagef("checkpoint %s not found in any job; perstack log <job> lists the checkpoints", o.ResumeFrom)
}

// at is the target for a checkpoint. An Expert that the user names is the one whose
// conversation goes on; the job is the coordinator's all the same, since a delegate
// returns to whoever asked it.
func (o *Options) at(jobID string, history *engine.History, point engine.Point) (target, error) {
	if _, err := expert.ParseKey(o.Expert); o.Expert != "" && err != nil {
		return target{}, host.Usagef("%w; a query stands behind the expert: perstack run %s <query>", err, point.State.Expert.Key)
	}
	if of := point.State.Expert; o.Expert != "" && !means(o.Expert, of) {
		return target{}, host.Usagef("checkpoint %s is of expert %s, not of %s; name that one, or leave it out", o.ResumeFrom, of.Key, o.Expert)
	}
	return target{jobID, history.Root(point).State.Expert.Key, o.ResumeFrom}, nil
}

// means reports whether what the user typed names that Expert. The version may be left out.
func means(typed string, e event.ExpertRef) bool {
	key, err := expert.ParseKey(typed)
	return typed == e.Key || err == nil && key.Name == e.Name && (key.Version == "" || key.Version == e.Version)
}
