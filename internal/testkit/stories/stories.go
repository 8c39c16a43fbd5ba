// Package stories makes up the events of jobs, for tests of programs that show them.
//
// The events are of every type. Some follow each other as the engine writes them, and some do not:
// a journal can come from another version, or from an enemy. Any text in them can be one that acts
// on a terminal. Start reading at [Draw].
package stories

import (
	"fmt"
	"reflect"

	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
)

// Hostile is text that acts on a terminal, if it gets there: colours, cursor movements, a title, a
// bell, marks that reverse lines, and a second line.
const Hostile = "a\x1b[31mred\x1b[2J\x1b]0;title\x07\u009b31m\x7f\x08\rover\u202e\u2066txt.exe\u2069\u200f\u061c\u2028\ufeff\tb\n● forged"

// Draw draws the events of a job, at least one. They have different ids and times that grow.
func Draw(t *rapid.T) (events []event.Event) {
	clock := int64(1_800_000_000_000)
	for range rapid.IntRange(1, 8).Draw(t, "parts") {
		run := runs.Draw(t, "run")
		var bodies []event.Body
		if rapid.Bool().Draw(t, "sound") {
			bodies = sound(t, run)
		} else {
			bodies = []event.Body{anything(t)}
		}
		for _, b := range bodies {
			clock += rapid.Int64Range(0, 3000).Draw(t, "pause")
			e := event.Event{ID: fmt.Sprintf("e%d", len(events)+1), JobID: "job", RunID: run, Timestamp: clock, Body: b}
			if !e.IsRuntime() {
				e.ExpertKey, e.StepNumber = texts.Draw(t, "expert"), rapid.IntRange(1, 3).Draw(t, "step")
			}
			if line, err := event.Marshal(e); err == nil { // else no journal can have it
				if _, err := event.Unmarshal(line); err == nil {
					events = append(events, e)
				}
			}
		}
	}
	if len(events) == 0 {
		events = []event.Event{{ID: "e1", JobID: "job", RunID: "A", ExpertKey: "lead", StepNumber: 1, Timestamp: clock, Body: event.StartGeneration{}}}
	}
	return events
}

var (
	runs = rapid.SampledFrom([]string{"A", "B", "C"})
	// texts are names that events refer to each other by, words that mean something in some member,
	// and hostile ones.
	texts = rapid.SampledFrom([]string{
		"", "c1", "c2", "c3", "A", "B", "cp1", "cp2", Hostile, Hostile, "two\nlines", "# Title\n\n- **bold** `code`\n", "日本 emoji 👩‍👩‍👧 wide",
		"exec", "readTextFile", "editTextFile", event.CompletionTool, event.BaseSkill, event.DelegateSkill + "writer",
		"blocked", "allowed", "error", "complete", "building", "steps", "tokens", "textPart", "userMessage", "expertMessage",
		`{"error":"it failed"}`, "Error: it failed", `{"stdout":"` + `\u001b[31m` + `","stderr":"x"}`,
	})
	parts     = rapid.SampledFrom([]event.PartType{event.TextPart, event.ThinkingPart, event.ToolCallPart, event.ToolResultPart, event.ProviderPart})
	roles     = rapid.SampledFrom([]event.MessageType{event.InstructionMessage, event.UserMessage, event.ExpertMessage, event.ToolMessage})
	arguments = rapid.SampledFrom([]string{
		`{}`, `[]`, `"text"`, `{"path":"a.txt"}`, `{"command":"make","args":["-C","\u001b[2J"],"cwd":"sub"}`,
		`{"query":"find it"}`, `{"question":"Which\u202e day?"}`, `{"path":"\u001b]0;t\u0007","text":"\u009b\nx","oldText":"a","newText":"b"}`,
	})
)

