package start

import (
	"context"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/tui"
)

// branchApart turns a branch of a job that another process runs into a job of its own.
func (p *project) branchApart(ctx context.Context, task tui.Task, ask tui.Asker) (tui.Task, error) {
	if task.Job == "" || task.Checkpoint == "" {
		return task, nil
	}
	info, err := p.journals.FindJob(ctx, task.Job)
	if err != nil || info.CurrentStatus() != event.JobRunning {
		return task, err
	}
	h, err := engine.Load(ctx, p.journals, task.Job)
	if err != nil {
		return task, engine.StoreError(err)
	}
	point, ok := h.At(task.Checkpoint)
	if !ok {
		return task, nil // what runs it says so
	}
	sealer, err := p.history.Sealer()
	if err != nil {
		return task, err
	}
	if p.settings.TrustHistory && sealer != nil {
		sealer = sealer.Trusting()
	}
	branch := p.host.Source.NewID()
	if err := history.Fork(ctx, p.journals, sealer, task.Job, branch, point.Seq); err != nil {
		return task, host.ExplainSeal(engine.StoreError(err))
	}
	ask.Tell("another process runs job " + task.Job + ", so this branch is a job of its own: " + branch)
	task.Job = branch
	return task, nil
}
