package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// An answer that ended for an unknown reason can be incomplete. In every phase, it ends the
// Run with an error, and the job can be continued.
func TestUnexpectedFinish(t *testing.T) {
	odd := func(text string) turn {
		return says(text).with(func(a *model.Answer) { a.Finish, a.Reason = model.FinishOther, "moon phase" })
	}
	silent := says("Half of").with(func(a *model.Answer) { a.Finish = "" })
	silent.disobeys = true
	last := odd("Half of")
	last.disobeys = true
	half := does("act").with(func(a *model.Answer) {
		a.Parts, a.Finish, a.Reason = said("Half of", a.Parts...), model.FinishOther, "moon phase"
	})
	half.disobeys = true
	for name, tt := range map[string]struct {
		turns []turn
		want  string
	}{
		"a text":               {[]turn{odd("Half of")}, `"moon phase"`},
		"without any reason":   {[]turn{silent}, "does not say why"},
		"the final answer":     {[]turn{does("attemptCompletion"), last}, `"moon phase"`},
		"words beside a call":  {[]turn{does("attemptCompletion"), half}, `"moon phase"`},
		"calls without a call": {[]turn{says("I call.").with(func(a *model.Answer) { a.Finish, a.Reason = model.FinishToolCalls, "tool_use" })}, `"tool_use"`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tt.turns...)
			r := b.must(job.Input{Query: "go"})
			if r.Status != event.StatusStoppedByError || r.Failure.Name != "UnexpectedFinish" || !strings.Contains(r.Failure.Message, tt.want) {
				t.Errorf("ended as %s: %+v", r.Status, r.Failure)
			}
			b.checkJournal()
		})
	}
}

// A model that calls tools instead of giving its final answer is asked again.
func TestCallsInTheFinalAnswer(t *testing.T) {
	stubborn := does("act")
	stubborn.disobeys = true
	b := newBench(t, does("attemptCompletion"), stubborn)
	b.maxRetries = 2
	r := b.must(job.Input{Query: "go"})
	if r.Status != event.StatusStoppedByError || !strings.Contains(r.Failure.Message, "instead of giving its final answer") {
		t.Errorf("ended as %s: %+v", r.Status, r.Failure)
	}
	if n := len(b.script.requests); n != 4 || len(b.tools.ran) != 0 {
		t.Errorf("%d requests, and %v ran", n, b.tools.ran)
	}
	for i, req := range b.script.requests {
		if req.TextOnly != (i > 0) || len(req.Tools) == 0 {
			t.Errorf("request %d: words only %v, %d tools", i, req.TextOnly, len(req.Tools))
		}
	}
	b.checkJournal()
}

// Text beside such calls is the final answer, and the calls are dropped.
func TestTextBesideCallsInTheFinalAnswer(t *testing.T) {
	both := does("act").with(func(a *model.Answer) { a.Parts = said("Done.", a.Parts...) })
	both.disobeys = true
	b := newBench(t, does("attemptCompletion"), both)
	r := b.must(job.Input{Query: "go"})
	if r.Status != event.StatusCompleted || r.Text != "Done." || len(b.tools.ran) != 0 {
		t.Errorf("ended as %+v, and %v ran", r, b.tools.ran)
	}
	b.checkJournal()
}

