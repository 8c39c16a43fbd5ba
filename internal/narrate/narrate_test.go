package narrate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
)

// said is an event of a Run.
type said struct {
	run  string
	body event.Body
}

// tell applies a trace. Experts are called as their Runs, in lower case.
func tell(n *Narrator, trace []said) []Row {
	var all []Row
	for i, s := range trace {
		e := event.Event{ID: fmt.Sprintf("e%d", i+1), JobID: "j", RunID: s.run, Body: s.body}
		if s.body != nil && !e.IsRuntime() {
			e.ExpertKey, e.StepNumber = strings.ToLower(s.run), 1
		}
		all = append(all, Rows(n.Apply(e))...)
	}
	return all
}

// script is tell for the events of one Run.
func script(n *Narrator, bodies ...event.Body) []Row {
	var trace []said
	for _, b := range bodies {
		trace = append(trace, said{"R", b})
	}
	return tell(n, trace)
}

// show renders changes as one line each. Calls that are pending or running are left out.
func show(changes []Row) []string {
	var lines []string
	for _, r := range changes {
		if r.Kind == Tool && (r.State == Pending || r.State == Running) {
			continue
		}
		line := r.Run
		if r.Depth > 0 {
			line += fmt.Sprintf("/%d", r.Depth)
		}
		line += " " + strings.TrimSpace(r.Label+" "+strings.Join(append(r.Argv, r.Summary), " "))
		if r.Changed && r.Kind == Delegate && r.State != Running {
			line += " (changed)"
		}
		for _, t := range r.Body {
			if t.Text != "" {
				line += " | " + t.Text
			}
		}
		if r.Repeats {
			line += " (again)"
		}
		lines = append(lines, line)
	}
	return lines
}

