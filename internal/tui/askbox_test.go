package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/event"
)

// unanswered fails the test if the job has an answer.
func (d *driver) unanswered(s *stage) {
	d.t.Helper()
	d.pass(10 * readingTime)
	select {
	case g := <-s.answers:
		d.t.Errorf("the job got %+v", g)
	default:
	}
	if len(d.p.chat.asks) == 0 {
		d.t.Error("the question is gone")
	}
}

// focused asks, and focuses the question as a person does.
func (d *driver) focused(s *stage, r event.Request) {
	d.t.Helper()
	d.ask(s, r)
	d.pass(readingTime)
	d.press("tab")
	d.pass(keyPause)
	if !d.p.chat.asks[0].focused {
		d.t.Fatalf("Tab did not focus the question\n%s", d.screen())
	}
}

// A page of the details is not all of a question.
func TestDetailsAreReadToTheEnd(t *testing.T) {
	d, s := chatting(t, 80, 24)
	long := approvalRequest()
	long.Approval.Effect.Argv = append(long.Approval.Effect.Argv, strings.Repeat("x ", 2000))
	d.focused(s, long)
	for _, k := range []string{"d", "esc", "y"} {
		d.press(k)
		d.pass(keyPause)
	}
	d.unanswered(s)
	for _, k := range []string{"d", "end", "esc", "y"} {
		d.press(k)
		d.pass(keyPause)
	}
	if got := d.answered(s); !got.answer.Allow {
		t.Errorf("%+v", got)
	}
}

// None of these allows anything, whenever the keys come.
func TestStrayKeysApproveNothing(t *testing.T) {
	for name, do := range map[string]func(d *driver, s *stage){
		"y before the question": func(d *driver, s *stage) { d.enter("y"); d.ask(s, approvalRequest()) },
		"y without Tab":         func(d *driver, s *stage) { d.ask(s, approvalRequest()); d.pass(readingTime); d.enter("yay") },
		"y in a queued message": func(d *driver, s *stage) {
			d.enter("y")
			d.press("enter")
			d.ask(s, approvalRequest())
			d.pass(readingTime)
			d.enter("y")
			d.press("enter")
		},
		"Tab before the question": func(d *driver, s *stage) {
			d.press("tab")
			d.ask(s, approvalRequest())
			d.pass(readingTime)
			d.enter("y")
		},
		"Tab when it was just drawn": func(d *driver, s *stage) {
			d.ask(s, approvalRequest())
			d.press("tab")
			d.pass(readingTime)
			d.enter("y")
		},
		"Tab within a message, and its next word": func(d *driver, s *stage) {
			d.ask(s, approvalRequest())
			d.pass(readingTime)
			for _, key := range []string{"o", "k", "tab", "space", "a", "n", "d"} {
				d.press(key)
				d.pass(200 * time.Millisecond)
			}
		},
		"a word after Tab": func(d *driver, s *stage) {
			d.focused(s, approvalRequest())
			for _, key := range []string{"a", "l", "s", "o"} {
				d.press(key)
				d.pass(200 * time.Millisecond)
			}
		},
		"Tab and y at once": func(d *driver, s *stage) { d.ask(s, approvalRequest()); d.pass(readingTime); d.press("tab", "y") },
		"y within a word":   func(d *driver, s *stage) { d.focused(s, approvalRequest()); d.enter("yes") },
		"y and Ctrl-G":      func(d *driver, s *stage) { d.focused(s, approvalRequest()); d.press("y", "ctrl+g") },
		"y where nothing is shown": func(d *driver, s *stage) {
			d.focused(s, approvalRequest())
			d.send(tea.WindowSizeMsg{Width: 1, Height: 1})
			d.press("y")
		},
		"y and Enter":      func(d *driver, s *stage) { d.focused(s, approvalRequest()); d.press("y", "enter") },
		"Enter alone":      func(d *driver, s *stage) { d.focused(s, approvalRequest()); d.press("enter") },
		"Y":                func(d *driver, s *stage) { d.focused(s, approvalRequest()); d.press("Y") },
		"Ctrl-Y and Alt-Y": func(d *driver, s *stage) { d.focused(s, approvalRequest()); d.press("ctrl+y", "alt+y") },
		"pasted": func(d *driver, s *stage) {
			d.focused(s, approvalRequest())
			d.send(tea.PasteMsg{Content: "y"})
		},
		"pasted Tab and y": func(d *driver, s *stage) {
			d.ask(s, approvalRequest())
			d.pass(readingTime)
			d.send(tea.PasteMsg{Content: "\ty"})
		},
		"a paste after y": func(d *driver, s *stage) {
			d.focused(s, approvalRequest())
			d.press("y")
			d.send(tea.PasteMsg{Content: "es"})
		},
		"y after Esc": func(d *driver, s *stage) {
			d.focused(s, approvalRequest())
			d.press("esc")
			d.pass(keyPause)
			d.enter("y")
		},
		"y while the reason is written": func(d *driver, s *stage) {
			d.focused(s, approvalRequest())
			d.press("n")
			d.pass(keyPause)
			d.enter("y")
		},
		"y in the detail": func(d *driver, s *stage) {
			d.focused(s, approvalRequest())
			d.press("d")
			d.pass(keyPause)
			d.enter("y")
		},
		"a terminal that is too small": func(d *driver, s *stage) {
			d.send(tea.WindowSizeMsg{Width: 20, Height: 5})
			d.ask(s, approvalRequest())
			d.pass(readingTime)
			d.press("tab")
			d.pass(keyPause)
			d.press("y")
		},
		"another screen": func(d *driver, s *stage) {
			d.press("f1")
			d.ask(s, approvalRequest())
			d.pass(readingTime)
			d.press("tab")
			d.pass(keyPause)
			d.press("y")
			d.press("esc") // now it is drawn for the first time
			d.press("tab")
			d.pass(keyPause)
			d.press("y")
		},
		"what is not shown to the end": func(d *driver, s *stage) {
			r := approvalRequest()
			r.Approval.Effect.Argv = append(r.Approval.Effect.Argv, strings.Repeat("x ", 2000))
			d.focused(s, r)
			d.press("y")
		},
		"a letter that the question does not offer": func(d *driver, s *stage) {
			r := approvalRequest()
			r.Approval.Once = true
			d.focused(s, r)
			d.press("a")
		},
		"focus on the question before": func(d *driver, s *stage) {
			first, second := approvalRequest(), approvalRequest()
			second.Approval.Digest = "d2"
			d.focused(s, first)
			d.ask(s, second)
			d.press("y")
			d.pass(keyPause) // the first one is answered
			if g := d.answered(s); !g.answer.Allow {
				d.t.Errorf("the first question got %+v", g)
			}
			d.press("y")
			d.pass(keyPause)
			d.press("y")
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, s := chatting(t, 80, 24)
			do(d, s)
			d.unanswered(s)
		})
	}
}

