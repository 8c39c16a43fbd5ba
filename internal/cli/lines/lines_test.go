package lines

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
)

func at(run, expert string, body event.Body) event.Event {
	return event.Event{ID: "e", JobID: "job1", RunID: run, ExpertKey: expert, StepNumber: 1, Body: body}
}

func message(typ event.MessageType, parts ...event.Part) *event.Message {
	return &event.Message{ID: "m", Type: typ, Contents: parts}
}

func text(s string) event.Part { return event.Part{ID: "p", Type: event.TextPart, Text: s} }

// call returns the events of a turn with one call and its result.
func call(run, expert, skill, tool, args, result string) []event.Event {
	c := event.ToolCall{ID: "c-" + tool, SkillName: skill, ToolName: tool}
	return []event.Event{
		at(run, expert, event.StartGeneration{}),
		at(run, expert, event.CallTools{
			NewMessage: message(event.ExpertMessage,
				event.Part{Type: event.ThinkingPart, Thinking: "I should use " + tool},
				event.Part{Type: event.ToolCallPart, ToolCallID: c.ID, ToolName: tool, Args: rawjson.Value(args)}),
			ToolCalls: []event.ToolCall{c},
		}),
		at(run, expert, event.StartToolCall{ToolCallID: c.ID}),
		at(run, expert, event.EndToolCall{ToolResult: event.ToolResult{
			ID: c.ID, SkillName: skill, ToolName: tool, Result: []event.Part{text(result)}}}),
	}
}

// lifeOfAJob is the life of a job with a delegate, in lean events.
func lifeOfAJob() []event.Event {
	query := func(s string) []*event.Message {
		return []*event.Message{message(event.UserMessage, text(s))}
	}
	delegate := event.ToolCall{ID: "d1", SkillName: "writer", ToolName: "writer", Args: rawjson.Value(`{"query":"write it"}`)}
	parent := &event.Parent{Expert: event.ExpertRef{Key: "lead"}, RunID: "r1"}
	events := []event.Event{
		{JobID: "job1", RunID: "r1", Body: event.InitializeRuntime{ExpertName: "lead", Model: "replay"}},
		{JobID: "job1", RunID: "r1", Body: event.SkillConnected{SkillName: "@perstack/base"}},
		at("r1", "lead", event.StartRun{InputMessages: query("ship it")}),
	}
	events = append(events, call("r1", "lead", event.BaseSkill, "readTextFile", `{"path":"plan.md"}`, `{"content":"plan"}`)...)
	events = append(events,
		at("r1", "lead", event.LimitWarning{Limit: "tokens", Used: 80, Max: 100}),
		at("r1", "lead", event.CallTools{ToolCalls: []event.ToolCall{delegate}}),
		at("r1", "lead", event.CallDelegate{Delegates: []event.DelegateRun{{ToolCallID: "d1", RunID: "r2", Expert: event.ExpertRef{Key: "writer"}}}}),
		at("r1", "lead", event.StopRunByDelegate{}),
		event.Event{JobID: "job1", RunID: "r2", Body: event.InitializeRuntime{ExpertName: "writer", Model: "replay"}},
		at("r2", "writer", event.StartRun{InputMessages: query("write it"), DelegatedBy: parent}),
	)
	events = append(events, call("r2", "writer", event.BaseSkill, "writeTextFile", `{"path":"a.md","text":"hello"}`, `{}`)...)
	return append(events,
		event.Event{JobID: "job1", RunID: "r2", Body: event.ProxyAccess{Action: "blocked", Domain: "example.com", Port: 443, Reason: "domain", Listener: "writer " + event.BaseSkill}},
		event.Event{JobID: "job1", RunID: "r2", Body: event.ProxyAccess{Action: "allowed", Domain: "ok.example", Port: 443, Listener: "engine"}},
		at("r2", "writer", event.CompleteRun{NewMessage: message(event.ExpertMessage, text("1\n2\n3\n4\n5\n6"))}),
		at("r1", "lead", event.FinishAllToolCalls{}),
		at("r1", "lead", event.Retry{Reason: `{"error":"Busy","message":"the provider is busy"}`}),
		at("r1", "lead", event.CompleteRun{NewMessage: message(event.ExpertMessage, text("All\ndone,\nin\nmore\nthan\nfour lines."))}),
		event.Event{JobID: "job1", RunID: "r1", Body: event.SkillDisconnected{SkillName: "@perstack/base"}},
	)
}

