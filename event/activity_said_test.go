package event

import "testing"

const unknown = UnknownOutcome

func TestRemarks(t *testing.T) {
	done, open := resultOf(doneCall, "{}"), resultOf(doneCall, `{"remainingTodos":[{"id":1}]}`)
	read := resultOf(readCall, "{}")
	bye, other := "Bye.", "Something else."
	tests := []struct {
		name   string
		bodies []Body
		want   []string
	}{
		{
			"what is said with calls, before their results",
			[]Body{
				CallTools{NewMessage: expertSays("hm", "Let me look.\n", readCall), ToolCalls: []ToolCall{lean(readCall)}},
				EndToolCall{ToolResult: read}, ResolveToolResults{},
			},
			[]string{"r remark-e1 | Let me look. (hm)", "r action-c1 after remark-e1 | a.txt"},
		},
		{
			"what is said with delegates",
			[]Body{
				CallTools{NewMessage: expertSays("", "Others know.", hireCall), ToolCalls: []ToolCall{lean(hireCall)}},
				CallDelegate{ToolCalls: []ToolCall{lean(hireCall)}},
			},
			[]string{"r remark-e1 | Others know.", "r delegate-c2 after remark-e1 | @acme/finder | flights"},
		},
		{
			"beside a completion it is the answer",
			[]Body{
				CallTools{NewMessage: expertSays("", " Bye.", doneCall), ToolCalls: []ToolCall{lean(doneCall)}},
				EndToolCall{ToolResult: done}, CompleteRun{NewMessage: expertSays("", "Bye.")},
			},
			[]string{"r action-c5", "r completion-r after action-c5 | Bye."},
		},
		{
			"unless the completion is refused",
			[]Body{
				CallTools{NewMessage: expertSays("", "Bye.", doneCall), ToolCalls: []ToolCall{lean(doneCall)}},
				EndToolCall{ToolResult: open}, ResolveToolResults{},
			},
			[]string{"r remark-e2 | Bye.", "r action-c5 after remark-e2"},
		},
		{
			"or the answer is another",
			[]Body{
				CallTools{NewMessage: expertSays("", "Bye.", doneCall), ToolCalls: []ToolCall{lean(doneCall)}},
				AttemptCompletion{ToolResult: &done}, CompleteRun{Text: &other},
			},
			[]string{"r remark-e2 | Bye.", "r action-c5 after remark-e2", "r completion-r after action-c5 | Something else."},
		},
		{
			"or the Run ends before",
			[]Body{
				CallTools{NewMessage: expertSays("", "Bye.", doneCall), ToolCalls: []ToolCall{lean(doneCall)}},
				StopRunByInterrupt{Reason: "SIGINT"},
			},
			[]string{"r remark-e2 | Bye.", "r stopped-e2 after remark-e2 | interrupt | SIGINT"},
		},
		{"an answer without calls is none", []Body{CompleteRun{Text: &bye}}, []string{"r completion-r | Bye."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantLines(t, script(new(Timeline), "r", tt.bodies...), tt.want...)
		})
	}
}

func TestAnswersOfTheUser(t *testing.T) {
	from := &Origin{RunID: "r", CheckpointID: "cp"}
	answered := []ToolResult{resultOf(askCall, "500")}
	returned := []ToolResult{resultOf(hireCall, "TP1")}
	tests := []struct {
		name   string
		bodies []Body
		want   []string
	}{
		{
			"in a process that did not see the question",
			[]Body{
				StartRun{From: from, Answers: answered}, FinishAllToolCalls{},
				ContinueToNextStep{End: End{Step: &Step{ToolResults: answered}}},
			},
			[]string{"r answer-c4 | 500 | askUser"},
		},
		{
			"after the question",
			[]Body{
				CallTools{ToolCalls: []ToolCall{askCall}}, CallInteractiveTool{ToolCallID: "c4"}, StopRunByInteractiveTool{},
				StartRun{From: from, Answers: answered},
			},
			[]string{`r interactive-c4 | askUser | {"q":"Budget?"}`, "r answer-c4 after interactive-c4 | 500 | askUser"},
		},
		{
			"a delegate's answer is not the user's",
			[]Body{
				CallTools{ToolCalls: []ToolCall{hireCall}}, CallDelegate{ToolCalls: []ToolCall{hireCall}}, StopRunByDelegate{},
				StartRun{From: from, Answers: returned}, FinishAllToolCalls{},
			},
			[]string{"r delegate-c2 | @acme/finder | flights", "r delegation-complete-e5 after delegate-c2 | 1"},
		},
		{
			"nor is it in full output",
			[]Body{StartRun{From: from, Answers: returned, InitialCheckpoint: &Checkpoint{Status: StatusStoppedByDelegate}}},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantLines(t, script(new(Timeline), "r", tt.bodies...), tt.want...)
		})
	}
}

