package event

import (
	"testing"
	"time"
)

func TestPredicates(t *testing.T) {
	type want struct{ runtime, kept, recordOnly, terminal bool }
	state := want{kept: true}
	tests := map[want][]Body{
		state: {
			StartRun{}, StartGeneration{}, ResumeToolCalls{}, FinishAllToolCalls{}, CallTools{}, CallDelegate{},
			CallInteractiveTool{}, ResolveToolResults{}, AttemptCompletion{}, FinishToolCall{}, Retry{}, ContinueToNextStep{},
			LimitWarning{}, DefinitionChanged{}, RuntimeNote{}, ApprovalRequested{}, ApprovalAnswered{}, PlanAccepted{},
		},
		{kept: true, terminal: true}: {
			CompleteRun{}, StopRunByInteractiveTool{}, StopRunByDelegate{}, StopRunByExceededMaxSteps{}, StopRunByError{},
			StopRunByLimit{}, StopRunByInterrupt{}, StopRunByApproval{},
		},
		{kept: true, recordOnly: true}: {StartToolCall{}, EndToolCall{}},
		{}: {
			StartStreamingReasoning{}, StreamReasoning{}, CompleteStreamingReasoning{},
			StartStreamingRunResult{}, StreamRunResult{}, CompleteStreamingRunResult{},
			StartStreamingText{}, StreamText{}, CompleteStreamingText{},
		},
		{runtime: true}: {
			InitializeRuntime{}, SkillStarting{}, SkillConnected{}, SkillStderr{}, SkillDisconnected{}, ToolProgress{},
		},
		{runtime: true, kept: true}: {DockerBuildProgress{}, DockerContainerStatus{}, ProxyAccess{}, SandboxCheck{}, SandboxHint{},
			WorkspaceSnapshot{}, FilesRestoreStarted{}, FilesRestored{}, Rewound{}},
	}
	seen := make(map[Type]bool)
	for w, bodies := range tests {
		for _, b := range bodies {
			e := Event{Body: b}
			seen[e.Type()] = true
			if got := (want{e.IsRuntime(), e.IsKept(), e.IsRecordOnly(), e.IsTerminal()}); got != w {
				t.Errorf("%s: got %+v, want %+v", e.Type(), got, w)
			}
		}
	}
	for name := range kindsByName {
		if !seen[name] {
			t.Errorf("%s is in no row of this table", name)
		}
	}
}

// Full and lean are told apart by a program that reads output: a RunEvent has an
// Expert and a step, even at step 0; a RuntimeEvent has neither.
func TestFamiliesShowInJSON(t *testing.T) {
	for name, c := range kindsByName {
		e, err := c.decode([]byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		data, err := Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		m := parseMembers(data)
		_, hasExpert := m["expertKey"]
		_, hasStep := m["stepNumber"]
		if hasExpert == e.IsRuntime() || hasStep == e.IsRuntime() {
			t.Errorf("%s: %s", name, data)
		}
	}
}

func TestEndStatus(t *testing.T) {
	tests := map[Status]Body{
		StatusCompleted:                 CompleteRun{},
		StatusStoppedByInteractiveTool:  StopRunByInteractiveTool{},
		StatusStoppedByDelegate:         StopRunByDelegate{},
		StatusStoppedByExceededMaxSteps: StopRunByExceededMaxSteps{},
		StatusStoppedByError:            StopRunByError{},
		StatusStoppedByLimit:            StopRunByLimit{},
		StatusStoppedByInterrupt:        StopRunByInterrupt{},
		StatusStoppedByApproval:         StopRunByApproval{},
	}
	for want, b := range tests {
		if got, ok := (Event{Body: b}).EndStatus(); !ok || got != want {
			t.Errorf("%s: got %q, %v", want, got, ok)
		}
	}
}

func TestTime(t *testing.T) {
	e := Event{Timestamp: 1767000000123}
	if got := e.Time().Format(time.RFC3339Nano); got != "2025-12-29T09:20:00.123Z" {
		t.Error(got)
	}
}

func TestMessageTexts(t *testing.T) {
	m := &Message{Contents: []Part{
		{Type: ThinkingPart, Thinking: "one"},
		{Type: ThinkingPart},
		{Type: TextPart, Text: "answer"},
		{Type: ThinkingPart, Thinking: "two"},
		{Type: TextPart, Text: "more"},
	}}
	if m.Text() != "answer" || m.Thinking() != "one\n\ntwo" {
		t.Errorf("got %q and %q", m.Text(), m.Thinking())
	}
	m.Type = ExpertMessage // a model may write a sentence in pieces
	if m.Text() != "answermore" {
		t.Errorf("got %q", m.Text())
	}
	var none *Message
	if none.Text() != "" || none.Thinking() != "" {
		t.Error("a missing message has no text")
	}
}
