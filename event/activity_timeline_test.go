package event

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// show renders activities as one line each: id, the one before, what it says.
func show(activities []Activity) []string {
	var lines []string
	for _, a := range activities {
		line := strings.TrimSpace(a.RunID + " " + a.ID)
		if a.PreviousActivityID != "" {
			line += " after " + a.PreviousActivityID
		}
		if a.DelegatedBy != nil {
			line += " for " + a.DelegatedBy.RunID
		}
		for _, s := range []string{a.Text, a.Path, a.DelegateExpertKey, a.Query, a.ToolName, string(a.Args), a.Reason, a.Error, a.Message} {
			if s != "" {
				line += " | " + s
			}
		}
		if a.Count > 0 {
			line += fmt.Sprintf(" | %d", a.Count)
		}
		if a.Reasoning != "" {
			line += " (" + a.Reasoning + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

// script applies bodies as the events of a Run, with ids e1, e2, and so on.
func script(tl *Timeline, run string, bodies ...Body) []Activity {
	var all []Activity
	for i, b := range bodies {
		all = append(all, tl.Apply(Event{ID: fmt.Sprintf("e%d", i+1), JobID: "j", RunID: run, ExpertKey: "lead", StepNumber: 1, Body: b})...)
	}
	return all
}

func wantLines(t *testing.T, got []Activity, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, show(got)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func userSays(text string) *Message {
	return &Message{Type: UserMessage, Contents: []Part{{Type: TextPart, Text: text}}}
}

func expertSays(thought, text string, calls ...ToolCall) *Message {
	m := &Message{Type: ExpertMessage}
	if thought != "" {
		m.Contents = append(m.Contents, Part{Type: ThinkingPart, Thinking: thought})
	}
	if text != "" {
		m.Contents = append(m.Contents, Part{Type: TextPart, Text: text})
	}
	for _, c := range calls {
		m.Contents = append(m.Contents, Part{Type: ToolCallPart, ToolCallID: c.ID, ToolName: c.ToolName, Args: c.Args})
	}
	return m
}

func lean(c ToolCall) ToolCall { c.Args = nil; return c }

func resultOf(c ToolCall, text string) ToolResult {
	return ToolResult{ID: c.ID, SkillName: c.SkillName, ToolName: c.ToolName, Result: []Part{{Type: TextPart, Text: text}}}
}

var (
	readCall = ToolCall{ID: "c1", SkillName: BaseSkill, ToolName: "readTextFile", Args: []byte(`{"path":"a.txt"}`)}
	hireCall = ToolCall{ID: "c2", SkillName: "@acme/finder", ToolName: "finder", Args: []byte(`{"query":"flights"}`)}
	hireAlso = ToolCall{ID: "c3", SkillName: "hotels", ToolName: "hotels", Args: []byte(`{"query":"rooms"}`)}
	askCall  = ToolCall{ID: "c4", SkillName: "user-io", ToolName: "askUser", Args: []byte(`{"q":"Budget?"}`)}
	doneCall = ToolCall{ID: "c5", SkillName: BaseSkill, ToolName: CompletionTool, Args: []byte(`{}`)}
)

func TestTimelineOfAJournal(t *testing.T) {
	var tl Timeline
	var all []Activity
	for line := range bytes.Lines(readFile(t, "testdata/journal.jsonl")) {
		e, err := Unmarshal(line)
		if err != nil {
			t.Fatal(err)
		}
		e.RunID = "r"
		e.ID = fmt.Sprintf("e%d", e.Timestamp%100)
		all = append(all, tl.Apply(e)...)
	}
	wantLines(t, all,
		"r query-r | Plan my trip",
		"r action-call_1 after query-r | dates.txt (First the dates.)",
		"r delegate-call_3 after action-call_1 | @acme/flight-finder@2.1.0 | Flights to Lisbon, May 3-9",
		"r delegation-complete-e8 after delegate-call_3 | 1",
		`r interactive-call_2 after delegation-complete-e8 | askUser | {"question":"Budget?"}`,
		"r answer-call_2 after interactive-call_2 | 500 EUR | askUser",
		`r retry-e15 after answer-call_2 | {"error":"RateLimitError","message":"busy"} | busy`,
		"r completion-r after retry-e15 | Your trip is planned. (First the dates.)",
	)
	if !tl.Complete() {
		t.Error("the job is not complete")
	}
}

// The same turn as it stands on standard output, Runs keeping their ids.
func TestTimelineOfFullOutput(t *testing.T) {
	var tl Timeline
	m := expertSays("Hm.", "", readCall, hireCall, askCall)
	read := resultOf(readCall, `{"content":"x"}`)
	text := "Done."
	all := script(&tl, "r",
		StartRun{InitialCheckpoint: &Checkpoint{Status: StatusInit}, InputMessages: []*Message{{Type: InstructionMessage}, userSays("Go"), userSays("second")}},
		StartGeneration{Messages: []*Message{}},
		CompleteStreamingReasoning{Text: "Hm."},
		CallTools{NewMessage: m, ToolCalls: []ToolCall{readCall, hireCall, askCall}},
		CallDelegate{NewMessage: m, ToolCalls: []ToolCall{hireCall}, Usage: &Usage{}},
		StopRunByDelegate{End: End{Checkpoint: &Checkpoint{
			DelegateTo:         []Delegation{{ToolCallID: "c2", Expert: ExpertRef{Key: "@acme/finder@1.0.0"}}},
			PartialToolResults: []ToolResult{read},
		}}},
		StartRun{InitialCheckpoint: &Checkpoint{Status: StatusStoppedByDelegate, RunID: "r"}},
		ResumeToolCalls{PendingToolCalls: []ToolCall{askCall}, PartialToolResults: []ToolResult{read, resultOf(hireCall, "TP1")}},
		CallInteractiveTool{NewMessage: m, ToolCall: &askCall},
		StopRunByInteractiveTool{End: End{Checkpoint: &Checkpoint{PartialToolResults: []ToolResult{read, resultOf(hireCall, "TP1")}}}},
		StartRun{InitialCheckpoint: &Checkpoint{Status: StatusStoppedByInteractiveTool, RunID: "r"}},
		FinishAllToolCalls{},
		ContinueToNextStep{End: End{Step: &Step{ToolCalls: []ToolCall{readCall, hireCall, askCall}, ToolResults: []ToolResult{read, resultOf(hireCall, "TP1"), resultOf(askCall, "500")}}}},
		StartGeneration{},
		CompleteRun{Text: &text},
	)
	wantLines(t, all,
		"r query-r | Go",
		"r action-c1 after query-r | a.txt (Hm.)",
		"r delegate-c2 after action-c1 | @acme/finder@1.0.0 | flights",
		"r delegation-complete-e8 after delegate-c2 | 1",
		`r interactive-c4 after delegation-complete-e8 | askUser | {"q":"Budget?"}`,
		"r completion-r after interactive-c4 | Done.",
	)
}

// Earlier releases give each stretch of a Run a new id.
func TestTimelineAcrossRunIDs(t *testing.T) {
	m := expertSays("Two at once.", "", hireCall, hireAlso)
	for name, initial := range map[string]*Checkpoint{
		"checkpoint with the old id":              {Status: StatusStoppedByDelegate, RunID: "r1"},
		"checkpoint with the new id and messages": {Status: StatusStoppedByDelegate, RunID: "r2", Messages: []*Message{m}},
	} {
		t.Run(name, func(t *testing.T) {
			var tl Timeline
			all := script(&tl, "r1",
				StartRun{InputMessages: []*Message{userSays("Go")}},
				CallTools{NewMessage: m, ToolCalls: []ToolCall{hireCall, hireAlso}},
				CallDelegate{NewMessage: m, ToolCalls: []ToolCall{hireCall, hireAlso}},
				StopRunByDelegate{})
			child := script(&tl, "kid",
				StartRun{InitialCheckpoint: &Checkpoint{Status: StatusInit, DelegatedBy: &Parent{RunID: "r1"}}, InputMessages: []*Message{userSays("flights")}},
				CompleteRun{NewMessage: expertSays("", "TP1")})
			if tl.Complete() {
				t.Error("a delegate's end is not the job's")
			}
			all = append(append(all, child...), script(&tl, "r2",
				StartRun{InitialCheckpoint: initial, InputMessages: []*Message{}},
				FinishAllToolCalls{},
				StartGeneration{},
				CompleteRun{NewMessage: expertSays("", "Done.")})...)
			wantLines(t, all,
				"r1 query-r1 | Go",
				"r1 delegate-c2 after query-r1 | @acme/finder | flights (Two at once.)",
				"r1 delegate-c3 after delegate-c2 | hotels | rooms (Two at once.)",
				"kid query-kid for r1 | flights",
				"kid completion-kid after query-kid for r1 | TP1",
				"r2 delegation-complete-e2 after delegate-c3 | 2",
				"r2 completion-r2 after delegation-complete-e2 | Done.",
			)
			if !tl.Complete() {
				t.Error("the job is not complete")
			}
			groups := GroupActivities(all)
			if len(groups) != 3 || groups[1].RunID != "kid" || groups[1].DelegatedBy.RunID != "r1" || len(groups[0].Activities) != 3 {
				t.Errorf("groups %+v", groups)
			}
		})
	}
}

func TestTimelineRules(t *testing.T) {
	done := resultOf(doneCall, "{}")
	read := resultOf(readCall, `{"error":"Error","message":"gone"}`)
	text := "Bye."
	tests := []struct {
		name   string
		bodies []Body
		want   []string
	}{
		{
			"a result shown by two events appears once",
			[]Body{
				CallTools{NewMessage: expertSays("", "", readCall), ToolCalls: []ToolCall{lean(readCall)}},
				EndToolCall{ToolResult: read},
				ResolveToolResults{ToolResults: []ToolResult{read}},
				ContinueToNextStep{End: End{Step: &Step{ToolResults: []ToolResult{read}}}},
			},
			[]string{"r action-c1 | a.txt | gone"},
		},
		{
			"a result without a call is nobody's",
			[]Body{ResolveToolResults{ToolResults: []ToolResult{read}}, EndToolCall{ToolResult: read}, CallInteractiveTool{ToolCallID: "x"}},
			nil,
		},
		{
			"an id that comes again is a new call",
			[]Body{
				CallTools{ToolCalls: []ToolCall{readCall}}, EndToolCall{ToolResult: read},
				CallTools{ToolCalls: []ToolCall{readCall}}, EndToolCall{ToolResult: read},
			},
			[]string{"r action-c1 | a.txt | gone", "r action-c1 after action-c1 | a.txt | gone"},
		},
		{
			"completion, and the reasoning of each generation with its own activity",
			[]Body{
				CallTools{NewMessage: expertSays("enough", ""), ToolCalls: []ToolCall{doneCall}},
				AttemptCompletion{ToolResult: &done},
				CompleteStreamingReasoning{Text: "sum up"},
				CompleteRun{Text: &text, Usage: Usage{}},
			},
			[]string{"r action-c5 (enough)", "r completion-r after action-c5 | Bye. (sum up)"},
		},
		{
			"completion with text: only the last event has the result",
			[]Body{
				CallTools{NewMessage: expertSays("enough", "Bye."), ToolCalls: []ToolCall{doneCall}},
				CompleteRun{Text: &text, End: End{Step: &Step{
					ToolResults: []ToolResult{done},
					NewMessages: []*Message{expertSays("enough", "Bye."), expertSays("", "Bye.")},
				}}},
			},
			[]string{"r action-c5 (enough)", "r completion-r after action-c5 | Bye."},
		},
		{
			"reasoning from the stored message of a full event",
			[]Body{CompleteRun{Text: &text, End: End{Step: &Step{NewMessages: []*Message{expertSays("deep", "Bye."), {Type: ToolMessage}}}}}},
			[]string{"r completion-r | Bye. (deep)"},
		},
		{
			"reasoning that only delegates shared does not stick to the next step",
			[]Body{
				CallTools{NewMessage: expertSays("old", ""), ToolCalls: []ToolCall{lean(hireCall)}},
				CallDelegate{ToolCalls: []ToolCall{lean(hireCall)}}, StopRunByDelegate{},
				StartRun{}, FinishAllToolCalls{}, StartGeneration{}, CompleteRun{NewMessage: expertSays("", "Bye.")},
			},
			[]string{
				"r delegate-c2 | @acme/finder (old)",
				"r delegation-complete-e5 after delegate-c2 | 1",
				"r completion-r after delegation-complete-e5 | Bye.",
			},
		},
		{
			"no more delegations to complete when none was made, or one is still open",
			[]Body{
				FinishAllToolCalls{},
				CallDelegate{ToolCalls: []ToolCall{hireCall}}, ResumeToolCalls{PendingToolCalls: []ToolCall{hireCall}},
				FinishAllToolCalls{}, FinishAllToolCalls{},
			},
			[]string{"r delegate-c2 | @acme/finder | flights", "r delegation-complete-e4 after delegate-c2 | 1"},
		},
		{
			"full output cut off after callDelegate shows the delegates with the next event",
			[]Body{
				CallDelegate{NewMessage: expertSays("", ""), ToolCalls: []ToolCall{hireCall}},
				StopRunByInterrupt{Reason: "SIGINT"},
			},
			[]string{"r delegate-c2 | @acme/finder | flights", "r stopped-e2 after delegate-c2 | interrupt | SIGINT"},
		},
		{
			"one query a Run, none for a tool message or an empty text",
			[]Body{
				StartRun{InputMessages: []*Message{{Type: ToolMessage}, {Type: UserMessage}}},
				StartRun{InputMessages: []*Message{{Type: ToolMessage}, userSays("a")}},
				StartRun{InputMessages: []*Message{userSays("b")}},
			},
			[]string{"r query-r | a"},
		},
		{
			"a new Run may ask where another waited",
			[]Body{StartRun{
				From:              &Origin{RunID: "before"},
				InitialCheckpoint: &Checkpoint{Status: StatusStoppedByInteractiveTool, RunID: "r"},
				InputMessages:     []*Message{{Type: ToolMessage}, userSays("something else")},
			}},
			[]string{"r query-r | something else"},
		},
		{
			"an older resumption does not",
			[]Body{StartRun{InitialCheckpoint: &Checkpoint{Status: StatusStoppedByInteractiveTool}, InputMessages: []*Message{userSays("answer")}}},
			nil,
		},
		{
			"ends",
			[]Body{
				StopRunByError{Error: Failure{Name: "RateLimitError", Message: "too many"}},
				StopRunByLimit{Limit: LimitCost},
				StopRunByExceededMaxSteps{},
				StopRunByInteractiveTool{},
			},
			[]string{"r error-e1 | too many", "r stopped-e2 after error-e1 | limit | cost", "r stopped-e3 after stopped-e2 | maxSteps"},
		},
		{
			"one completion a Run",
			[]Body{CompleteRun{NewMessage: expertSays("", "a")}, CompleteRun{NewMessage: expertSays("", "b")}},
			[]string{"r completion-r | a"},
		},
		{
			"events that nobody sees",
			[]Body{StreamReasoning{Delta: "x"}, InitializeRuntime{Query: "q"}, SkillStderr{}, StartToolCall{}, FinishToolCall{}, LimitWarning{}, nil},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantLines(t, script(new(Timeline), "r", tt.bodies...), tt.want...)
		})
	}
}

// Parallel Runs may use the same call ids, and their reasoning is their own.
func TestTimelineKeepsRunsApart(t *testing.T) {
	var tl Timeline
	other := readCall
	other.Args = []byte(`{"path":"b.txt"}`)
	apply := func(run string, b Body) []Activity { return tl.Apply(Event{RunID: run, Body: b}) }
	apply("a", CallTools{NewMessage: expertSays("mine", ""), ToolCalls: []ToolCall{readCall}})
	apply("b", CallTools{ToolCalls: []ToolCall{other}})
	got := append(apply("b", EndToolCall{ToolResult: resultOf(other, "{}")}), apply("a", EndToolCall{ToolResult: resultOf(readCall, "{}")})...)
	wantLines(t, got, "b action-c1 | b.txt", "a action-c1 | a.txt (mine)")
}

func TestTimelineCompleteIsReopened(t *testing.T) {
	var tl Timeline
	script(&tl, "r", StartRun{}, CompleteRun{})
	if !tl.Complete() {
		t.Error("completed, but not complete")
	}
	script(&tl, "kid", StartRun{DelegatedBy: &Parent{RunID: "r"}})
	if !tl.Complete() {
		t.Error("a delegate reopened the job")
	}
	script(&tl, "s", StartRun{})
	if tl.Complete() {
		t.Error("complete, though it was continued")
	}
	script(&tl, "s", StopRunByInteractiveTool{})
	if tl.Complete() {
		t.Error("complete, though it waits")
	}
}

func TestActivityHead(t *testing.T) {
	a := Activity{
		Type: ActivityDelegate, ID: "i", ExpertKey: "k", RunID: "r", PreviousActivityID: "p",
		DelegatedBy: &ActivityParent{ExpertKey: "pk", RunID: "pr"}, Reasoning: "why", DelegateExpertKey: "d", Query: "q",
	}
	want := strings.NewReplacer("\n", "", "\t", "").Replace(`{"type":"delegate","id":"i","expertKey":"k","runId":"r","previousActivityId":"p",
		"delegatedBy":{"expertKey":"pk","runId":"pr"},"reasoning":"why","delegateExpertKey":"d","query":"q"}`)
	if got := string(mustMarshal(t, a)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