func wantLines(t *testing.T, got []Row, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, show(got)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func userSays(text string) *event.Message {
	return &event.Message{Type: event.UserMessage, Contents: []event.Part{{Type: event.TextPart, Text: text}}}
}

func expertSays(thought, text string, calls ...event.ToolCall) *event.Message {
	m := &event.Message{Type: event.ExpertMessage}
	if thought != "" {
		m.Contents = append(m.Contents, event.Part{Type: event.ThinkingPart, Thinking: thought})
	}
	if text != "" {
		m.Contents = append(m.Contents, event.Part{Type: event.TextPart, Text: text})
	}
	for _, c := range calls {
		m.Contents = append(m.Contents, event.Part{Type: event.ToolCallPart, ToolCallID: c.ID, ToolName: c.ToolName, Args: c.Args})
	}
	return m
}

// turn is an answer of a model with calls, as the journal has it: the arguments are in the
// message only.
func turn(thought, text string, calls ...event.ToolCall) event.CallTools {
	b := event.CallTools{NewMessage: expertSays(thought, text, calls...)}
	for _, c := range calls {
		c.Args = nil
		b.ToolCalls = append(b.ToolCalls, c)
	}
	return b
}

func answers(text string) event.CompleteRun {
	return event.CompleteRun{NewMessage: expertSays("", text)}
}

func resultOf(c event.ToolCall, text string) event.ToolResult {
	return event.ToolResult{ID: c.ID, SkillName: c.SkillName, ToolName: c.ToolName, Result: []event.Part{{Type: event.TextPart, Text: text}}}
}

func ended(c event.ToolCall, text string) event.EndToolCall {
	return event.EndToolCall{ToolResult: resultOf(c, text)}
}

func query(text string) event.StartRun {
	return event.StartRun{InputMessages: []*event.Message{{Type: event.InstructionMessage}, userSays(text)}}
}

func by(run string) *event.Parent {
	return &event.Parent{Expert: event.ExpertRef{Key: strings.ToLower(run)}, RunID: run}
}

// to says which Run works on a call.
func to(c event.ToolCall, run string) event.DelegateRun {
	return event.DelegateRun{ToolCallID: c.ID, RunID: run, Expert: event.ExpertRef{Key: strings.ToLower(run) + "@1"}}
}

// returns is what a delegate's Run gives to its parent.
func returns(c event.ToolCall, run, text string) event.ToolResult {
	r := resultOf(c, text)
	r.SkillName = event.DelegateSkill + strings.ToLower(run) + "@1"
	return r
}

// child is a Run that answers at once.
func child(run, parent, task, text string) []said {
	start := query(task)
	start.DelegatedBy = by(parent)
	return []said{{run, start}, {run, event.StartGeneration{}}, {run, answers(text)}}
}

func resumed(run string, results ...event.ToolResult) event.StartRun {
	return event.StartRun{From: &event.Origin{RunID: run, CheckpointID: "cp"}, Answers: results}
}

var (
	readCall = event.ToolCall{ID: "c1", SkillName: event.BaseSkill, ToolName: "readTextFile", Args: []byte(`{"path":"a.txt"}`)}
	hireCall = event.ToolCall{ID: "c2", SkillName: "finder", ToolName: "finder", Args: []byte(`{"query":"flights"}`)}
	hireAlso = event.ToolCall{ID: "c3", SkillName: "hotels", ToolName: "hotels", Args: []byte(`{"query":"rooms"}`)}
	askCall  = event.ToolCall{ID: "c4", SkillName: "user-io", ToolName: "askUser", Args: []byte(`{"q":"Budget?"}`)}
	doneCall = event.ToolCall{ID: "c5", SkillName: event.BaseSkill, ToolName: event.CompletionTool, Args: []byte(`{}`)}
	makeCall = event.ToolCall{ID: "c9", SkillName: event.BaseSkill, ToolName: "exec", Args: []byte(`{"command":"make"}`)}
)

func TestRules(t *testing.T) {
	gone, open := `{"error":"Error","message":"gone"}`, `{"remainingTodos":[{"id":1}]}`
	search := event.Part{Type: event.ProviderPart, ToolName: "web_search", ProviderData: []byte(`{"type":"server_tool_use"}`)}
	looked := turn("hm", "I looked.", readCall)
	looked.NewMessage.Contents = append(looked.NewMessage.Contents, search)
	from := &event.Origin{RunID: "R", CheckpointID: "cp"}
	overtaken := &event.Message{Type: event.ToolMessage, Contents: []event.Part{
		{Type: event.ToolResultPart, ToolCallID: "c8", ToolName: "readTextFile", Contents: []event.Part{{Type: event.TextPart, Text: "{}"}}},
		{Type: event.ToolResultPart, ToolCallID: "c9", ToolName: "exec", Contents: resultOf(makeCall, event.UnknownOutcome).Result},
	}}
	for name, tt := range map[string]struct {
		bodies []event.Body
		want   []string
	}{
		"a result appears once": {
			[]event.Body{turn("", "", readCall), event.StartToolCall{ToolCallID: "c1"}, ended(readCall, gone), ended(readCall, gone), event.ResolveToolResults{}},
			[]string{"R Read a.txt | Error: gone"},
		},
		"a result without a call is not shown": {
			[]event.Body{ended(readCall, gone), event.CallInteractiveTool{ToolCallID: "x"}, event.StartToolCall{ToolCallID: "x"}, event.ToolProgress{ToolCallID: "x", Message: "m"}}, nil,
		},
		"an id that comes again is a new call": {
			[]event.Body{turn("", "", readCall), ended(readCall, "{}"), turn("", "", readCall), ended(readCall, gone)},
			[]string{"R Read a.txt", "R Read a.txt | Error: gone"},
		},
		"each generation has its reasoning, once": {
			[]event.Body{event.StartGeneration{}, event.CompleteStreamingReasoning{Text: "enough"}, turn("enough", "", doneCall), ended(doneCall, "{}"), event.AttemptCompletion{},
				event.CompleteRun{NewMessage: expertSays("sum up", "Bye.")}},
			[]string{"R Reasoning | enough", "R Completion Accepted", "R Reasoning | sum up", "R Result | Bye."},
		},
		"a repeated generation thinks again": {
			[]event.Body{event.CompleteStreamingReasoning{Text: "Hm."}, event.Retry{Reason: `{"error":"Busy","message":"wait"}`, DelayMS: 1500}, event.CompleteStreamingReasoning{Text: "Hm."}},
			[]string{"R Reasoning | Hm.", "R Retry | Busy: wait | next attempt in 1.5s", "R Reasoning | Hm."},
		},
		"a failure of the provider is not called by its name": {
			[]event.Body{event.Retry{Reason: `{"error":"AI_APICallError","message":"cannot connect"}`}},
			[]string{"R Retry | cannot connect"},
		},
		"what is said with calls stands before their results": {
			[]event.Body{turn("", "Let me look.\n", readCall), ended(readCall, "{}")},
			[]string{"R Message | Let me look.", "R Read a.txt"},
		},
		"beside a completion it is the answer": {
			[]event.Body{turn("", " Bye.", doneCall), ended(doneCall, "{}"), answers("Bye.")},
			[]string{"R Completion Accepted", "R Result | Bye."},
		},
		"unless the completion is refused": {
			[]event.Body{turn("", "Bye.", doneCall), ended(doneCall, open), event.ResolveToolResults{}},
			[]string{"R Message | Bye.", "R Completion Blocked | 1 remaining task"},
		},
		"or the answer is another": {
			[]event.Body{turn("", "Bye.", doneCall), ended(doneCall, "{}"), answers("Something else.")},
			[]string{"R Completion Accepted", "R Message | Bye.", "R Result | Something else."},
		},
		"or the Run ends before": {
			[]event.Body{turn("", "Bye.", doneCall), event.StopRunByInterrupt{Reason: "SIGINT"}},
			[]string{"R Message | Bye.", "R Stopped | SIGINT"},
		},
		"what the provider ran, before what was said": {
			[]event.Body{looked}, []string{"R Reasoning | hm", "R Provider Ran web_search", "R Message | I looked."},
		},
		"one query a Run, none for an empty text": {
			[]event.Body{query(""), query("a"), query("b")}, []string{"R Query | a"},
		},
		"a query with files": {
			[]event.Body{event.StartRun{InputMessages: query("look").InputMessages, Attachments: []event.Attachment{{Name: "a.png", MIMEType: "image/png", Size: 2048}}}},
			[]string{"R Query | look | attached: a.png (image/png, 2 KiB)"},
		},
		"one answer a Run": {
			[]event.Body{answers("a"), answers("b")}, []string{"R Result | a"},
		},
		"the user's answer, with and without the question": {
			[]event.Body{resumed("R", resultOf(askCall, "500")), event.ResumeToolCalls{}, event.CallInteractiveTool{ToolCall: &askCall}, resumed("R", resultOf(askCall, "600"))},
			[]string{"R Answer askUser | 500", "R Answer askUser | 600"},
		},
		"a question": {
			[]event.Body{turn("", "", askCall), event.CallInteractiveTool{ToolCallID: "c4"}, event.StopRunByInteractiveTool{}, resumed("R", resultOf(askCall, "500"))},
			[]string{"R Question askUser | q: Budget?", "R Answer askUser | 500"},
		},
		"a question that is answered in place": {
			[]event.Body{turn("", "", askCall), event.CallInteractiveTool{ToolCallID: "c4"}, ended(askCall, "500"), event.ResolveToolResults{}},
			[]string{"R Question askUser | q: Budget?", "R Answer askUser | 500"},
		},
		"a permission that is given": {
			[]event.Body{turn("", "", makeCall), event.ApprovalRequested{ToolCallID: "c9", Rule: "rule 1 of the user", Why: "publishes"}, event.ApprovalAnswered{ToolCallID: "c9", Allow: true, Scope: event.ScopeJob}, ended(makeCall, `{"output":"ok"}`)},
			[]string{"R Permission: Run make | publishes", "R Allowed: Run make | for: job", "R Run make | ok"},
		},
		"a permission that is refused, in a process that did not see the call": {
			[]event.Body{event.ApprovalRequested{ToolCallID: "c1", ToolCall: &readCall, Rule: "rule 1 of the user"}, event.StopRunByApproval{}, event.ApprovalAnswered{ToolCallID: "c1", Reason: "use staging"}, event.ApprovalAnswered{ToolCallID: "x"}},
			[]string{"R Permission: Read a.txt | rule 1 of the user", "R Denied: Read a.txt | use staging", "R Denied x"},
		},
		"a permission to leave the sandbox, during a call": {
			[]event.Body{
				turn("", "", makeCall), event.ApprovalRequested{ToolCallID: "c9", Digest: "d", Rule: "the preset auto", Effect: event.Effect{Kind: event.PathEffect, Path: "/srv/data"}},
				event.ApprovalAnswered{ToolCallID: "c9", Digest: "d", Allow: true}, ended(makeCall, `{"output":"ok"}`),
			},
			[]string{"R Permission leave the sandbox for /srv/data | the preset auto", "R Allowed leave the sandbox for /srv/data", "R Run make | ok"},
		},
		"a call that a crash cut off, in a process that did not see it": {
			[]event.Body{event.StartRun{From: from}, event.ResumeToolCalls{}, ended(makeCall, event.UnknownOutcome), ended(makeCall, event.UnknownOutcome)},
			[]string{"R Run (outcome unknown) | " + event.UnknownOutcome},
		},
		"one that a new query overtook": {
			[]event.Body{event.StartRun{From: from, InputMessages: []*event.Message{overtaken, userSays("go on")}}},
			[]string{"R exec (outcome unknown) | " + event.UnknownOutcome, "R Query | go on"},
		},
		"a failure that may pass": {
			[]event.Body{event.StopRunByError{Error: event.Failure{Name: "Busy", Message: "too many", IsRetryable: true}}},
			[]string{"R Busy | too many | It may work if you try again."},
		},
		"events without a row": {
			[]event.Body{event.StreamReasoning{Delta: "x"}, event.StartGeneration{}, event.FinishToolCall{}, event.FinishAllToolCalls{}, event.ResumeToolCalls{}, nil}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) { wantLines(t, script(new(Narrator), tt.bodies...), tt.want...) })
	}
}