func TestApprovalIsAnswered(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*event.Approval)
		keys   []string
		want   event.Answer
	}{
		"once":             {nil, []string{"y"}, event.Answer{Allow: true, Scope: event.ScopeOnce}},
		"for the job":      {nil, []string{"a"}, event.Answer{Allow: true, Scope: event.ScopeJob}},
		"for the project":  {nil, []string{"p"}, event.Answer{Allow: true, Scope: event.ScopeProject}},
		"no":               {nil, []string{"n", "enter"}, event.Answer{}},
		"no, with reason":  {nil, []string{"n", "k", "e", "e", "p", "enter"}, event.Answer{Reason: "keep"}},
		"no, after all":    {nil, []string{"n", "x", "esc", "y"}, event.Answer{Allow: true, Scope: event.ScopeOnce}},
		"after the detail": {nil, []string{"d", "esc", "y"}, event.Answer{Allow: true, Scope: event.ScopeOnce}},
		"a plan":           {func(a *event.Approval) { a.Effect = event.Effect{Kind: event.PlanEffect, Plan: "1. walk"} }, []string{"y"}, event.Answer{Allow: true, Scope: event.ScopeOnce}},
		"a host":           {func(a *event.Approval) { a.Effect = event.Effect{Kind: event.HostEffect, Host: "example.com:443"} }, []string{"a"}, event.Answer{Allow: true, Scope: event.ScopeJob}},
		"a directory":      {func(a *event.Approval) { a.Effect = event.Effect{Kind: event.PathEffect, Path: "/srv/photos"} }, []string{"y"}, event.Answer{Allow: true, Scope: event.ScopeOnce}},
		"a long one":       {func(a *event.Approval) { a.Effect.Argv = append(a.Effect.Argv, strings.Repeat("x ", 500)) }, []string{"pgdown", "pgdown", "y"}, event.Answer{Allow: true, Scope: event.ScopeOnce}},
	} {
		t.Run(name, func(t *testing.T) {
			d, s := chatting(t, 80, 24)
			r := approvalRequest()
			if tt.change != nil {
				tt.change(r.Approval)
			}
			d.focused(s, r)
			for _, k := range tt.keys {
				d.press(k)
				d.pass(keyPause)
			}
			if g := d.answered(s); g.err != nil || g.answer != tt.want {
				t.Errorf("%+v, want %+v", g, tt.want)
			}
			if len(d.p.chat.asks) != 0 {
				t.Error("the question is still there")
			}
		})
	}
}

