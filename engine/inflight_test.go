package engine

import (
	"context"
	"slices"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/skill"
)

// The notes of a call end with it. A model can use the same call id again in the next turn,
// so a note of something that the first call left running would look like one of the second.
func TestNotesEndWithTheCall(t *testing.T) {
	b := newBench(t, does("sTool"), does("sTool"), says("done"))
	b.lean = true // with the ends of calls
	var reportLate func()
	b.skills = box(skill.Source{Skill: &server{name: "s", call: func(ctx context.Context, _ event.ToolCall) (event.ToolResult, error) {
		if reportLate == nil {
			reportLate = func() { skill.Report(ctx, "late") }
			skill.Report(ctx, "first")
			return event.ToolResult{}, nil
		}
		reportLate()
		skill.Report(ctx, "second")
		return event.ToolResult{}, nil
	}}})
	b.must(job.Input{Query: "go"})
	var seen []string
	for _, e := range b.events {
		switch body := e.Body.(type) {
		case event.ToolProgress:
			seen = append(seen, body.ToolCallID+" "+body.Message)
		case event.EndToolCall:
			seen = append(seen, body.ToolResult.ID+" ended")
		}
	}
	want := []string{"c1 first", "c1 ended", "c1 second", "c1 ended"}
	if !slices.Equal(seen, want) {
		t.Errorf("events %q, want %q", seen, want)
	}
}