// Of a turn that was cut off, the first call is kept with the reasoning before it. The text is
// dropped.
func TestPartsOfACutOffTurn(t *testing.T) {
	cut := does("read", "act").with(func(a *model.Answer) {
		a.Finish, a.Parts = model.FinishLength, append(thought("hm", "sig"), said("I read.", a.Parts...)...)
	})
	b := newBench(t, cut, says("done"))
	b.must(job.Input{Query: "go"})
	var got []event.PartType
	for _, p := range last[event.Retry](b).NewMessages[0].Contents {
		got = append(got, p.Type)
	}
	if diff := cmp.Diff([]event.PartType{event.ThinkingPart, event.ToolCallPart}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.checkJournal()
}

// A pause of the provider does not end the turn: its answer so far is sent back to it, and its
// last text is the answer.
func TestPause(t *testing.T) {
	searched := event.Part{Type: event.ProviderPart, ToolName: "web_search", ProviderData: []byte(`{"type":"server_tool_use"}`)}
	pause := turn{answer: &model.Answer{Parts: said("Let me see.", searched), Finish: model.FinishPause, Usage: spent(3)}}
	b := newBench(t, pause, says("Found."))
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted || r.Text != "Found." || r.Usage.InputTokens != 13 {
		t.Errorf("ended as %+v", r)
	}
	messages := b.script.requests[1].Messages
	back := messages[len(messages)-1]
	want := []event.Part{{Type: event.TextPart, Text: "Let me see."}, searched}
	for i := range back.Contents {
		back.Contents[i].ID = ""
	}
	if diff := cmp.Diff(want, back.Contents); diff != "" || back.Type != event.ExpertMessage {
		t.Errorf("sent back (-want +got):\n%s", diff)
	}
	b.checkJournal()
}

// Pauses do not count as failures, but their number is limited.
func TestPausesAreNoFailures(t *testing.T) {
	pause := func() turn {
		return turn{answer: &model.Answer{Parts: said("Hm."), Finish: model.FinishPause, Usage: spent(3)}}
	}
	b := newBench(t, pause(), pause(), pause(), says("Found."))
	b.maxRetries = 0
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted || r.Text != "Found." {
		t.Errorf("ended as %+v", r)
	}
	b.checkJournal()

	var turns []turn
	for range 2 * maxPauses {
		turns = append(turns, pause())
	}
	b = newBench(t, turns...)
	b.maxRetries = 0
	if r := b.must(job.Input{Query: "go"}); r.Failure == nil || r.Failure.Name != "MaxRetriesExceeded" || len(b.script.requests) != maxPauses+1 {
		t.Errorf("ended as %+v after %d requests", r, len(b.script.requests))
	}
	b.checkJournal()
}

// The parts of an answer keep their order, because some providers match reasoning to the call
// that follows it. That holds for all kinds of tools.
func TestOrderOfParts(t *testing.T) {
	call := func(id, tool string) event.Part {
		return event.Part{Type: event.ToolCallPart, ToolCallID: id, ToolName: tool, Args: []byte("{}")}
	}
	mark := func(text string) event.Part { return thought(text, "sig "+text)[0] }
	remark := said("And then.")[0]
	wrote := []event.Part{mark("one"), call("q", "ask"), mark("two"), call("a", "act"), call("r", "read"), remark}
	b := newBench(t, turn{answer: &model.Answer{Parts: wrote, Finish: model.FinishToolCalls}})
	b.must(job.Input{Query: "go"})
	called := last[event.CallTools](b)
	var got []event.Part
	for _, p := range called.NewMessage.Contents {
		p.ID = ""
		got = append(got, p)
	}
	if diff := cmp.Diff(wrote, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var ids []string
	for _, c := range called.ToolCalls {
		ids = append(ids, c.ID)
	}
	if diff := cmp.Diff([]string{"q", "a", "r"}, ids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.checkJournal()
}

// Calls without ids get ids. Provider data that cannot be recorded is left out.
func TestInvalidParts(t *testing.T) {
	b := newBench(t, turn{answer: &model.Answer{
		Parts: []event.Part{
			{Type: event.ProviderPart, ToolName: "x", ProviderData: []byte("{\xff}")},
			{Type: event.ThinkingPart, Thinking: "a\xffb", Signature: "s\xff", ProviderData: []byte("{")},
			{Type: event.ToolCallPart, ToolName: "read"}, {Type: event.ToolCallPart, ToolName: "read"},
		},
		Finish: model.FinishStop,
	}}, says("done"))
	if r := b.must(job.Input{Query: "go"}); r.Text != "done" {
		t.Errorf("ended as %+v", r)
	}
	parts := last[event.CallTools](b).NewMessage.Contents
	if len(parts) != 3 || parts[0].ProviderData != nil || parts[0].Thinking != "a\ufffdb" {
		t.Errorf("%+v", parts)
	}
	if a, c := parts[1].ToolCallID, parts[2].ToolCallID; len(a) != 24 || len(c) != 24 || a == c {
		t.Errorf("the ids are %q and %q", a, c)
	}
	b.checkJournal()
}