func TestRun(t *testing.T) {
	for name, opts := range map[string]Options{
		"run.golden":         {},
		"run.colour.golden":  {Color: true},
		"run.verbose.golden": {Verbose: true},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := New(&out, opts)
			for _, e := range lifeOfAJob() {
				if err := p.Emit(e); err != nil {
					t.Fatal(err)
				}
			}
			golden(t, name, out.String())
		})
	}
}

// hostile holds the ways in which text can act on a terminal.
const hostile = "a\x1b[31mred\x1b[2J\x1b]0;title\x07\x1b]8;;http://evil\x1b\\link\x1bPq\x1b\\" +
	"\u009b31m\u009d0;t\u009c\x7f\x08\x08\rover\u202e\u2066txt.exe\u2069\u200f\u061c\u2028\ufeff\xff\xc2\n\x1b[1A● Result\n  └ forged"

func TestHostileText(t *testing.T) {
	events := hostileEvents()
	for _, opts := range []Options{{}, {Verbose: true}, {Verbose: true, Width: 30}, {Record: true}, {Record: true, Whole: true, Width: 30}} {
		var out bytes.Buffer
		p := New(&out, opts)
		for _, e := range events {
			if err := p.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
		checkHarmless(t, out.String())
	}
}

func checkHarmless(t *testing.T, out string) {
	t.Helper()
	if !strings.Contains(out, "over") {
		t.Fatal("the text is missing altogether")
	}
	for i, r := range out {
		if r != '\n' && (unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || strings.ContainsRune("\u2028\u2029\ufeff", r)) {
			t.Fatalf("%U reached the output: %q", r, out[max(0, i-40):min(len(out), i+40)])
		}
	}
	for l := range strings.Lines(out) {
		if strings.HasPrefix(l, "● Result") && l != "● Result\n" {
			t.Errorf("a forged row: %q", l)
		}
		if strings.HasPrefix(l, "  └ forged") {
			t.Errorf("a body left its indentation: %q", l)
		}
	}
}

func hostileEvents() []event.Event {
	quoted, _ := jsontext.AppendQuote(nil, hostile)
	args := `{"path":` + string(quoted) + `,"text":` + string(quoted) + `}`
	in := []*event.Message{message(event.UserMessage, text(hostile))}
	events := []event.Event{
		{JobID: "j" + hostile, RunID: "r", Body: event.InitializeRuntime{ExpertName: hostile, Model: hostile}},
		at("r", hostile, event.StartRun{InputMessages: in, DelegatedBy: &event.Parent{Expert: event.ExpertRef{Key: hostile}}}),
		at("r", hostile, event.CompleteStreamingReasoning{Text: hostile}),
		at("r", hostile, event.Retry{Reason: hostile}),
		at("r", hostile, event.DefinitionChanged{Expert: hostile}),
		at("r", hostile, event.LimitWarning{Limit: hostile}),
		at("r", hostile, event.StopRunByError{Error: event.Failure{Name: hostile, Message: hostile}}),
		at("r", hostile, event.StopRunByInterrupt{Reason: hostile}),
		at("r", hostile, event.StopRunByLimit{Limit: hostile}),
		{Body: event.SkillStarting{SkillName: hostile, Command: hostile, Args: []string{hostile}}},
		{Body: event.SkillConnected{SkillName: hostile}},
		{Body: event.SkillStderr{SkillName: hostile, Message: hostile}},
		{Body: event.ToolProgress{ToolCallID: hostile, Message: hostile}},
		{Body: event.DockerBuildProgress{Stage: hostile, Service: hostile, Message: hostile}},
		{Body: event.DockerContainerStatus{Status: hostile, Service: hostile, Message: hostile}},
		{Body: event.DockerBuildProgress{Stage: "complete", Service: hostile, Message: hostile}},
		{Body: event.DockerBuildProgress{Stage: "error", Service: hostile, Message: hostile}},
		{Body: event.DockerContainerStatus{Status: "error", Service: hostile, Message: hostile}},
		{Body: event.ProxyAccess{Action: hostile, Domain: hostile, Reason: hostile, Command: hostile}},
		{Body: event.SandboxHint{Kind: "outside", Path: "/" + hostile + "/x", SkillName: hostile, Command: hostile, Message: hostile}},
		{Body: event.SandboxHint{Kind: "network", Host: hostile, Command: hostile, Message: hostile}},
		{Body: event.ProxyAccess{Action: "allowed", Domain: hostile, Listener: hostile}},
		{Body: event.ProxyAccess{Action: "blocked", Domain: hostile, Reason: "domain", Listener: hostile + " " + hostile}},
		{Body: event.SandboxCheck{Check: hostile, Message: hostile}},
		{Body: event.SandboxCheck{Check: hostile, Message: hostile, OK: true}},
	}
	for _, tool := range []string{"writeTextFile", "readTextFile", "other"} {
		events = append(events, call("r3", hostile, event.BaseSkill, tool, args, hostile)...)
	}
	events = append(events, call("r3", hostile, hostile, hostile, hostile, hostile)...)
	events = append(events, call("r3", hostile, event.BaseSkill, "exec", `{"command":`+string(quoted)+`}`, `{"error":"x","stderr":`+string(quoted)+`}`)...)
	events = append(events, hostileCalls()...)
	events = append(events, at("r3", hostile, event.StartRun{Answers: []event.ToolResult{{ID: "a", ToolName: hostile, Result: []event.Part{text(hostile)}}}}))
	return append(events, at("r3", "x", event.CompleteRun{NewMessage: message(event.ExpertMessage, text(hostile))}))
}

// hostileCalls has each tool of the base skill, with every text of its arguments and of its
// result hostile, once with success and once with a failure.
func hostileCalls() []event.Event {
	texts := []string{hostile}
	args := marshalHostile(object{"path": hostile, "text": hostile, "oldText": hostile, "newText": hostile, "source": hostile, "destination": hostile,
		"command": hostile, "args": texts, "cwd": hostile, "newTodos": texts, "completedTodos": []int{1}, "thought": hostile})
	result := object{"content": hostile, "output": hostile, "stdout": hostile, "stderr": hostile, "todos": []object{{"id": 1, "title": hostile}},
		"items": []object{{"name": hostile, "type": hostile}}}
	var events []event.Event
	for _, s := range sights {
		tool := s.name
		events = append(events, call("r4", hostile, event.BaseSkill, tool, args, marshalHostile(result))...)
		events = append(events, call("r4", hostile, event.BaseSkill, tool, args, hostile)...)
		events = append(events, call("r4", hostile, event.BaseSkill, tool, args, marshalHostile(object{"error": hostile, "message": hostile, "stderr": hostile}))...)
		events = append(events, call("r4", hostile, event.BaseSkill, tool, hostile, lost+hostile)...)
	}
	q := event.ToolCall{ID: "q", SkillName: hostile, ToolName: hostile, Args: rawjson.Value(marshalHostile(object{hostile: hostile}))}
	return append(events, at("r4", hostile, turn(hostile, hostile, q)), at("r4", hostile, event.CallInteractiveTool{ToolCallID: "q"}),
		at("r4", hostile, event.CallDelegate{Delegates: []event.DelegateRun{{ToolCallID: "d", RunID: hostile, Expert: event.ExpertRef{Key: hostile}, Query: hostile,
			From: &event.Origin{RunID: hostile, CheckpointID: hostile}}}}),
		at("r4", hostile, event.StartRun{Answers: []event.ToolResult{{ID: "d", SkillName: event.DelegateSkill + hostile, ToolName: hostile, Result: []event.Part{text(hostile)}}}}))
}

func marshalHostile(v any) string {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err)
	}
	return string(data)
}

