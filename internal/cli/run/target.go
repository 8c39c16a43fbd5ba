package run

import (
	"cmp"
	"context"
	"fmt"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/store"
)

// A target is the job that a run starts or goes on with.
type target struct {
	jobID        string
	expertKey    string
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
	if t.expertKey != "" {
		return t, nil
	}
	job, err := store.FindJob(ctx, s, t.jobID)
	t.expertKey = job.CoordinatorExpertKey
	return t, err
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
			key := o.Expert
			if key == "" {
				key = point.State.Expert.Key
			}
			return target{job.ID, key, o.ResumeFrom}, nil
		}
	}
	if unread != nil {
		return target{}, fmt.Errorf("checkpoint %s not found, and not every job can be read: %w", o.ResumeFrom, unread)
	}
	return target{}, host.Usagef("checkpoint %s not found in any job; perstack log <job> lists the checkpoints", o.ResumeFrom)
}