func TestCallsThatACrashCutOff(t *testing.T) {
	from := &Origin{RunID: "r", CheckpointID: "cp"}
	exec := ToolCall{ID: "c9", SkillName: BaseSkill, ToolName: "exec", Args: []byte(`{"command":"make"}`)}
	lost := EndToolCall{ToolResult: resultOf(exec, unknown)}
	initial := &Checkpoint{
		Status: StatusStoppedByInterrupt, PendingToolCalls: []ToolCall{lean(exec)},
		Messages: []*Message{userSays("go"), expertSays("", "", exec), {Type: ToolMessage}},
	}
	settled := &Message{Type: ToolMessage, Contents: []Part{
		{Type: ToolResultPart, ToolCallID: "c8", ToolName: "readTextFile", Contents: []Part{{Type: TextPart, Text: "{}"}}},
		{Type: ToolResultPart, ToolCallID: "c9", ToolName: "exec", Contents: resultOf(exec, unknown).Result},
	}}
	tests := []struct {
		name    string
		bodies  []Body
		want    string
		command string
	}{
		{"resumed, lean", []Body{StartRun{From: from}, ResumeToolCalls{}, lost, lost}, "r action-c9 | " + unknown, ""},
		{"resumed, full", []Body{StartRun{From: from, InitialCheckpoint: initial}, lost}, "r action-c9 | " + unknown, "make"},
		{"overtaken by a query", []Body{StartRun{From: from, InputMessages: []*Message{settled}}}, "r action-c9 | exec | {} | " + unknown, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := script(new(Timeline), "r", tt.bodies...)
			wantLines(t, got, tt.want)
			if len(got) == 1 && (!got[0].HasUnknownOutcome() || got[0].Command != tt.command) {
				t.Errorf("unknown outcome %t, command %q, want %q", got[0].HasUnknownOutcome(), got[0].Command, tt.command)
			}
		})
	}
	if (Activity{Error: "Error: no such file"}).HasUnknownOutcome() {
		t.Error("a failure is no unknown outcome")
	}
}

func TestPending(t *testing.T) {
	var tl Timeline
	script(&tl, "r",
		StartRun{DelegatedBy: &Parent{RunID: "p", Expert: ExpertRef{Key: "boss"}}},
		CallTools{NewMessage: expertSays("", "", readCall), ToolCalls: []ToolCall{lean(readCall)}})
	a, ok := tl.Pending("r", "c1")
	if !ok || a.Type != ActivityReadTextFile || a.Path != "a.txt" || a.RunID != "r" || a.ExpertKey != "lead" || a.DelegatedBy.ExpertKey != "boss" || a.Error != "" {
		t.Errorf("pending = %+v, %t", a, ok)
	}
	script(&tl, "r", EndToolCall{ToolResult: resultOf(readCall, "{}")})
	for _, id := range []string{"c1", "none"} {
		if a, ok := tl.Pending("r", id); ok {
			t.Errorf("%s is pending: %+v", id, a)
		}
	}
	if _, ok := tl.Pending("none", "c1"); ok || tl.Head("none").RunID != "none" {
		t.Error("a Run that was never seen has a call")
	}
}