// sound draws what the engine would write: a start, a turn with calls, delegates, their return, or an
// end.
func sound(t *rapid.T, run string) []event.Body {
	say := func(role event.MessageType) *event.Message {
		return &event.Message{ID: "m", Type: role, Contents: []event.Part{{ID: "p", Type: event.TextPart, Text: texts.Draw(t, "said")}}}
	}
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		start := event.StartRun{CheckpointID: "cp" + run, InputMessages: []*event.Message{say(event.UserMessage)}, Expert: event.ExpertRef{Key: "lead"}, Model: "replay"}
		if from := runs.Draw(t, "from"); from != run && rapid.Bool().Draw(t, "branch") {
			start.From = &event.Origin{RunID: from, CheckpointID: "cp" + from}
		}
		return []event.Body{start, event.StartGeneration{}}
	case 1:
		turn := event.CallTools{NewMessage: say(event.ExpertMessage), Usage: event.Usage{InputTokens: 10, OutputTokens: 2, TotalTokens: 12}}
		var after []event.Body
		for i := range rapid.IntRange(1, 3).Draw(t, "calls") {
			c := event.ToolCall{ID: fmt.Sprint("c", i+1), SkillName: texts.Draw(t, "skill"), ToolName: texts.Draw(t, "tool"), Args: rawjson.Value(arguments.Draw(t, "arguments"))}
			turn.ToolCalls = append(turn.ToolCalls, c)
			turn.NewMessage.Contents = append(turn.NewMessage.Contents, event.Part{ID: "p", Type: event.ToolCallPart, ToolCallID: c.ID, ToolName: c.ToolName, Args: c.Args})
			after = append(after, event.StartToolCall{ToolCallID: c.ID})
			if rapid.Bool().Draw(t, "returns") {
				after = append(after, event.EndToolCall{ToolResult: event.ToolResult{ID: c.ID, SkillName: c.SkillName, ToolName: c.ToolName, IsError: rapid.Bool().Draw(t, "fails"),
					Result: []event.Part{{ID: "p", Type: event.TextPart, Text: texts.Draw(t, "result")}}}})
			}
		}
		return append(append([]event.Body{turn}, after...), event.ResolveToolResults{}, event.ContinueToNextStep{NextCheckpointID: "cp" + run + "2"})
	case 2:
		child := runs.Draw(t, "child")
		call := event.ToolCall{ID: "d1", SkillName: event.DelegateSkill + "writer", ToolName: "writer", Args: rawjson.Value(`{"query":"write it"}`)}
		return []event.Body{
			event.CallTools{NewMessage: say(event.ExpertMessage), ToolCalls: []event.ToolCall{call}},
			event.CallDelegate{ToolCalls: []event.ToolCall{call}, Delegates: []event.DelegateRun{{ToolCallID: "d1", RunID: child, Expert: event.ExpertRef{Key: texts.Draw(t, "delegate")}}}},
			event.StopRunByDelegate{},
		}
	case 3:
		return []event.Body{
			event.StartRun{CheckpointID: "cp" + run + "3", From: &event.Origin{RunID: run, CheckpointID: "cp" + run}, Answers: []event.ToolResult{{
				ID: "d1", SkillName: event.DelegateSkill + "writer", ToolName: "writer", IsError: rapid.Bool().Draw(t, "fails"),
				Result: []event.Part{{ID: "p", Type: event.TextPart, Text: texts.Draw(t, "answer")}},
			}}},
			event.FinishAllToolCalls{}, event.ContinueToNextStep{NextCheckpointID: "cp" + run + "4"},
		}
	}
	return []event.Body{event.CompleteRun{NewMessage: say(event.ExpertMessage)}}
}

// anything draws a body of any type, with any content.
func anything(t *rapid.T) event.Body {
	body := bodies.Draw(t, "type")
	v := reflect.New(body).Elem()
	fill(t, v, 0)
	return v.Interface().(event.Body)
}

// bodies are the types of bodies.
var bodies = rapid.Custom(func(t *rapid.T) reflect.Type {
	kind := rapid.SampledFrom(event.Types()).Draw(t, "type")
	return bodyOf(kind)
})

// bodyOf returns the type that the body of an event has.
func bodyOf(kind event.Type) reflect.Type {
	e, err := event.Unmarshal(fmt.Appendf(nil, `{"type":%q,"id":"e","expertKey":"x","timestamp":1,"jobId":"j","runId":"r","stepNumber":1}`, kind))
	if err != nil {
		panic(fmt.Sprintf("an event %s without members cannot be read: %v", kind, err))
	}
	return reflect.TypeOf(e.Body)
}

// maxLevels keeps values that contain values of their own type small.
const maxLevels = 6

// fill sets what can be set. What the type of a value does not tell stays zero.
func fill(t *rapid.T, v reflect.Value, level int) {
	if level > maxLevels || !v.CanSet() {
		return
	}
	if v.Type() == reflect.TypeFor[rawjson.Value]() {
		v.SetBytes([]byte(arguments.Draw(t, "json")))
		return
	}
	switch v.Type() {
	case reflect.TypeFor[event.PartType]():
		v.SetString(string(parts.Draw(t, "part")))
		return
	case reflect.TypeFor[event.MessageType]():
		v.SetString(string(roles.Draw(t, "role")))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts.Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(0, 3).Draw(t, "number"))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(0, 1).Draw(t, "fraction"))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "given") {
			p := reflect.New(v.Type().Elem())
			fill(t, p.Elem(), level+1)
			v.Set(p)
		}
	case reflect.Slice:
		all := reflect.MakeSlice(v.Type(), rapid.IntRange(0, 2).Draw(t, "length"), 2)
		for i := range all.Len() {
			fill(t, all.Index(i), level+1)
			if e := all.Index(i); e.Kind() == reflect.Pointer && e.IsNil() {
				e.Set(reflect.New(e.Type().Elem())) // lists have no holes
			}
		}
		v.Set(all)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Type != reflect.TypeFor[event.Extra]() {
				fill(t, v.Field(i), level+1)
			}
		}
	}
}
