package log

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/store"
)

// A story writes the journal of a job, as the engine would.
type story struct {
	t       *testing.T
	journal store.Journal
	job     string
	run     string
	expert  string
	step    int
	clock   time.Time
	ids     int
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func begin(t *testing.T, s store.Store, job, run, expert string, at time.Time) *story {
	t.Helper()
	journal, err := s.Open(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return &story{t: t, journal: journal, job: job, run: run, expert: expert, step: 1, clock: at}
}

func (s *story) end() {
	s.t.Helper()
	if err := s.journal.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// tell appends events, one a second.
func (s *story) tell(bodies ...event.Body) {
	s.t.Helper()
	for _, b := range bodies {
		s.ids++
		e := event.Event{ID: "e" + strconv.Itoa(s.ids), Timestamp: s.clock.UnixMilli(), JobID: s.job, RunID: s.run, Body: b}
		if !e.IsRuntime() {
			e.ExpertKey, e.StepNumber = s.expert, s.step
		}
		if _, err := s.journal.Append(context.Background(), e); err != nil {
			s.t.Fatal(err)
		}
		if _, ok := b.(event.ContinueToNextStep); ok {
			s.step++
		}
		s.clock = s.clock.Add(time.Second)
	}
}

func (s *story) start(query, checkpoint string, from *event.Origin) {
	s.t.Helper()
	body := event.StartRun{
		InputMessages: []*event.Message{}, CheckpointID: checkpoint, From: from,
		Expert: event.ExpertRef{Key: s.expert, Name: s.expert, Version: "1.0.0"},
		Model:  "replay", Spec: recorded(s.t, job.Spec{Version: "v0.1.0"}),
	}
	if query != "" {
		body.InputMessages = []*event.Message{say(event.InstructionMessage, "Be brief."), say(event.UserMessage, query)}
	}
	s.tell(body)
}

// recorded is a Spec as the journal has it.
func recorded(t *testing.T, spec job.Spec) rawjson.Value {
	t.Helper()
	text, err := spec.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func say(typ event.MessageType, text string) *event.Message {
	return &event.Message{ID: "m-" + string(typ), Type: typ, Contents: []event.Part{{ID: "p", Type: event.TextPart, Text: text}}}
}

func tool(id, skill, name string) event.ToolCall {
	return event.ToolCall{ID: id, SkillName: skill, ToolName: name}
}

// call is the turn in which the model makes calls, with the same arguments each.
func call(args string, calls ...event.ToolCall) event.CallTools {
	m := &event.Message{ID: "m-calls", Type: event.ExpertMessage}
	for _, c := range calls {
		m.Contents = append(m.Contents, event.Part{ID: "p-" + c.ID, Type: event.ToolCallPart, ToolCallID: c.ID, ToolName: c.ToolName, Args: rawjson.Value(args)})
	}
	return event.CallTools{NewMessage: m, ToolCalls: calls, Usage: event.Usage{InputTokens: 100, OutputTokens: 20, TotalTokens: 120, CachedInputTokens: 50, ReasoningTokens: 5}}
}

func (s *story) answer(c event.ToolCall, text string) {
	s.t.Helper()
	s.tell(event.StartToolCall{ToolCallID: c.ID}, event.EndToolCall{ToolResult: result(c, text)})
}

func result(c event.ToolCall, text string) event.ToolResult {
	return event.ToolResult{ID: c.ID, SkillName: c.SkillName, ToolName: c.ToolName,
		Result: []event.Part{{ID: "p", Type: event.TextPart, Text: text}}}
}

// tellLong writes a job that has everything: a retry, results good and bad, a question
// to the user and the answer, a completion, and a branch that fails.
func tellLong(t *testing.T, st store.Store) {
	t.Helper()
	s := begin(t, st, "longjob", "run1", "planner", noon)
	read, exec := tool("c1", event.BaseSkill, "readTextFile"), tool("c2", event.BaseSkill, "exec")
	s.start("Plan my week, please, and do not forget the dentist on Tuesday morning", "cp1", nil)
	s.tell(event.StartGeneration{},
		event.Retry{Reason: `{"error":"RateLimit","message":"slow down"}`, NewMessages: []*event.Message{}, Transport: true, DelayMS: 500},
		call(`{"path":"week.md"}`, read, exec))
	s.answer(read, "Monday: nothing\nTuesday: dentist\nWednesday: nothing")
	s.answer(exec, `{"error":"ExitError","message":"exit status 1"}`)
	s.tell(event.ResolveToolResults{}, event.FinishToolCall{ToolMessage: &event.ToolMessageRef{ID: "m-t1", PartIDs: []string{"p1", "p2"}}},
		event.ContinueToNextStep{NextCheckpointID: "cp2"})

	again, ask := tool("c3", event.BaseSkill, "readTextFile"), tool("c4", "user", "ask")
	s.tell(event.StartGeneration{}, call(`{"question":"Which day?"}`, again, ask))
	s.answer(again, "Error: no such file")
	s.tell(event.CallInteractiveTool{ToolCallID: "c4"}, event.StopRunByInteractiveTool{})

	s.step = 3
	s.clock = s.clock.Add(time.Hour)
	s.tell(event.StartRun{InputMessages: []*event.Message{}, CheckpointID: "cp3", Expert: event.ExpertRef{Key: "planner", Name: "planner", Version: "1.0.0"},
		From: &event.Origin{RunID: "run1", CheckpointID: "cp2", Seq: 17}, Answers: []event.ToolResult{result(ask, "Tuesday")}},
		event.FinishAllToolCalls{ToolMessage: &event.ToolMessageRef{ID: "m-t2", PartIDs: []string{"p1", "p2"}}},
		event.ContinueToNextStep{NextCheckpointID: "cp4"})

	done := tool("c5", event.BaseSkill, event.CompletionTool)
	s.tell(event.StartGeneration{}, call(`{}`, done))
	s.answer(done, "{}")
	s.tell(event.AttemptCompletion{}, event.CompleteRun{
		ToolMessage: &event.ToolMessageRef{ID: "m-t3", PartIDs: []string{"p1"}},
		NewMessage:  say(event.ExpertMessage, "Your week:\nthe dentist on Tuesday, nothing else. Enjoy the rest of it, and do not work too much."),
		Usage:       event.Usage{InputTokens: 200, OutputTokens: 30, TotalTokens: 230}})

	s.run, s.step = "run2", 2
	s.start("Another plan", "cp5", &event.Origin{RunID: "run1", CheckpointID: "cp1", Seq: 11})
	s.tell(event.DefinitionChanged{Expert: "planner", Before: "aaaaaaaaaaaaaaaaaaaa", After: "bbbbbbbbbbbbbbbbbbbb"},
		event.StartGeneration{},
		event.StopRunByError{Error: event.Failure{Name: "Unauthorized", Message: "the key was refused"}})
	s.end()
}

// tellBroken writes a job whose process dies while a tool runs.
func tellBroken(t *testing.T, st store.Store) *story {
	t.Helper()
	s := begin(t, st, "brokenjob", "run9", "@acme/builder", noon.Add(24*time.Hour))
	build, next := tool("c1", event.BaseSkill, "exec"), tool("c2", event.BaseSkill, "exec")
	s.start("Build it", "cp9", nil)
	s.tell(event.ProxyAccess{Action: "blocked", Domain: "example.com", Port: 443, Reason: "domain", Listener: "@acme/builder " + event.BaseSkill},
		event.SandboxCheck{Check: "gateway", OK: true, Message: "nobody answers there"},
		event.StartGeneration{}, call(`{"command":"make"}`, build, next), event.StartToolCall{ToolCallID: "c1"})
	return s
}
