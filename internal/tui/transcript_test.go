package tui

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/narrate"
)

// shownRows are the rows of a transcript after some events, as text.
func shownRows(t *testing.T, events ...event.Event) string {
	t.Helper()
	d := drive(t, &fakeProject{events: events}, 80, 24)
	d.start(d.p.openJob(Job{ID: "r58pyt00", Expert: "lead"}))
	d.until("the job was read", func() bool { return d.p.chat != nil && d.p.chat.work == nil })
	return d.screen()
}

// The answer to a permission takes the place of the question. A question of an Expert stays, and does not
// look as if it waited.
func TestAnsweredQuestions(t *testing.T) {
	c, q := removeCall(), askCall()
	effect := event.Effect{Kind: event.CommandEffect, Argv: []string{"rm", "-r", "old drafts"}}
	asked := []event.Event{
		happened("R", 1, asks(t, "go")), happened("R", 1, calls("", c)),
		happened("R", 1, event.ApprovalRequested{ToolCallID: c.ID, ToolCall: &c, Digest: "d", Rule: "commands ask", Effect: effect}),
	}
	if got := shownRows(t, asked...); !strings.Contains(got, "? Permission: Run  rm -r 'old drafts'") {
		t.Errorf("%s", got)
	}
	answered := append(asked, happened("R", 2, event.ApprovalAnswered{ToolCallID: c.ID, Digest: "d", Allow: true, Scope: event.ScopeJob}))
	if got := shownRows(t, answered...); strings.Contains(got, "Permission") || !strings.Contains(got, "Allowed: Run  rm -r 'old drafts'") {
		t.Errorf("%s", got)
	}
	questioned := []event.Event{happened("R", 1, asks(t, "go")), happened("R", 1, calls("", q)), happened("R", 1, event.CallInteractiveTool{ToolCall: &q})}
	if got := shownRows(t, questioned...); !strings.Contains(got, "? Question") {
		t.Errorf("%s", got)
	}
	if got := shownRows(t, append(questioned, happened("R", 2, returned(q, "900 euros")))...); !strings.Contains(got, "● Question") || !strings.Contains(got, "900 euros") {
		t.Errorf("%s", got)
	}
}

// A delegate is shown once: with what it was asked, and as done when it has returned.
func TestDelegateRow(t *testing.T) {
	events := append(tripEvents(t),
		happened("F", 5, event.CompleteRun{NewMessage: says(event.ExpertMessage, "Two flights.")}),
		happened("R", 5, event.StartRun{Answers: []event.ToolResult{{ID: "c3", SkillName: "delegate/finder", ToolName: "finder", Result: []event.Part{{Type: event.TextPart, Text: "Two flights."}}}}}))
	got := shownRows(t, events...)
	if strings.Count(got, "Flights in May") != 1 || !strings.Contains(got, "● finder  Flights in May") || strings.Count(got, "Two flights.") != 1 {
		t.Errorf("%s", got)
	}
}

// The half of a secret that a model is writing is not shown, and neither is the whole.
func TestStreamedSecret(t *testing.T) {
	d, s := chatting(t, 80, 24, func(o *Options) {
		o.Redact = func(text string) string { return strings.ReplaceAll(text, "key-12345", "[redacted: KEY]") }
	})
	d.play(s, happened("R", 1, asks(t, "go")))
	for _, delta := range []string{"It is ke", "y-12", "345", " or so.\nkey-1", "2345\n"} {
		d.play(s, happened("R", 1, event.StreamText{Delta: delta}))
		if got := d.screen(); strings.Contains(got, "ke") || strings.Contains(got, "-12") {
			t.Errorf("after %q:\n%s", delta, got)
		}
	}
	if got := d.screen(); strings.Count(got, "[redacted: KEY]") != 2 {
		t.Errorf("%s", got)
	}
	for n := range 60 { // characters that take no space; the part that is laid out begins within the secret
		thought := &stream{p: d.p, kind: narrate.Reasoning}
		thought.add("key-12345" + strings.Repeat("\u200b", n) + " x ")
		if got := thought.lastWords(40); strings.Contains(got, "5") {
			t.Errorf("with %d, the end of a thought is %q", n, got)
		}
	}
	d.play(s, happened("R", 1, event.StartStreamingReasoning{}))
	long := strings.Repeat("so ", 104) // with the secret after it, the line begins in the middle of a secret
	for _, delta := range []string{"It is ke", "y-12", "345", " or so key-12345 " + long, "so", " so "} {
		d.play(s, happened("R", 1, event.StreamReasoning{Delta: delta}))
		if got := d.screen(); strings.Contains(got, "ke") || strings.Contains(got, "-12") || strings.Contains(got, "345") {
			t.Errorf("thinking, after %q:\n%s", delta, got)
		}
	}
	if got := d.screen(); !strings.Contains(got, "Thinking  ") || !strings.Contains(got, "so so") {
		t.Errorf("%s", got)
	}
}

// Why a job failed is shown whole.
func TestFailureRow(t *testing.T) {
	why := strings.Repeat("a long reason, ", 20) + "the end"
	got := shownRows(t, happened("R", 1, asks(t, "go")), happened("R", 1, event.StopRunByError{Error: event.Failure{Name: "ProviderError", Message: why}}))
	if !strings.Contains(got, "the end") {
		t.Errorf("%s", got)
	}
}

// A message whose job did not start is in the input again.
func TestMessageReturns(t *testing.T) {
	d := idleChat(t, &fakeProject{})
	d.enter("go")
	d.press("enter")
	d.until("the job ends", func() bool { return d.p.chat.work == nil })
	if got := d.p.chat.input.Message().Text; got != "go" {
		t.Errorf("%q", got)
	}
	d.shows("the test runs no job")
}

// Each state of a row, a Run and a phase looks different, also without colours.
func TestMarks(t *testing.T) {
	for _, unicode := range []bool{true, false} {
		p := newProgram(t.Context(), Options{Project: &fakeProject{}})
		p.palette.Unicode = unicode
		seen := map[string]narrate.State{}
		for _, s := range []narrate.State{narrate.Done, narrate.Pending, narrate.Running, narrate.Waiting, narrate.Warning, narrate.Failed} {
			mark := p.mark(s).Text()
			if other, ok := seen[mark]; ok {
				t.Errorf("states %d and %d have the mark %q", s, other, mark)
			}
			seen[mark] = s
		}
	}
}
