package storetest

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
)

// start is the time of the first sample event, 2026-01-02 03:04:05 UTC.
const start = 1767323045000

// Sample returns a small job as the journal keeps it: an Expert reads a file, declares
// itself done, and answers. Its last event is terminal.
func Sample(jobID string) []event.Event {
	usage := event.Usage{InputTokens: 120, OutputTokens: 30, TotalTokens: 150}
	step := 1
	var events []event.Event
	add := func(body event.Body) {
		n := len(events) + 1
		e := event.Event{ID: fmt.Sprintf("e%d", n), Timestamp: start + int64(n)*1000, JobID: jobID, RunID: "run1", Body: body}
		if !e.IsRuntime() {
			e.ExpertKey, e.StepNumber = "reader@1.0.0", step
		}
		events = append(events, e)
	}
	add(event.SandboxCheck{Check: "files", OK: true})
	add(event.StartRun{CheckpointID: "cp1", Expert: event.ExpertRef{Key: "reader@1.0.0", Name: "reader", Version: "1.0.0"},
		Model: "replay", Spec: rawjson.Value(`{"expert":"reader@1.0.0","limits":{"maxSteps":100},"version":"1.0.0"}`),
		InputMessages: []*event.Message{
			{ID: "m1", Type: event.InstructionMessage, Contents: []event.Part{text("p1", "Read what you are asked to read.")}, Cache: true},
			{ID: "m2", Type: event.UserMessage, Contents: []event.Part{text("p2", "What is in notes.txt?")}},
		}})
	add(event.StartGeneration{})
	add(event.CallTools{
		NewMessage: &event.Message{ID: "m3", Type: event.ExpertMessage, Contents: []event.Part{{ID: "p3", Type: event.ToolCallPart,
			ToolCallID: "c1", ToolName: "readTextFile", Args: rawjson.Value(`{"path":"notes.txt"}`)}}},
		ToolCalls: []event.ToolCall{{ID: "c1", SkillName: event.BaseSkill, ToolName: "readTextFile"}},
		Usage:     usage,
	})
	add(event.StartToolCall{ToolCallID: "c1"})
	add(event.EndToolCall{ToolResult: event.ToolResult{ID: "c1", SkillName: event.BaseSkill, ToolName: "readTextFile",
		Result: []event.Part{text("p4", "Buy bread.\nWater the plants.")}}})
	add(event.ResolveToolResults{})
	add(event.FinishToolCall{ToolMessage: &event.ToolMessageRef{ID: "m4", PartIDs: []string{"p5"}}})
	add(event.ContinueToNextStep{NextCheckpointID: "cp2"})
	step = 2
	add(event.StartGeneration{})
	add(event.CompleteRun{Usage: usage,
		NewMessage: &event.Message{ID: "m5", Type: event.ExpertMessage, Contents: []event.Part{text("p6", "Two errands: bread, and the plants.")}}})
	return events
}

func text(id, s string) event.Part { return event.Part{ID: id, Type: event.TextPart, Text: s} }

// Note returns an event that changes nothing, whose size can be chosen.
func Note(jobID string, n int, reason string) event.Event {
	return event.Event{ID: fmt.Sprintf("n%d", n), Timestamp: start + int64(n), JobID: jobID, RunID: "run1",
		ExpertKey: "reader", StepNumber: 1, Body: event.DefinitionChanged{Expert: "reader", Before: "a", After: reason}}
}

// Call returns an event with a tool call whose arguments are a text, within lists
// nested as deep as wanted. JSON decoders have a limit for that.
func Call(jobID string, n, depth int, argument string) event.Event {
	args, err := jsontext.AppendQuote(nil, argument)
	if err != nil {
		args = []byte(`"no text"`)
	}
	args = []byte(strings.Repeat("[", depth) + string(args) + strings.Repeat("]", depth))
	e := Note(jobID, n, "")
	e.Body = event.CallTools{
		NewMessage: &event.Message{ID: "m", Type: event.ExpertMessage, Contents: []event.Part{{ID: "p", Type: event.ToolCallPart,
			ToolCallID: "c", ToolName: "deep", Args: args}}},
		ToolCalls: []event.ToolCall{{ID: "c", SkillName: event.BaseSkill, ToolName: "deep"}},
	}
	return e
}
