package tui

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/event"
)

// endless yields events until the context is done.
func endless(ctx context.Context) func(yield func(event.Event, error) bool) {
	return func(yield func(event.Event, error) bool) {
		for ctx.Err() == nil {
			if !yield(event.Event{Body: event.StreamText{Delta: "x"}}, nil) {
				return
			}
		}
	}
}

// A job waits while the screen has too much to take in, and never for a conversation that was left.
func TestFeedIsBounded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := newFeed(ctx)
	go f.pump(endless(ctx))
	filled := func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.items)
	}
	for filled() < maxItems {
		time.Sleep(time.Millisecond)
	}
	if n := len(f.takeAll().items); n > maxItems {
		t.Errorf("%d items wait, and %d is the most", n, maxItems)
	}
	for filled() < maxItems {
		time.Sleep(time.Millisecond)
	}
	cancel()
	select {
	case <-f.done:
	case <-time.After(time.Minute):
		t.Error("the job waits for a screen that takes nothing")
	}
}

// Pieces of text that come fast are drawn at most thirty times a second.
func TestDeltasAreMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(t.Context())
		const pieces = 2000 // one each millisecond
		go f.pump(func(yield func(event.Event, error) bool) {
			for range pieces {
				time.Sleep(time.Millisecond)
				yield(event.Event{Body: event.StreamText{Delta: "x"}}, nil)
			}
		})
		batches, items := 0, 0
		for ended := false; !ended; batches++ {
			b := f.next(t.Context())().(batch)
			ended = b.ended
			items += len(b.items)
		}
		if most := 2*30 + 2; batches > most || items != pieces {
			t.Errorf("%d pieces came in %d messages, want at most %d", items, batches, most)
		}
	})
}

// A job that the user has left before it was found is not read.
func TestStartOfConversationThatWasLeft(t *testing.T) {
	p := newProgram(t.Context(), Options{Project: &fakeProject{jobs: []Job{{ID: "r58pyt00"}}}, Entry: EntryChat, Expert: "lead"})
	left := p.chat
	find := left.start("r58pyt00", "")
	p.openExpert("writer")
	p.take(find())
	if left.work != nil {
		t.Error("a job is read that is not on the screen")
	}
}

// While a question is not focused, the keys that edit the input do so.
func TestInputIsEditedBesideApproval(t *testing.T) {
	d, s := chatting(t, 80, 24)
	d.ask(s, approvalRequest())
	d.enter("compare the prices")
	d.press("ctrl+w")
	if got := d.p.chat.input.Message().Text; got != "compare the " {
		t.Errorf("the input is %q", got)
	}
	d.unanswered(s)
}

// Tab completes a path while a menu is open. It does not move to the question above.
func TestTabCompletesBesideApproval(t *testing.T) {
	d, s := chatting(t, 80, 24)
	d.ask(s, approvalRequest())
	d.pass(readingTime)
	d.enter("@no")
	d.until("the menu is open", d.p.chat.menu.IsOpen)
	d.settle()
	d.press("tab")
	if d.p.chat.asks[0].focused || !strings.Contains(d.p.chat.input.Message().Text, "notes") {
		t.Errorf("the screen is\n%s", d.screen())
	}
	d.unanswered(s)
}

// What is pasted where nothing is shown is dropped.
func TestPasteIntoTooSmallTerminal(t *testing.T) {
	d, _ := chatting(t, 80, 24)
	d.send(tea.WindowSizeMsg{Width: 1, Height: 1})
	d.send(tea.PasteMsg{Content: "a secret"})
	if !d.p.chat.input.IsEmpty() {
		t.Error("pasted text is in an input that is not shown")
	}
}
