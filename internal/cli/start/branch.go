package start

import (
	"context"
	"fmt"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/tui"
)

// branchApart turns a branch of a job that another process runs into a job of its own. Other tasks stay
// as they are, and so do those that run.Run will refuse.
func (p *project) branchApart(ctx context.Context, task tui.Task, ask tui.Asker) (tui.Task, error) {
	if task.Job == "" || task.Checkpoint == "" {
		return task, nil
	}
	info, err := p.journals.FindJob(ctx, task.Job)
	if err != nil || info.CurrentStatus() != event.JobRunning {
		return task, engine.StoreError(err)
	}
	if task.RestoreFiles {
		return task, fmt.Errorf("the files cannot return to a checkpoint while another process works on job %s; wait for it, or branch without the files", task.Job)
	}
	h, err := engine.Load(ctx, p.journals, task.Job)
	if err != nil {
		return task, engine.StoreError(err)
	}
	point, ok := h.At(task.Checkpoint)
	if !ok {
		return task, nil
	}
	sealer, err := p.history.Sealer()
	if err != nil || sealer == nil && !p.settings.TrustHistory {
		return task, err
	}
	branch := p.host.Source.NewID()
	if err := history.Fork(ctx, p.journals, sealer, p.settings.TrustHistory, task.Job, branch, point.Seq); err != nil {
		return task, host.ExplainSeal(engine.StoreError(err))
	}
	ask.Tell("another process runs job " + task.Job + ", so this branch is a job of its own: " + branch)
	task.Job = branch
	return task, nil
}