// Whatever an event holds, of whatever type, nothing in it acts on a terminal.
func TestNoEventActsOnTheTerminal(t *testing.T) {
	for _, opts := range []Options{{}, {Verbose: true}, {Width: 30}, {Record: true}, {Record: true, Whole: true}} {
		var out bytes.Buffer
		p := New(&out, opts)
		for _, name := range event.Types() {
			e, err := event.Unmarshal([]byte(`{"type":"` + string(name) + `"}`))
			if err != nil {
				t.Fatal(err)
			}
			body := reflect.New(reflect.TypeOf(e.Body)).Elem()
			makeHostile(body, 6)
			e.ID, e.JobID, e.RunID, e.ExpertKey, e.Body = hostile, hostile, hostile, hostile, body.Interface().(event.Body)
			if err := p.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
		checkHarmless(t, out.String())
	}
}

// makeHostile makes every text in v hostile, down to some depth.
func makeHostile(v reflect.Value, depth int) {
	if depth == 0 {
		return
	}
	switch v.Interface().(type) {
	case rawjson.Value:
		v.SetBytes([]byte(marshalHostile(object{"query": hostile, "command": hostile, hostile: hostile})))
		return
	case event.PartType:
		v.SetString(string(event.TextPart))
		return
	case event.MessageType:
		v.SetString(string(event.UserMessage))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Struct:
		for i := range v.NumField() {
			makeHostile(v.Field(i), depth)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		makeHostile(v.Elem(), depth-1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		makeHostile(v.Index(0), depth-1)
	}
}

type closed struct{ err error }

func (c closed) Write([]byte) (int, error) { return 0, c.err }

func TestWriteErrorStops(t *testing.T) {
	gone := errors.New("terminal is gone")
	p := New(closed{gone}, Options{})
	if err := p.Emit(at("r", "x", event.StartGeneration{})); err != nil {
		t.Errorf("an event without a row was written: %v", err)
	}
	e := at("r", "x", event.StartRun{InputMessages: []*event.Message{message(event.UserMessage, text("q"))}})
	if err := p.Emit(e); !errors.Is(err, gone) {
		t.Errorf("Emit = %v, want %v", err, gone)
	}
}

// A secret that a model wrote is hidden before text is wrapped or cut: not even half of
// it is seen, nor one that a control character stood in.
func TestSecretsAreNotShown(t *testing.T) {
	const key = "canary-secret-of-some-length"
	redact := func(text string) string { return strings.ReplaceAll(text, key, "[hidden]") }
	for _, width := range []int{0, 12, 20, 80} {
		var out bytes.Buffer
		p := New(&out, Options{Width: width, Redact: redact})
		events := call("r1", "lead", "skill", "tool", `{"key":"`+key+`"}`, "it is "+key)
		for _, before := range []int{10, 20, 40, 75, 95, unknownWidth - 25, unknownWidth - 5, maxCommand - 5} { // cut in the middle of it
			events = append(events, call("r1", "lead", "skill", "tool", `{"x":"`+strings.Repeat("x", before)+key+`"}`, "no")...)
			events = append(events, call("r1", "lead", event.BaseSkill, "exec", `{"command":"`+strings.Repeat("x", before)+key+`"}`, "{}")...)
		}
		events = append(events, at("r1", "lead", event.CompleteRun{NewMessage: message(event.ExpertMessage, text("The key is "+key[:9]+"\x1b[0m"+key[9:]+"."))}))
		for _, e := range events {
			if err := p.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
		got := strings.Join(strings.Fields(out.String()), "")
		if strings.Contains(got, key[:9]) || !strings.Contains(got, "[hidden]") {
			t.Errorf("width %d: %s", width, out.String())
		}
	}
}
