package run

import (
	"context"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/files"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/store"
)

// seeFiles notes that the run changed files.
func (o *output) seeFiles(e event.Event) {
	if b, ok := e.Body.(event.WorkspaceSnapshot); ok && !b.Outside {
		o.changed = true
	}
}

// tellChanged says how many files the run changed, and how to see and undo that. A program that reads
// events gets them from the journal. On a terminal it is part of the last line.
func (o *output) tellChanged(ctx context.Context, s store.Store, r engine.Result) {
	n := 0
	if o.changed && o.mode != outputJSON && ctx.Err() == nil {
		var err error
		if n, err = countChanged(ctx, s, o.plan.project.history.Files(), r.JobID); err != nil {
			o.opts.logger().Warn("which files the run changed is not known", "error", err)
		}
	}
	if o.live != nil {
		o.finish(ctx, s, r, n)
		return
	}
	if n == 0 {
		return
	}
	j := o.job(s, r.JobID)
	them := "them"
	if n == 1 {
		them = "it"
	}
	o.plan.say("%s changed; see %s with: %s, undo it with: %s", wording.Count(n, "file"), them, j.Again("diff"), j.Again("undo"))
}

// job returns a job for commands that users can type.
func (o *output) job(s store.Store, id string) *files.Job {
	return files.NewJob(o.opts.Host, files.Flags{Config: o.opts.Config, Storage: o.opts.Storage}, o.plan.project.history, s, id)
}

// countChanged counts the files that the last Run of a job changed.
func countChanged(ctx context.Context, s store.Store, dir, jobID string) (int, error) {
	h, err := engine.Load(ctx, s, jobID)
	if err != nil {
		return 0, err
	}
	start, ok := h.LastRun()
	states := h.Files()
	if !ok || len(states) == 0 {
		return 0, nil
	}
	from, err := restore.BeforeRun(h, start)
	if err != nil {
		return 0, err
	}
	changes, err := restore.Compare(ctx, dir, h, from, states[len(states)-1], nil)
	if err != nil {
		return 0, err
	}
	return len(files.Rows(changes.List)), changes.Close()
}
