package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/tui/edit"
	"github.com/perstack-go/perstack/job"
)

// idleChat drives a new conversation.
func idleChat(t *testing.T, p *fakeProject) *driver {
	t.Helper()
	return drive(t, p, 80, 24, func(o *Options) { o.Entry, o.Expert = EntryChat, "lead" })
}

// task waits for what a job was started with.
func (d *driver) task(s *stage) (t Task) {
	d.t.Helper()
	d.until("a job starts", func() bool {
		select {
		case t = <-s.tasks:
			return true
		default:
			return false
		}
	})
	return t
}

// What is queued while the job runs is sent when it has completed, one after the other.
func TestQueue(t *testing.T) {
	d, s := chatting(t, 80, 24)
	d.play(s, happened("R", 1, asks(t, "go")))
	for _, text := range []string{"one", "two"} {
		d.enter(text)
		d.press("enter")
	}
	d.press("esc")
	if got := d.p.chat.input.Message().Text; got != "two" || len(d.p.chat.queue) != 1 {
		t.Fatalf("%q, %d queued", got, len(d.p.chat.queue))
	}
	d.press("enter")
	first := s.events
	s.events = make(chan event.Event)
	close(first)
	if got := d.task(s); got.Query != "one" || got.Job != "r58pyt00" {
		t.Errorf("%+v", got)
	}
	close(s.events)
	if got := d.task(s); got.Query != "two" {
		t.Errorf("%+v", got)
	}
	d.until("the jobs end", func() bool { return d.p.chat.work == nil })
	d.settle()
	if slices.Sort(d.project.remembered); !slices.Equal(d.project.remembered, []string{"Plan a weekend in Lisbon", "one", "two", "two"}) {
		t.Errorf("%q", d.project.remembered)
	}
}

// After a job that was stopped, that failed or that waits for an answer, nothing is sent by itself.
func TestQueueReturns(t *testing.T) {
	for name, end := range map[string]func(d *driver, s *stage){
		"stopped": func(d *driver, _ *stage) { d.press("ctrl+c") },
		"failed":  func(_ *driver, s *stage) { s.fails = errors.New("no key"); close(s.events) },
		"asks": func(d *driver, s *stage) {
			c := askCall()
			d.play(s, happened("R", 1, calls("", c)), happened("R", 1, event.CallInteractiveTool{ToolCall: &c}), happened("R", 1, event.StopRunByInteractiveTool{}))
			close(s.events)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, s := chatting(t, 80, 24)
			d.play(s, happened("R", 1, asks(t, "go")))
			d.enter("y")
			d.press("enter")
			end(d, s)
			d.until("the job ends", func() bool { return d.p.chat.work == nil })
			if got := d.p.chat.input.Message().Text; got != "y" || len(d.p.chat.queue) != 0 || len(s.tasks) != 0 {
				t.Errorf("%q, %d queued, %d started", got, len(d.p.chat.queue), len(s.tasks))
			}
		})
	}
}

// The next message answers the question that a job stopped with.
func TestAnswerAfterStop(t *testing.T) {
	d, s := chatting(t, 80, 24)
	c := askCall()
	d.play(s, happened("R", 1, asks(t, "go")), happened("R", 1, calls("", c)), happened("R", 1, event.CallInteractiveTool{ToolCall: &c}), happened("R", 1, event.StopRunByInteractiveTool{}))
	first := s.events
	s.events = make(chan event.Event)
	close(first)
	d.until("the job ends", func() bool { return d.p.chat.work == nil })
	d.enter("blue")
	d.press("enter")
	if got := d.task(s); !got.Answer || got.Query != "blue" {
		t.Errorf("%+v", got)
	}
}

func TestNewlines(t *testing.T) {
	d := idleChat(t, &fakeProject{})
	for _, k := range []string{"alt+enter", "shift+enter", "ctrl+j"} {
		d.enter("x")
		d.press(k)
	}
	if got := d.p.chat.input.Message().Text; got != "x\nx\nx\n" {
		t.Errorf("%q", got)
	}
}

