package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// golden compares a state of the program at all sizes.
func golden(t *testing.T, name string, reach func(t *testing.T, width, height int) *driver) {
	t.Helper()
	var all strings.Builder
	for _, size := range sizes {
		d := reach(t, size.width, size.height)
		screen := d.screen()
		for i, line := range strings.Split(screen, "\n") {
			if w := paint.TextWidth(line); w > size.width {
				t.Errorf("%dx%d: line %d has %d columns: %q", size.width, size.height, i+1, w, line)
			}
		}
		if n := strings.Count(screen, "\n") + 1; n != size.height {
			t.Errorf("%dx%d: %d lines", size.width, size.height, n)
		}
		cursor := "hidden"
		if c := d.p.View().Cursor; c != nil {
			cursor = fmt.Sprintf("%d,%d", c.X, c.Y)
		}
		for _, d.p.palette.Color = range []bool{false, true} {
			fmt.Fprintf(&all, "-- %dx%d, cursor %s, colours %t --\n%s\n", size.width, size.height, cursor, d.p.palette.Color, d.golden())
		}
	}
	testkit.Golden(t, name+".golden", all.String())
}

func TestChatScreens(t *testing.T) {
	for name, reach := range map[string]func(t *testing.T, w, h int) *driver{
		"chat_new": func(t *testing.T, w, h int) *driver {
			return drive(t, &fakeProject{}, w, h, func(o *Options) { o.Entry, o.Expert = EntryChat, "lead" })
		},
		"chat_running": func(t *testing.T, w, h int) *driver {
			d, s := chatting(t, w, h)
			d.play(s, tripEvents(t)...)
			d.pass(41 * time.Second)
			return d
		},
		"chat_queued": func(t *testing.T, w, h int) *driver {
			d, s := chatting(t, w, h)
			d.play(s, tripEvents(t)...)
			d.enter("compare prices")
			d.press("enter")
			d.enter("two")
			d.press("alt+enter")
			d.enter("lines @no")
			d.settle()
			return d
		},
		"chat_completed": func(t *testing.T, w, h int) *driver {
			d, s := chatting(t, w, h)
			d.play(s, happened("R", 1, asks(t, "Plan a weekend in Lisbon")), happened("R", 1, event.StartGeneration{}),
				happened("R", 3, event.CompleteRun{NewMessage: says(event.ExpertMessage, "# Plan\n\n1. Fly on **Friday**\n2. `walk` 日本語 👨‍👩‍👧\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"), Usage: event.Usage{InputTokens: 18_200, OutputTokens: 900}}))
			close(s.events)
			d.until("the job ends", func() bool { return d.p.chat.work == nil })
			return d
		},
		"chat_failed": func(t *testing.T, w, h int) *driver {
			d, s := chatting(t, w, h)
			s.fails = fmt.Errorf("provider anthropic: ANTHROPIC_API_KEY is not set; set it in the environment or in .env")
			close(s.events)
			d.until("the job ends", func() bool { return d.p.chat.work == nil })
			return d
		},
		"chat_approval": func(t *testing.T, w, h int) *driver {
			d, s := chatting(t, w, h)
			d.play(s, tripEvents(t)...)
			d.ask(s, approvalRequest())
			return d
		},
		"chat_approval_focused": func(t *testing.T, w, h int) *driver {
			d, s := chatting(t, w, h)
			d.play(s, tripEvents(t)...)
			d.ask(s, approvalRequest())
			d.pass(readingTime)
			d.press("tab")
			return d
		},
		"chat_approval_denied": func(t *testing.T, w, h int) *driver {
			d, s := chatting(t, w, h)
			d.ask(s, approvalRequest())
			d.pass(readingTime)
			d.press("tab", "n")
			d.enter("move them instead")
			return d
		},
		"chat_approval_detail": func(t *testing.T, w, h int) *driver {
			d, s := chatting(t, w, h)
			d.ask(s, approvalRequest())
			d.pass(readingTime)
			d.press("tab", "d")
			return d
		},
		"chat_question": func(t *testing.T, w, h int) *driver {
			d, s := chatting(t, w, h)
			c := askCall()
			d.play(s, happened("R", 1, asks(t, "Plan a weekend in Lisbon")), happened("R", 1, calls("", c)), happened("R", 1, event.CallInteractiveTool{ToolCall: &c}))
			d.ask(s, event.Request{JobID: "r58pyt00", RunID: "R", ExpertKey: "lead", Question: c})
			d.enter("900 euros")
			return d
		},
		"chat_confirm": func(t *testing.T, w, h int) *driver {
			d, s := chatting(t, w, h)
			s.confirm <- "perstack.toml asks for more than the defaults:\n  hosts: example.com\n  read: ~/photos\nAllow this?"
			d.until("the question is there", func() bool { return len(d.p.chat.asks) == 1 })
			return d
		},
		"chat_search": func(t *testing.T, w, h int) *driver {
			d, s := chatting(t, w, h)
			d.play(s, tripEvents(t)...)
			d.press("ctrl+f")
			d.enter("notes")
			d.press("enter")
			return d
		},
		"chat_history_search": func(t *testing.T, w, h int) *driver {
			d, _ := chatting(t, w, h)
			d.press("ctrl+r")
			d.enter("earl")
			return d
		},
		"chat_selected": func(t *testing.T, w, h int) *driver {
			d, s := chatting(t, w, h)
			d.play(s, tripEvents(t)...)
			d.press("ctrl+up", "ctrl+up")
			return d
		},
		"chat_following": func(t *testing.T, w, h int) *driver {
			d, _ := following(t, w, h)
			return d
		},
		"chat_branch": func(t *testing.T, w, h int) *driver {
			d := drive(t, &fakeProject{events: tripEvents(t)}, w, h)
			d.start(d.p.branchJob(Job{ID: "r58pyt00", Prefix: "r58p", Expert: "lead"}, Checkpoint{ID: "cp", Step: 2}, true))
			d.until("the job was read", func() bool { return d.p.chat != nil && d.p.chat.work == nil })
			return d
		},
		"chat_stopping": func(t *testing.T, w, h int) *driver {
			d, _ := chatting(t, w, h)
			d.p.chat.work.cancel = func() {} // so that it takes its time
			d.press("ctrl+c")
			return d
		},
		"runs": func(t *testing.T, w, h int) *driver {
			d, s := chatting(t, w, h)
			d.play(s, tripEvents(t)...)
			d.press("ctrl+t")
			return d
		},
		"help":    func(t *testing.T, w, h int) *driver { d, _ := chatting(t, w, h); d.press("f1"); return d },
		"palette": func(t *testing.T, w, h int) *driver { d, _ := chatting(t, w, h); d.press("ctrl+p"); return d },
		"chat_ascii": func(t *testing.T, w, h int) *driver {
			d, s := chatting(t, w, h, func(o *Options) { o.Palette = paint.Palette{} })
			d.play(s, tripEvents(t)...)
			d.ask(s, approvalRequest())
			if content := d.p.View().Content; strings.Contains(strings.ReplaceAll(strings.ReplaceAll(content, "\x1b[1m", ""), "\x1b[0m", ""), "\x1b") {
				t.Errorf("more than bold text: %q", content)
			}
			return d
		},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, reach) })
	}
}

// following opens a job that another process runs.
func following(t *testing.T, w, h int) (*driver, *fakeProject) {
	t.Helper()
	p := &fakeProject{events: tripEvents(t), hold: true, checkpoints: []Checkpoint{{ID: "cp3", Step: 3}, {ID: "cp2", Step: 2}}}
	d := drive(t, p, w, h)
	d.start(d.p.openJob(Job{ID: "r58pyt00", Prefix: "r58p", Expert: "lead", Running: true}))
	d.until("the events are there", func() bool { return d.events == len(p.events) })
	return d, p
}
