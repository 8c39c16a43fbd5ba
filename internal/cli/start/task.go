package start

import (
	"context"
	"errors"
	"iter"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/run"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/tui"
)

// errBusy is the error of a second job at the same time.
var errBusy = errors.New("a job is running here already; wait for it, or stop it first")

// Run implements [tui.Project]: it does what perstack run does, and shows it elsewhere.
func (p *project) Run(ctx context.Context, task tui.Task, ask tui.Asker) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		if !p.running.TryLock() {
			yield(event.Event{}, errBusy)
			return
		}
		defer p.running.Unlock()
		p.host.Confirmer = ask.Confirm
		defer p.notices.to(ask.Tell)()
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		v := viewer{yield: yield, stop: stop, delegated: make(map[string]bool), began: p.tellJob}
		branch, err := p.branchApart(ctx, task, ask)
		if err != nil {
			p.outcome = err
			yield(event.Event{}, err)
			return
		}
		o := p.options(branch)
		o.View = &run.View{Show: v.show, Ask: ask}
		p.outcome = run.Run(ctx, o)
		if branch.Job != task.Job && v.jobID == "" { // it was refused, so the copy has nothing new
			p.outcome = errors.Join(p.outcome, p.journals.Delete(context.WithoutCancel(ctx), branch.Job, p.host.Source.Now()))
		}
		if p.outcome != nil && !v.ended && !v.left {
			yield(event.Event{}, p.outcome)
		}
	}
}

// lastOutcome is how the last job ended. One that still runs was left with a second Ctrl-C.
func (p *project) lastOutcome() error {
	if !p.running.TryLock() {
		return host.Exit(process.ExitInterrupt)
	}
	defer p.running.Unlock()
	return p.outcome
}

// tellJob says which job is open.
func (p *project) tellJob(jobID string) {
	if p.hint != nil {
		p.hint("return to the job with: " + p.Resume(jobID))
	}
}

// options are those of perstack run for a task.
func (p *project) options(task tui.Task) *run.Options {
	o := *p.settings
	o.Expert, o.Continue, o.ContinueJob = "", false, "" // where the session began
	o.Query, o.HasQuery, o.Attach = task.Query, task.Query != "", task.Attachments
	if task.Job == "" {
		o.Expert = task.Expert
		return &o
	}
	o.ContinueJob, o.ResumeFrom, o.RestoreFiles, o.IsAnswer = task.Job, task.Checkpoint, task.RestoreFiles, task.Answer
	return &o
}

// A viewer hands events on. When the caller wants no more, it stops the job.
type viewer struct {
	yield     func(event.Event, error) bool
	stop      context.CancelFunc
	began     func(jobID string)
	jobID     string
	delegated map[string]bool // Runs that another Run asked for
	left      bool            // the caller wants no more
	ended     bool            // an event has told how the job ended
}

func (v *viewer) show(e event.Event) {
	if e.JobID != v.jobID {
		v.jobID = e.JobID
		v.began(v.jobID)
	}
	if b, ok := e.Body.(event.StartRun); ok && b.DelegatedBy != nil {
		v.delegated[e.RunID] = true
	}
	if e.IsTerminal() && !v.delegated[e.RunID] {
		v.ended = true
	}
	if !v.left && !v.yield(e, nil) {
		v.left = true
		v.stop()
	}
}