// A question that was answered elsewhere goes away, and what is typed then is a message.
func TestQuestionIsWithdrawn(t *testing.T) {
	d, s := chatting(t, 80, 24)
	ctx, cancel := context.WithCancelCause(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := asker{d.p.chat.work.feed}.Ask(ctx, approvalRequest())
		got <- err
	}()
	d.until("the question is there", func() bool { return len(d.p.chat.asks) == 1 })
	d.pass(readingTime)
	d.press("tab")
	elsewhere := errors.New("answered elsewhere")
	cancel(elsewhere)
	d.until("the question is gone", func() bool { return len(d.p.chat.asks) == 0 })
	if err := <-got; !errors.Is(err, elsewhere) {
		t.Error(err)
	}
	d.pass(keyPause)
	d.enter("y")
	if got := d.p.chat.input.Message().Text; got != "y" {
		t.Errorf("%q", got)
	}
	select {
	case g := <-s.answers:
		t.Errorf("%+v", g)
	default:
	}
}

func TestConfirm(t *testing.T) {
	for key, want := range map[string]bool{"y": true, "n": false} {
		d, s := chatting(t, 80, 24)
		s.confirm <- "perstack.toml asks for more than the defaults.\nAllow this?"
		d.until("the question is there", func() bool { return len(d.p.chat.asks) == 1 })
		d.enter(key) // too early
		d.pass(readingTime)
		d.press("tab")
		d.pass(keyPause)
		d.press(key)
		d.pass(keyPause)
		if g := d.answered(s); g.err != nil || g.yes != want {
			t.Errorf("%s: %+v", key, g)
		}
	}
}

// A question of an Expert is answered by typing. What the user was writing before is no answer.
func TestQuestionIsAnswered(t *testing.T) {
	question := event.Request{JobID: "j", RunID: "R", ExpertKey: "lead", Question: askCall()}
	t.Run("typed", func(t *testing.T) {
		d, s := chatting(t, 80, 24)
		d.ask(s, question)
		d.enter("900 euros")
		d.press("enter") // the question was not there long enough to be read
		d.unanswered(s)
		d.press("enter")
		if g := d.answered(s); g.err != nil || g.answer.Text != "900 euros" {
			t.Errorf("%+v", g)
		}
	})
	t.Run("a message that was begun before", func(t *testing.T) {
		d, s := chatting(t, 80, 24)
		d.enter("also ")
		d.ask(s, question)
		d.pass(readingTime)
		d.enter("hotels")
		d.press("enter")
		d.unanswered(s)
		if len(d.p.chat.queue) != 1 || d.p.chat.queue[0].message.Text != "also hotels" {
			t.Errorf("%+v", d.p.chat.queue)
		}
		d.press("tab")
		d.enter("blue")
		d.press("enter")
		if g := d.answered(s); g.answer.Text != "blue" {
			t.Errorf("%+v", g)
		}
	})
}

// A directory is shown from the workspace, if it is in it.
func TestPlace(t *testing.T) {
	for _, tt := range []struct{ workspace, dir, want string }{
		{"/home/me/trip", "/home/me/trip", "."},
		{"/home/me/trip", "/home/me/trip/drafts", "drafts"},
		{"/home/me/trip", "/home/me/trips", "/home/me/trips"},
		{"/home/me/trip", "/etc", "/etc"},
		{"/home/me/trip", "", "."},
		{"", "/home/me/trip", "/home/me/trip"},
	} {
		p := &program{opts: Options{Workspace: tt.workspace}}
		if got := p.place(tt.dir); got != tt.want {
			t.Errorf("%q in %q: %q, want %q", tt.dir, tt.workspace, got, tt.want)
		}
	}
}

// The status says how long the user has been asked, and not how long the job has been running.
func TestStatusOfQuestion(t *testing.T) {
	d, s := chatting(t, 80, 24)
	d.pass(7 * time.Second)
	d.ask(s, approvalRequest())
	c := d.p.chat
	c.asks[0].drawn = time.Time{} // the status of its first frame
	if got := c.status(80).Text(); !strings.HasPrefix(got, "waiting for you 00:00") {
		t.Errorf("before it is drawn: %q", got)
	}
	d.p.View()
	d.pass(3 * time.Second)
	if got := c.status(80).Text(); !strings.HasPrefix(got, "waiting for you 00:03") {
		t.Errorf("after three seconds: %q", got)
	}
}