// The row of a call is one row: it is added when the model calls, and changes when the call
// starts, reports and ends.
func TestRowOfACall(t *testing.T) {
	changes := script(new(Narrator), turn("", "", makeCall, readCall), event.StartToolCall{ToolCallID: "c9"},
		event.ToolProgress{ToolCallID: "c9", Message: "half"}, ended(makeCall, `{"output":"done"}`), event.ToolProgress{ToolCallID: "c9", Message: "late"})
	var got []string
	for _, r := range changes {
		got = append(got, fmt.Sprintf("%v %s %d %s %v", r.Changed, r.ID, r.State, r.Tail, r.Slow))
	}
	want := []string{
		fmt.Sprintf("false R-1-c9 %d  true", Pending), fmt.Sprintf("false R-1-c1 %d  false", Pending),
		fmt.Sprintf("true R-1-c9 %d  true", Running), fmt.Sprintf("true R-1-c9 %d half true", Running),
		fmt.Sprintf("true R-1-c9 %d  true", Done),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// Parallel Runs may use the same call ids, and their reasoning is their own.
func TestRunsAreKeptApart(t *testing.T) {
	other := readCall
	other.Args = []byte(`{"path":"b.txt"}`)
	wantLines(t, tell(new(Narrator), []said{
		{"A", turn("mine", "", readCall)}, {"B", turn("", "", other)}, {"B", ended(other, "{}")}, {"A", ended(readCall, "{}")},
	}), "A Reasoning | mine", "B Read b.txt", "A Read a.txt")
}

func TestDelegation(t *testing.T) {
	tail := []said{{"P", event.FinishAllToolCalls{}}, {"P", event.ContinueToNextStep{}}, {"P", event.StartGeneration{}}, {"P", answers("Done.")}}
	failed := returns(hireAlso, "D", "Delegation failed: no rooms")
	failed.IsError = true
	c, d := child("C", "P", "flights", "TP1"), child("D", "P", "rooms", "")
	d[2].body = event.StopRunByError{Error: event.Failure{Name: "E", Message: "no rooms"}}
	startB := query("flights")
	startB.DelegatedBy = by("A")
	backB := resumed("B", returns(hireCall, "C", "TP1"))
	backB.DelegatedBy = by("A")
	for name, tt := range map[string]struct {
		trace [][]said
		want  []string
	}{
		"one": {
			[][]said{{
				{"P", query("Go")}, {"P", turn("Ask.", "", hireCall)}, {"P", event.CallDelegate{Delegates: []event.DelegateRun{to(hireCall, "C")}}}, {"P", event.StopRunByDelegate{}},
			}, c, {{"P", resumed("P", returns(hireCall, "C", "TP1"))}}, tail},
			[]string{"P Query | Go", "P Reasoning | Ask.", "P c@1 flights", "C/1 Query | flights (again)", "C/1 Result | TP1", "P c@1 returned (changed) | TP1",
				"P Delegation Complete (1 delegate returned)", "P Result | Done."},
		},
		"one below another": {
			[][]said{{
				{"A", query("Go")}, {"A", turn("", "", hireCall)}, {"A", event.CallDelegate{Delegates: []event.DelegateRun{to(hireCall, "B")}}}, {"A", event.StopRunByDelegate{}},
				{"B", startB}, {"B", turn("", "", hireCall)}, {"B", event.CallDelegate{Delegates: []event.DelegateRun{to(hireCall, "C")}}}, {"B", event.StopRunByDelegate{}},
			}, child("C", "B", "flights", "TP1"), {
				{"B", backB}, {"B", event.FinishAllToolCalls{}}, {"B", answers("TP1!")},
				{"A", resumed("A", returns(hireCall, "B", "TP1!"))}, {"A", event.FinishAllToolCalls{}}, {"A", answers("Done.")},
			}},
			[]string{"A Query | Go", "A b@1 flights", "B/1 Query | flights (again)", "B/1 c@1 flights", "C/2 Query | flights (again)", "C/2 Result | TP1",
				"B/1 c@1 returned (changed) | TP1", "B/1 Delegation Complete (1 delegate returned)", "B/1 Result | TP1!",
				"A b@1 returned (changed) | TP1!", "A Delegation Complete (1 delegate returned)", "A Result | Done."},
		},
		"side by side": {
			[][]said{{
				{"P", query("Go")}, {"P", turn("", "", hireCall, hireAlso)}, {"P", event.CallDelegate{Delegates: []event.DelegateRun{to(hireCall, "C"), to(hireAlso, "D")}}}, {"P", event.StopRunByDelegate{}},
			}, {c[0], d[0], d[1], c[1], d[2], c[2]}, {{"P", resumed("P", returns(hireCall, "C", "TP1"), failed)}}, tail},
			[]string{"P Query | Go", "P c@1 flights", "P d@1 rooms", "C/1 Query | flights (again)", "D/1 Query | rooms (again)", "D/1 E | no rooms", "C/1 Result | TP1",
				"P c@1 returned (changed) | TP1", "P d@1 failed (changed) | Delegation failed: no rooms", "P Delegation Complete (1 answered, 1 failed)", "P Result | Done."},
		},
		"beside a tool and a question": {
			[][]said{{
				{"P", query("Go")}, {"P", turn("", "", readCall, hireCall, askCall)}, {"P", event.StartToolCall{ToolCallID: "c1"}}, {"P", ended(readCall, `{"content":"x"}`)},
				{"P", event.CallDelegate{Delegates: []event.DelegateRun{to(hireCall, "C")}}}, {"P", event.StopRunByDelegate{}},
			}, c, {
				{"P", resumed("P", returns(hireCall, "C", "TP1"))}, {"P", event.ResumeToolCalls{}}, {"P", event.CallInteractiveTool{ToolCallID: "c4"}}, {"P", event.StopRunByInteractiveTool{}},
				{"P", resumed("P", resultOf(askCall, "500"))},
			}, tail},
			[]string{"P Query | Go", "P Read a.txt | x", "P c@1 flights", "C/1 Query | flights (again)", "C/1 Result | TP1", "P c@1 returned (changed) | TP1",
				"P Delegation Complete (1 delegate returned)", "P Question askUser | q: Budget?", "P Answer askUser | 500", "P Result | Done."},
		},
	} {
		t.Run(name, func(t *testing.T) { wantLines(t, tell(new(Narrator), slices.Concat(tt.trace...)), tt.want...) })
	}
}

// A job that was interrupted, resumed and branched: a delegate is shown once in each
// process, and all that returned count.
func TestDelegationThatIsResumed(t *testing.T) {
	runs := []event.DelegateRun{to(hireCall, "C"), to(hireAlso, "D")}
	startD := query("rooms")
	startD.DelegatedBy = by("P")
	first := slices.Concat([]said{
		{"P", query("Go")}, {"P", turn("", "", hireCall, hireAlso)}, {"P", event.CallDelegate{Delegates: runs}}, {"P", event.StopRunByDelegate{}},
	}, child("C", "P", "flights", "TP1"), []said{
		{"D", startD}, {"D", event.StopRunByInterrupt{Reason: "SIGINT"}},
		{"P", resumed("P", returns(hireCall, "C", "TP1"))}, {"P", event.StopRunByInterrupt{Reason: "SIGINT"}},
	})
	again := []said{
		{"P", resumed("P", returns(hireCall, "C", "TP1"))}, {"P", event.ResumeToolCalls{}}, {"P", event.CallDelegate{Delegates: runs[1:], ToolCalls: []event.ToolCall{hireAlso}}}, {"P", event.StopRunByDelegate{}},
		{"D", event.StartRun{From: &event.Origin{RunID: "D"}, DelegatedBy: by("P")}}, {"D", answers("Room 3")},
		{"P", resumed("P", returns(hireAlso, "D", "Room 3"))}, {"P", event.FinishAllToolCalls{}},
	}
	var n Narrator
	tell(&n, first)
	wantLines(t, tell(&n, again), "P c@1 returned (changed) | TP1", "D/1 Result | Room 3", "P d@1 returned (changed) | Room 3", "P Delegation Complete (2 delegates returned)")
	// A process that resumes has not seen the first part.
	wantLines(t, tell(new(Narrator), again), "P c@1 returned | TP1", "P d@1 rooms", "D/1 Result | Room 3", "P d@1 returned (changed) | Room 3", "P Delegation Complete (2 delegates returned)")

	// A branch: another Run of the parent, another child that continues from D's checkpoint.
	// What the branch waits for was called in the Run that it left.
	branch := to(hireAlso, "E")
	branch.From, branch.Query = &event.Origin{RunID: "D", CheckpointID: "cp"}, "with a balcony"
	startE := query("with a balcony")
	startE.From, startE.DelegatedBy = branch.From, by("Q")
	wantLines(t, tell(&n, []said{
		{"Q", resumed("P", returns(hireCall, "C", "TP1"))}, {"Q", event.ResumeToolCalls{}}, {"Q", event.CallDelegate{Delegates: []event.DelegateRun{branch}}}, {"Q", event.StopRunByDelegate{}},
		{"E", startE}, {"E", answers("Room 4")}, {"Q", resumed("Q", returns(hireAlso, "E", "Room 4"))}, {"Q", event.FinishAllToolCalls{}},
	}), "Q c@1 returned | TP1", `Q e@1 rooms | continues from checkpoint cp of run D | you added: "with a balcony"`, "E/1 Query | with a balcony (again)", "E/1 Result | Room 4",
		"Q e@1 returned (changed) | Room 4", "Q Delegation Complete (2 delegates returned)")
}

// Ids come from providers, and some begin again with the first one in every turn. What was
// the id of a question can be that of a delegate in a turn that was not seen, and each
// delegate still counts.
func TestDelegatesAreToldApartByID(t *testing.T) {
	answer, other := resultOf(askCall, "Lisbon"), resultOf(askCall, "May")
	answer.ID, other.ID = hireCall.ID, hireAlso.ID
	failed := returns(hireAlso, "D", "no rooms")
	failed.IsError = true
	wantLines(t, tell(new(Narrator), []said{
		{"P", resumed("P", answer, other)},
		{"P", resumed("P", returns(hireCall, "C", "TP1"), failed)}, {"P", event.FinishAllToolCalls{}},
	}), "P Answer askUser | Lisbon", "P Answer askUser | May",
		"P c@1 returned | TP1", "P d@1 failed | no rooms", "P Delegation Complete (1 answered, 1 failed)")
}

// A new query overtakes whatever the Run before was waiting for. The calls that have no
// result are told of, with what the model is told.
func TestOvertakenCalls(t *testing.T) {
	made := &event.Message{Type: event.ToolMessage}
	for _, c := range []event.ToolCall{readCall, hireCall, askCall, makeCall} {
		made.Contents = append(made.Contents, event.Part{Type: event.ToolResultPart, ToolCallID: c.ID, ToolName: c.ToolName, IsError: true,
			Contents: resultOf(c, "Error: nothing came of it").Result})
	}
	next := event.StartRun{From: &event.Origin{RunID: "P"}, InputMessages: []*event.Message{made, userSays("never mind")}}
	trace := []said{
		{"P", query("Go")}, {"P", turn("", "", readCall, hireCall, askCall, makeCall)}, {"P", event.StartToolCall{ToolCallID: "c1"}}, {"P", ended(readCall, "{}")},
		{"P", event.StartToolCall{ToolCallID: "c9"}}, {"P", event.CallDelegate{Delegates: []event.DelegateRun{to(hireCall, "C")}}},
		{"P", event.CallInteractiveTool{ToolCallID: "c4"}}, {"P", event.StopRunByInteractiveTool{}},
	}
	var n Narrator
	tell(&n, trace)
	wantLines(t, tell(&n, []said{{"Q", next}}),
		`Q finder {"query":"flights"} | Error: nothing came of it`, `Q askUser {"q":"Budget?"} | Error: nothing came of it`, "Q Run make | Error: nothing came of it", "Q Query | never mind")
}

// Runs that continue each other in a circle must not make the narrator hang.
func TestCircle(t *testing.T) {
	tell(new(Narrator), []said{
		{"B", event.SkillStarting{}}, {"A", resumed("B")}, {"B", resumed("A")}, {"A", resumed("B")}, {"C", resumed("C")}, {"C", resumed("C")},
		{"C", event.CallDelegate{Delegates: []event.DelegateRun{{ToolCallID: "c", RunID: "C", Query: "q"}}}},
		{"B", event.CallDelegate{Delegates: []event.DelegateRun{{ToolCallID: "c", RunID: "A", Query: "q"}}}},
		{"A", event.CallDelegate{Delegates: []event.DelegateRun{{ToolCallID: "c", RunID: "A"}}}}, {"A", event.FinishAllToolCalls{}},
	})
}
