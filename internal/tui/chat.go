package tui

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/tui/edit"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A chat is the screen of a conversation: the transcript of a job, what it asks, and the input.
type chat struct {
	p          *program
	expert     string
	jobID      string // empty until the job has begun
	transcript *transcript
	input      edit.Editor
	work       *work // what is under way; nil if nothing is
}

// Work is a job that runs or is read.
type work struct {
	feed    *feed
	cancel  context.CancelFunc
	runs    bool // this program runs the job; else it reads what is recorded
	follows bool // another process runs the job
	stopped bool // the user stopped it
	begun   chan struct{}
}

func newChat(p *program, expert string) *chat {
	return &chat{p: p, expert: expert, transcript: newTranscript(p)}
}

// openExpert shows a new conversation.
func (p *program) openExpert(key string) tea.Cmd {
	return p.open(newChat(p, key))
}

// openJob shows the conversation of a job. One that another process runs is followed.
func (p *program) openJob(j Job) tea.Cmd {
	c := newChat(p, j.Expert)
	return tea.Batch(p.open(c), c.read(j))
}

// branchJob shows the conversation of a job. What the user sends next continues from a checkpoint.
func (p *program) branchJob(j Job, at Checkpoint, restoreFiles bool) tea.Cmd {
	c := newChat(p, j.Expert)
	return tea.Batch(p.open(c), c.read(j))
}

// open shows a conversation instead of all screens, unless the job of another one runs.
func (p *program) open(c *chat) tea.Cmd {
	if p.chat != nil && p.chat.isRunning() {
		p.fail(fmt.Errorf("job %s runs; stop it with Ctrl-C first", p.chat.jobID))
		return nil
	}
	p.chat = c
	return p.replace(c)
}

// begin continues a job or sends the first message, as the command line says.
func (c *chat) begin(jobID, query string) tea.Cmd {
	if query == "" && jobID == "" {
		return nil
	}
	return c.run(Task{Expert: c.expert, Query: query, Job: jobID})
}

func (c *chat) title() string { return c.expert }

func (c *chat) isRunning() bool { return c.work != nil }

// run runs or continues the job.
func (c *chat) run(t Task) tea.Cmd {
	ctx, cancel := context.WithCancel(c.p.ctx)
	f := newFeed()
	c.work = &work{feed: f, cancel: cancel, runs: true, begun: make(chan struct{})}
	return c.follow(func() { f.pump(c.p.opts.Project.Run(ctx, t, asker{f})) })
}

// read reads what is recorded of a job.
func (c *chat) read(j Job) tea.Cmd {
	ctx, cancel := context.WithCancel(c.p.ctx)
	f := newFeed()
	c.jobID = j.ID
	c.work = &work{feed: f, cancel: cancel, follows: j.Running, begun: make(chan struct{})}
	return c.follow(func() { f.pump(c.p.opts.Project.Events(ctx, j.ID, j.Running)) })
}

func (c *chat) follow(pump func()) tea.Cmd {
	begun := c.work.begun
	return tea.Batch(func() tea.Msg { close(begun); pump(); return nil }, c.work.feed.next(c.p.ctx))
}

// take takes in what came of the job.
func (c *chat) take(b batch) tea.Cmd {
	if c == nil || c.work == nil || c.work.feed != b.from {
		return nil // of a conversation that was left
	}
	for _, i := range b.items {
		switch {
		case i.event.Body != nil:
			if c.jobID == "" {
				c.jobID = i.event.JobID
			}
			c.transcript.apply(i.event)
		case i.notice != "":
			c.transcript.tell(i.notice)
		}
	}
	if !b.ended {
		return c.work.feed.next(c.p.ctx)
	}
	c.work.cancel()
	c.work = nil
	if b.err != nil {
		c.p.fail(b.err)
	}
	return nil
}

// stop stops the job, and reports whether there was one to stop.
func (c *chat) stop() bool {
	if c.work == nil || c.work.stopped {
		return false
	}
	c.work.stopped = true
	c.work.cancel()
	return true
}

func (c *chat) clear() { c.input.Clear() }

// await waits for the job to be saved.
func (c *chat) await(most time.Duration) {
	if c.work == nil {
		return
	}
	select {
	case <-c.work.begun:
		c.work.feed.await(most)
	default: // it was never started
	}
}

func (c *chat) key(k key) (tea.Cmd, bool) {
	switch {
	case k.name == "enter" && !c.input.IsEmpty() && c.work == nil:
		return c.run(Task{Expert: c.expert, Query: c.input.Take().Text, Job: c.jobID}), true
	case k.text != "":
		if err := c.input.Insert(k.text); err != nil {
			c.p.fail(err)
		}
		return nil, true
	case k.name != "home" && k.name != "end" && c.input.Key(k.name):
		return nil, true
	}
	return nil, c.transcript.pager.Key(k.name)
}

func (c *chat) actions() []action { return nil }

func (c *chat) render(width, height int) view {
	in := c.input.Render(width-3, 5)
	lines := c.transcript.pager.Render(width, height-len(in.Lines), c.p.palette)
	for len(lines) < height-len(in.Lines) {
		lines = append(lines, nil)
	}
	v := view{cursor: true, x: in.X + 3, y: len(lines) + in.Y}
	for _, line := range in.Lines {
		lines = append(lines, paint.Join(paint.Text(" > ", paint.Cyan), line))
	}
	v.lines = lines
	return v
}

// summary is the right side of the header: the job and what it costs.
func (c *chat) summary(short bool) paint.Line {
	if c.jobID == "" {
		return nil
	}
	return paint.Text("job "+c.jobID, paint.Quiet)
}
