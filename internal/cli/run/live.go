package run

import (
	"context"
	"io"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
)

// startLive shows the run on a terminal on which lines can be drawn again. It reports whether it is one.
// What others write to standard error appears above the lines that are drawn again.
func (o *output) startLive(ctx context.Context, terminal io.Writer) bool {
	h := o.opts.Host
	if !h.StdoutIsTerminal || h.Size == nil || h.Getenv("TERM") == "dumb" {
		return false
	}
	if columns, rows := h.Size(); columns <= 0 || rows <= 0 {
		return false
	}
	o.to = &patientWriter{ctx: ctx, w: terminal}
	o.live = lines.NewLive(h.Plain(o.to), lines.LiveOptions{
		Color:   h.Colors(),
		Verbose: o.opts.Verbose,
		ASCII:   !h.UTF8(),
		Redact:  h.Secrets.Redact,
		Size:    h.Size,
		Now:     h.Source.Now,
		Done:    ctx.Done(),
		Sandbox: sandboxWords(&o.plan.spec),
	})
	back := func() {}
	if h.StderrIsTerminal {
		back = h.WrapStderr(o.live.Writer)
	}
	undo := process.AroundStop(o.live.Pause, o.live.Resume)
	o.closeLive = func() {
		undo()
		o.live.Close()
		back()
	}
	return true
}

// close erases what is drawn again. It can be called more than once.
func (o *output) close() {
	if o.closeLive != nil {
		o.closeLive()
		o.closeLive = nil
	}
}

// finish prints the last line. It names the job as briefly as possible.
func (o *output) finish(ctx context.Context, s store.Store, r engine.Result, changed int) {
	id, err := history.Prefix(context.WithoutCancel(ctx), s, r.JobID)
	if err != nil {
		id = r.JobID // the history cannot be listed, but the whole id names the job all the same
	}
	_ = o.live.Finish(lines.Summary{Status: r.Status, Files: changed, Again: o.job(s, id).Again("log")}) // its error is the writer's
	o.close()
}

// sandboxWords says where the programs of a job run.
func sandboxWords(spec *job.Spec) string {
	if spec.Runtime != job.Local {
		return spec.Runtime
	}
	if level := spec.Isolation.Sandbox; level.Restricts() {
		return "sandbox " + string(level)
	}
	return "sandbox off"
}

// asking returns an Approver that has the terminal for itself while it asks.
func (o *output) asking(a engine.Approver) engine.Approver {
	if o.live == nil || a == nil {
		return a
	}
	o.live.OmitQuestions()
	return &pausing{o.live, a}
}

type pausing struct {
	live  *lines.Live
	asker engine.Approver
}

func (p *pausing) Ask(ctx context.Context, request event.Request) (event.Answer, error) {
	p.live.Pause()
	defer p.live.Resume()
	return p.asker.Ask(ctx, request)
}
