package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/tui/edit"
)

// Work is a job that runs, or that is read.
type work struct {
	feed    *feed
	cancel  func()
	begun   chan struct{} // closed when the command for it runs
	since   time.Time
	runs    bool // this program runs the job; else it reads what is recorded
	follows bool // another process runs the job
	stopped bool // the user stopped it
	// draft is the input that started it, until something came of it.
	draft *edit.Draft
}

// openExpert shows a new conversation.
func (p *program) openExpert(key string) tea.Cmd {
	cmd, _ := p.open(newChat(p, key))
	return cmd
}

// openJob shows the conversation of a job. One that another process runs is followed.
func (p *program) openJob(j Job) tea.Cmd {
	if c := p.chat; c != nil && c.isRunning() && c.jobID == j.ID {
		return p.replace(c)
	}
	c := newChat(p, j.Expert)
	cmd, ok := p.open(c)
	if !ok {
		return cmd
	}
	return tea.Batch(cmd, c.read(j))
}

// branchJob shows the conversation of a job. What the user sends next continues from a checkpoint.
func (p *program) branchJob(j Job, at Checkpoint, restoreFiles bool) tea.Cmd {
	c := newChat(p, j.Expert)
	c.branch = &branch{at, restoreFiles}
	cmd, ok := p.open(c)
	if !ok {
		return cmd
	}
	j.Running = false // the branch starts from what is recorded now
	return tea.Batch(cmd, c.read(j))
}

// open shows a conversation instead of all screens, unless the job of another one runs.
func (p *program) open(c *chat) (tea.Cmd, bool) {
	if old := p.chat; old != nil {
		if old.isRunning() {
			p.fail(fmt.Errorf("job %s is running; stop it with Ctrl-C first", shortID(old.jobID)))
			return nil, false
		}
		old.leave()
	}
	p.chat = c
	return p.replace(c), true
}

// leave ends the reading of a job.
func (c *chat) leave() {
	if c.work != nil {
		c.work.cancel()
		c.work = nil
	}
}

// isRunning reports whether this program runs the job.
func (c *chat) isRunning() bool { return c.work != nil && c.work.runs }

// isFollowing reports whether another process runs the job.
func (c *chat) isFollowing() bool { return c.work != nil && c.work.follows }

// run runs or continues the job.
func (c *chat) run(t Task) tea.Cmd {
	c.branch = nil
	ctx := c.begin(&work{runs: true})
	f := c.work.feed
	return c.feed(func() { f.pump(c.p.opts.Project.Run(ctx, t, asker{f})) })
}

// read reads what is recorded of a job.
func (c *chat) read(j Job) tea.Cmd {
	c.jobID, c.prefix = j.ID, j.Prefix
	ctx := c.begin(&work{follows: j.Running})
	f := c.work.feed
	doubt := c.p.work(func(ctx context.Context) func() tea.Cmd {
		text := c.p.opts.Project.Doubt(ctx, j.ID)
		return func() tea.Cmd { c.doubt = text; return nil }
	})
	return tea.Batch(doubt, c.feed(func() { f.pump(c.p.opts.Project.Events(ctx, j.ID, j.Running)) }))
}

func (c *chat) begin(w *work) context.Context {
	ctx, cancel := context.WithCancelCause(c.p.ctx)
	w.cancel = func() { cancel(ErrStopped) }
	w.feed, w.begun, w.since = newFeed(ctx), make(chan struct{}), c.p.opts.Clock()
	c.work = w
	return ctx
}

// feed starts what fills the feed, and takes in what comes.
func (c *chat) feed(pump func()) tea.Cmd {
	begun := c.work.begun
	return tea.Batch(caught(func() tea.Msg { close(begun); pump(); return nil }), c.work.feed.next(c.p.ctx))
}

// take takes in what came of the job.
func (c *chat) take(b batch) tea.Cmd {
	if c == nil || c.work == nil || c.work.feed != b.from {
		return nil // of a conversation that was left
	}
	for _, i := range b.items {
		switch {
		case i.event.Body != nil:
			c.takeEvent(i.event)
		case i.ask != nil:
			c.asks = append(c.asks, newAskBox(c, i.ask))
			c.nextAsk()
		case i.settled != nil:
			c.asks = slices.DeleteFunc(c.asks, func(a *askBox) bool { return a.ask == i.settled })
			c.nextAsk()
		case i.notice != "":
			c.transcript.tell(i.notice)
		}
	}
	if !b.ended {
		return c.work.feed.next(c.p.ctx)
	}
	return c.ended(b.err)
}

func (c *chat) takeEvent(e event.Event) {
	if e.JobID != "" && e.JobID != c.jobID && (c.jobID == "" || c.work.runs) { // a branch can be a job of its own
		c.jobID, c.prefix = e.JobID, ""
	}
	c.work.draft = nil
	c.transcript.apply(e)
}

// ended continues after a job has stopped, or was read.
func (c *chat) ended(err error) tea.Cmd {
	w := c.work
	w.cancel()
	c.work, c.asks = nil, nil
	c.paths = pathsUnknown // the job can have changed files
	c.answering = c.isAsked() && c.input.IsEmpty()
	for id := range c.transcript.streams { // of a job that was cut off
		c.transcript.pager.Remove("stream-" + id)
		delete(c.transcript.streams, id)
	}
	if w.stopped {
		c.p.notice = notice{} // it said that the job is being stopped
	}
	if err != nil {
		c.transcript.fail(err)
		if w.draft != nil && c.input.IsEmpty() { // it was not sent
			c.input.Restore(*w.draft)
		}
	}
	if len(c.queue) == 0 {
		return c.watch()
	}
	if err != nil || w.stopped || c.isAsked() {
		c.unqueue() // they were written for another state of the job
		return c.watch()
	}
	next := c.queue[0]
	c.queue = c.queue[1:]
	return c.send(next.message)
}

// stop stops the job, and reports whether there was one to stop.
func (c *chat) stop() bool {
	if !c.isRunning() || c.work.stopped {
		return false
	}
	c.work.stopped = true
	c.work.cancel()
	return true
}

// await waits for the job to be saved.
func (c *chat) await(most time.Duration) {
	if c.work == nil {
		return
	}
	c.work.cancel()
	select {
	case <-c.work.begun:
		c.jobID = cmp.Or(c.work.feed.await(most), c.jobID)
	default: // it was never started
	}
}

// A branch is where the next message continues.
type branch struct {
	at           Checkpoint
	restoreFiles bool
}

// branchOff leaves a job that another process runs: the next message continues from its newest
// checkpoint.
func (c *chat) branchOff() tea.Cmd {
	id := c.jobID
	return c.p.work(func(ctx context.Context) func() tea.Cmd {
		all, err := c.p.opts.Project.Checkpoints(ctx, id)
		return func() tea.Cmd {
			switch {
			case err != nil:
				c.p.fail(err)
			case len(all) == 0:
				c.p.say("the job has no checkpoint yet")
			default:
				c.leave()
				c.branch = &branch{at: all[0]}
			}
			return nil
		}
	})
}

// shortID is how a job is named where there is little space.
func shortID(id string) string { return id[:min(len(id), 4)] }
