package tui

import (
	"context"
	"testing"
	"time"

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