func TestAttachments(t *testing.T) {
	files := map[string]Attachment{
		"shot.png":      {Path: "shot.png", Name: "shot.png", Kind: "image", Size: 210_000},
		"/tmp/my a.png": {Path: "/tmp/my a.png", Name: "my a.png", Kind: "image", Size: 10, Outside: true},
	}
	for name, tt := range map[string]struct {
		do   func(d *driver)
		show string
		want []string
	}{
		"written":        {func(d *driver) { d.enter("see @shot.png now") }, "see [image shot.png 205.1 KiB] now", []string{"shot.png"}},
		"chosen":         {func(d *driver) { d.enter("@sho"); d.settle(); d.press("tab") }, "[image shot.png 205.1 KiB]", []string{"shot.png"}},
		"dropped":        {func(d *driver) { d.send(tea.PasteMsg{Content: `'/tmp/my a.png' `}) }, "[image my a.png 10 bytes, outside the workspace]", []string{"/tmp/my a.png"}},
		"escaped":        {func(d *driver) { d.send(tea.PasteMsg{Content: `/tmp/my\ a.png`}) }, "[image my a.png 10 bytes, outside the workspace]", []string{"/tmp/my a.png"}},
		"a text":         {func(d *driver) { d.enter("see @notes.txt now") }, "see @notes.txt now", nil},
		"not there":      {func(d *driver) { d.enter("see @gone.png now") }, "no such file", nil},
		"an address":     {func(d *driver) { d.enter("me@shot.png now") }, "me@shot.png now", nil},
		"a prose paste":  {func(d *driver) { d.send(tea.PasteMsg{Content: "look at\nshot.png"}) }, "shot.png", nil},
		"another change": {func(d *driver) { d.enter("@shot.png "); d.press("backspace", "backspace") }, "@shot.pn", nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := idleChat(t, &fakeProject{attachments: files, paths: []string{"shot.png", "notes.txt"}})
			tt.do(d)
			d.settle()
			if got := d.screen(); !strings.Contains(got, tt.show) {
				t.Errorf("the screen lacks %q\n%s", tt.show, got)
			}
			if got := d.p.chat.input.Message().Attachments; !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
	t.Run("too many", func(t *testing.T) {
		d := idleChat(t, &fakeProject{attachments: files})
		for range job.MaxAttachments + 1 {
			d.enter("@shot.png ")
			d.settle()
		}
		if got := len(d.p.chat.input.Message().Attachments); got != job.MaxAttachments || !strings.Contains(d.screen(), "20 attachments") {
			t.Errorf("%d\n%s", got, d.screen())
		}
	})
	t.Run("sent and queued", func(t *testing.T) {
		d, s := chatting(t, 80, 24)
		d.project.attachments = files
		d.enter("@shot.png ")
		d.settle()
		d.press("enter", "esc") // it is queued and taken back
		d.press("enter")
		close(s.events)
		if got := d.task(s); !slices.Equal(got.Attachments, []string{"shot.png"}) || !strings.Contains(got.Query, "@shot.png") {
			t.Errorf("%+v", got)
		}
	})
}

func TestLongPaste(t *testing.T) {
	d := idleChat(t, &fakeProject{})
	d.send(tea.PasteMsg{Content: strings.Repeat("line\n", 240)})
	d.shows("[paste 1: 240 lines]")
	d.send(tea.PasteMsg{Content: strings.Repeat("x", edit.Limit)})
	d.shows("attach a file instead")
	if got := d.p.chat.input.Message().Text; got != strings.Repeat("line\n", 240) {
		t.Errorf("%d bytes", len(got))
	}
}

func TestInputHistory(t *testing.T) {
	d := idleChat(t, &fakeProject{inputs: []string{"first", "second"}})
	d.press("up", "up")
	if got := d.p.chat.input.Message().Text; got != "first" {
		t.Errorf("%q", got)
	}
	d.press("down", "down", "ctrl+r")
	d.enter("irs")
	d.press("enter")
	if got := d.p.chat.input.Message().Text; got != "first" {
		t.Errorf("%q", got)
	}
}

// Ctrl-C stops the job, and clears the input if none runs. The next one leaves the program.
func TestCtrlC(t *testing.T) {
	quits := func(d *driver) bool {
		_, cmd := d.p.Update(keyPress("ctrl+c"))
		if cmd == nil {
			return false
		}
		_, quit := cmd().(tea.QuitMsg)
		return quit
	}
	t.Run("idle", func(t *testing.T) {
		d := idleChat(t, &fakeProject{})
		d.enter("some text")
		if quits(d) || !d.p.chat.input.IsEmpty() {
			t.Error("the first one")
		}
		d.enter("x") // the user stays
		if quits(d) || !d.p.chat.input.IsEmpty() {
			t.Error("the one after another key")
		}
		if !quits(d) {
			t.Error("the last one")
		}
	})
	t.Run("running", func(t *testing.T) {
		d, s := chatting(t, 80, 24)
		d.play(s, happened("R", 1, asks(t, "go")))
		d.enter("some text")
		if quits(d) || d.p.chat.input.IsEmpty() {
			t.Error("the first one")
		}
		d.until("the job ends", func() bool { return d.p.chat.work == nil })
		d.shows("interrupted")
		if !quits(d) {
			t.Error("the second one")
		}
		if got := d.p.openJobID(); got != "r58pyt00" {
			t.Errorf("%q", got)
		}
	})
}

// A job of another process is read-only, until f branches.
func TestFollow(t *testing.T) {
	d, p := following(t, 80, 24)
	s := newStage()
	p.run = s.run
	d.enter("hello")
	d.press("enter")
	d.send(tea.PasteMsg{Content: "hello"})
	if !d.p.chat.input.IsEmpty() || !d.p.chat.isFollowing() {
		t.Fatalf("%s", d.screen())
	}
	d.press("f")
	d.settle()
	d.enter("and hotels")
	d.press("enter")
	if got := d.task(s); got.Job != "r58pyt00" || got.Checkpoint != "cp3" || got.Query != "and hotels" || got.Answer {
		t.Errorf("%+v", got)
	}
}

func TestBranch(t *testing.T) {
	s := newStage()
	d := drive(t, &fakeProject{events: tripEvents(t), run: s.run}, 80, 24)
	d.start(d.p.branchJob(Job{ID: "r58pyt00", Expert: "lead"}, Checkpoint{ID: "cp2", Step: 2}, true))
	d.until("the job was read", func() bool { return d.p.chat != nil && d.p.chat.work == nil })
	d.enter("again")
	d.press("enter")
	if got := d.task(s); got.Checkpoint != "cp2" || !got.RestoreFiles {
		t.Errorf("%+v", got)
	}
	if d.p.chat.branch != nil {
		t.Error("the next message branches, too")
	}
}

// A branch of a job that another process runs takes messages at once.
func TestBranchOfRunningJob(t *testing.T) {
	d := drive(t, &fakeProject{events: tripEvents(t), hold: true}, 80, 24)
	d.start(d.p.branchJob(Job{ID: "r58pyt00", Expert: "lead", Running: true}, Checkpoint{ID: "cp2", Step: 2}, false))
	d.until("the job was read", func() bool { return d.p.chat != nil && d.p.chat.work == nil })
	d.enter("again")
	if got := d.p.chat.input.Message().Text; got != "again" {
		t.Errorf("the input is %q\n%s", got, d.screen())
	}
}

// A message that branches is no answer, even if the job has asked something at its end.
func TestBranchAnswersNothing(t *testing.T) {
	s := newStage()
	d := drive(t, &fakeProject{run: s.run, events: []event.Event{
		happened("R", 1, asks(t, "Plan a weekend")),
		happened("R", 1, calls("", askCall())),
		happened("R", 1, event.CallInteractiveTool{ToolCallID: "c4", ToolCall: new(askCall())}),
		happened("R", 1, event.StopRunByInteractiveTool{}),
	}}, 80, 24)
	d.start(d.p.branchJob(Job{ID: "r58pyt00", Expert: "lead"}, Checkpoint{ID: "cp2", Step: 2}, false))
	d.until("the job was read", func() bool { return d.p.chat != nil && d.p.chat.work == nil })
	if !d.p.chat.answering {
		t.Fatalf("the job asks nothing\n%s", d.screen())
	}
	d.enter("again")
	d.press("enter")
	if got := d.task(s); got.Checkpoint != "cp2" || got.Answer {
		t.Errorf("%+v", got)
	}
}

// A message to a job that waits for a permission drops the call. The user is told before it is sent.
func TestMessageInsteadOfPermission(t *testing.T) {
	s, c := newStage(), removeCall()
	d := drive(t, &fakeProject{run: s.run, events: []event.Event{
		happened("R", 1, asks(t, "go")), happened("R", 1, calls("", c)),
		happened("R", 1, event.ApprovalRequested{ToolCallID: c.ID, ToolCall: &c, Digest: "d", Rule: "commands ask", Effect: event.Effect{Kind: event.CommandEffect, Argv: []string{"rm"}}}),
		happened("R", 1, event.StopRunByApproval{}),
	}}, 80, 24)
	d.start(d.p.openJob(Job{ID: "r58pyt00", Expert: "lead"}))
	d.until("the job was read", func() bool { return d.p.chat != nil && d.p.chat.work == nil })
	d.enter("never mind")
	d.press("enter")
	d.shows("would not run")
	if d.p.chat.work != nil {
		t.Fatal("the message was sent")
	}
	d.press("enter")
	if got := d.task(s); got.Query != "never mind" {
		t.Errorf("%+v", got)
	}
	if d.p.chat.warned != "" {
		t.Error("the same message to another question would be sent without a warning")
	}
}

// A job that was followed is not read any more when another conversation is opened.
func TestLeftJobIsNotRead(t *testing.T) {
	d, _ := following(t, 80, 24)
	left := d.p.chat.work.feed
	d.start(d.p.openExpert("writer"))
	select {
	case <-left.done:
	case <-time.After(time.Minute):
		t.Error("the job is still followed")
	}
}

// Another job is not opened while one runs.
func TestOneJobAtATime(t *testing.T) {
	d, s := chatting(t, 80, 24)
	d.play(s, happened("R", 1, asks(t, "go")))
	before := d.p.chat
	d.start(d.p.openJob(Job{ID: "other", Expert: "writer"}))
	if d.p.chat != before || !strings.Contains(d.screen(), "stop it with Ctrl-C first") {
		t.Errorf("%s", d.screen())
	}
	d.press("ctrl+o")
	d.start(d.p.openJob(Job{ID: "r58pyt00", Expert: "lead"}))
	if d.p.chat != before || d.p.top() != screen(before) {
		t.Error("the job that runs was not shown again")
	}
}

// A query for a job is sent after the job was read, so that its rows are there.
func TestEntryWithJobAndQuery(t *testing.T) {
	s := newStage()
	p := &fakeProject{events: tripEvents(t), run: s.run}
	d := drive(t, p, 80, 24, func(o *Options) { o.Entry, o.Expert, o.Job, o.Query = EntryChat, "lead", "r58pyt00", "and hotels" })
	if got := d.task(s); got.Job != "r58pyt00" || got.Query != "and hotels" {
		t.Errorf("%+v", got)
	}
	d.shows("Flights in May")
}

// A question is announced on other screens.
func TestQuestionElsewhere(t *testing.T) {
	d, s := chatting(t, 80, 24)
	d.press("ctrl+t")
	d.ask(s, approvalRequest())
	d.shows("the job asks you")
	d.press("esc")
	d.shows("Tab to answer")
}

func TestEntryWithJob(t *testing.T) {
	p := &fakeProject{events: tripEvents(t), jobs: []Job{{ID: "r58pyt00", Prefix: "r58p", Expert: "lead"}}}
	d := drive(t, p, 80, 24, func(o *Options) { o.Entry, o.Expert, o.Job = EntryChat, "lead", "r58pyt00" })
	d.shows("Flights in May")
	d.until("the job was read", func() bool { return d.p.chat.work == nil })
	d.shows("Enter resumes")
}

// The header says that a job is not sealed: anyone can have written what it shows.
func TestDoubt(t *testing.T) {
	for _, width := range []int{40, 80} {
		d := drive(t, &fakeProject{events: tripEvents(t), doubt: "not sealed"}, width, 24)
		d.start(d.p.openJob(Job{ID: "r58pyt00", Prefix: "r58p", Expert: "lead"}))
		d.shows("r58p (not sealed)")
	}
}

func TestCopyRow(t *testing.T) {
	d, s := chatting(t, 80, 24)
	d.play(s, tripEvents(t)...)
	d.press("alt+c")
	d.shows("select a row")
	d.press("ctrl+up", "ctrl+up", "ctrl+up", "ctrl+up")
	_, cmd := d.p.Update(keyPress("alt+c"))
	if cmd == nil {
		t.Fatal("nothing is copied")
	}
	if got := fmt.Sprintf("%T %v", cmd(), cmd()); got != "tea.setClipboardMsg I read your notes first." {
		t.Errorf("%q", got)
	}
	d.shows("sent to the terminal's clipboard")
	if cmd := d.p.copy(strings.Repeat("x", maxCopy+1)); cmd != nil {
		t.Error("more than the limit is copied")
	}
}
