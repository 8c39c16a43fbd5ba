package event

import "testing"

func TestFromCheckpoint(t *testing.T) {
	read := resultOf(readCall, `{"content":"x"}`)
	mixed := []*Message{expertSays("one", ""), expertSays("two", "", readCall, askCall)}
	tests := []struct {
		name string
		cp   Checkpoint
		step Step
		want []string
	}{
		{
			"completed",
			Checkpoint{Status: StatusCompleted},
			Step{NewMessages: []*Message{expertSays("", "Let me."), expertSays("sum", "Done."), {Type: ToolMessage}}, ToolCalls: []ToolCall{readCall}, ToolResults: []ToolResult{read}},
			[]string{"complete | Done. (sum)"},
		},
		{"completed without a message", Checkpoint{Status: StatusCompleted}, Step{}, []string{"complete"}},
		{
			"failed",
			Checkpoint{Status: StatusStoppedByError, Error: &Failure{Name: "E", Message: "broke"}},
			Step{},
			[]string{"error | broke"},
		},
		{"failed, nobody knows why", Checkpoint{Status: StatusStoppedByError}, Step{}, []string{"error | Unknown error"}},
		{
			"delegates, after what the turn did itself",
			Checkpoint{
				Status:             StatusStoppedByDelegate,
				DelegateTo:         []Delegation{{Expert: ExpertRef{Key: "a@1.0.0", Name: "a"}, Query: "qa"}, {Expert: ExpertRef{Key: "b"}, Query: "qb"}},
				PartialToolResults: []ToolResult{read},
			},
			Step{NewMessages: mixed, ToolCalls: []ToolCall{readCall, hireCall, hireAlso}},
			[]string{"readTextFile | a.txt (one\n\ntwo)", "delegate | a@1.0.0 | qa (one\n\ntwo)", "delegate | b | qb (one\n\ntwo)"},
		},
		{
			"delegates that have returned count, and are not tools",
			Checkpoint{Status: StatusProceeding},
			Step{
				ToolCalls:   []ToolCall{readCall, hireCall, hireAlso},
				ToolResults: []ToolResult{read, returns(hireCall, "C", "TP1"), returns(hireAlso, "D", "Room 3")},
			},
			[]string{"readTextFile | a.txt", "delegationComplete | 2"},
		},
		{
			"a question after a delegate returned",
			Checkpoint{Status: StatusStoppedByInteractiveTool, PendingToolCalls: []ToolCall{askCall}, PartialToolResults: []ToolResult{returns(hireCall, "C", "TP1")}},
			Step{ToolCalls: []ToolCall{hireCall, askCall}},
			[]string{"delegationComplete | 1", `interactiveTool | askUser | {"q":"Budget?"}`},
		},
		{
			"waiting for one delegate after another returned",
			Checkpoint{
				Status:             StatusStoppedByDelegate,
				DelegateTo:         []Delegation{{Expert: ExpertRef{Key: "d@1.0.0"}, Query: "rooms"}},
				PartialToolResults: []ToolResult{returns(hireCall, "C", "TP1")},
			},
			Step{ToolCalls: []ToolCall{hireCall, hireAlso}},
			[]string{"delegate | d@1.0.0 | rooms"},
		},
		{
			"delegates that are missing",
			Checkpoint{Status: StatusStoppedByDelegate},
			Step{NewMessages: []*Message{expertSays("", "Hm.")}},
			[]string{"retry | Delegate status but no delegation targets | Hm."},
		},
		{
			"only the open call is interactive, and the lean call finds its arguments",
			Checkpoint{Status: StatusStoppedByInteractiveTool, PendingToolCalls: []ToolCall{lean(askCall)}, PartialToolResults: []ToolResult{read}},
			Step{NewMessages: mixed[1:], ToolCalls: []ToolCall{lean(readCall), lean(askCall)}},
			[]string{"readTextFile | a.txt (two)", `interactiveTool | askUser | {"q":"Budget?"} (two)`},
		},
		{
			"open calls known from the step",
			Checkpoint{Status: StatusStoppedByInteractiveTool},
			Step{PendingToolCalls: []ToolCall{askCall}},
			[]string{`interactiveTool | askUser | {"q":"Budget?"}`},
		},
		{
			"open calls known by their missing results",
			Checkpoint{Status: StatusStoppedByInteractiveTool},
			Step{ToolCalls: []ToolCall{readCall, askCall}, PartialToolResults: []ToolResult{read}},
			[]string{"readTextFile | a.txt", `interactiveTool | askUser | {"q":"Budget?"}`},
		},
		{
			"no open call at all",
			Checkpoint{Status: StatusStoppedByInteractiveTool},
			Step{},
			[]string{"retry | Interactive tool status but no open tool calls"},
		},
		{
			"tools; a call without a result is left out",
			Checkpoint{Status: StatusProceeding},
			Step{NewMessages: mixed, ToolCalls: []ToolCall{readCall, askCall}, ToolResults: []ToolResult{read}},
			[]string{"readTextFile | a.txt (one\n\ntwo)"},
		},
		{
			"a remark beside the calls",
			Checkpoint{Status: StatusProceeding},
			Step{NewMessages: []*Message{expertSays("two", " Let me look. ", readCall)}, ToolCalls: []ToolCall{readCall}, ToolResults: []ToolResult{read}},
			[]string{"remark | Let me look. (two)", "readTextFile | a.txt (two)"},
		},
		{
			"a remark that became the answer",
			Checkpoint{Status: StatusCompleted},
			Step{NewMessages: []*Message{expertSays("", "Bye.", doneCall), expertSays("", "Bye.")}},
			[]string{"complete | Bye."},
		},
		{
			"nothing",
			Checkpoint{Status: StatusProceeding},
			Step{NewMessages: []*Message{userSays("try again")}},
			[]string{"retry | No tool call or result found | try again"},
		},
		{
			"steps used up",
			Checkpoint{Status: StatusStoppedByExceededMaxSteps},
			Step{ToolCalls: []ToolCall{readCall}, ToolResults: []ToolResult{read}},
			[]string{"readTextFile | a.txt", "stopped | maxSteps"},
		},
		{"a limit", Checkpoint{Status: StatusStoppedByLimit}, Step{}, []string{"stopped | limit"}},
		{"an interrupt", Checkpoint{Status: StatusStoppedByInterrupt}, Step{}, []string{"stopped | interrupt"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := FromCheckpoint(tt.cp, tt.step)
			for i := range got {
				if got[i].ID != "" || got[i].RunID != "" || got[i].ExpertKey != "" {
					t.Errorf("not left to the caller: %+v", got[i])
				}
				got[i].RunID = string(got[i].Type) // for show
				if _, err := marshal(got[i]); err != nil {
					t.Error(err)
				}
			}
			wantLines(t, got, tt.want...)
		})
	}
}
