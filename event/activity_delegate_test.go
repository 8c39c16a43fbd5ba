package event

import (
	"slices"
	"strings"
	"testing"
)

// The traces of this file are those of runtime.md, section 13: H (one delegate), I (one
// below another), J (side by side) and K (beside a tool and a question), each as the
// journal has it and as standard output has it. Both must show the same.

// A said is an event of a Run.
type said struct {
	run  string
	body Body
}

// tell applies a trace. An event is called after its Run and type, so that both forms of
// a trace have the same ids.
func tell(tl *Timeline, trace []said) []Activity {
	var all []Activity
	for _, s := range trace {
		e := Event{JobID: "j", RunID: s.run, ExpertKey: strings.ToLower(s.run), StepNumber: 1, Body: s.body}
		e.ID = s.run + "." + string(e.Type())
		all = append(all, tl.Apply(e)...)
	}
	return all
}

func by(run string) *Parent { return &Parent{Expert: ExpertRef{Key: strings.ToLower(run)}, RunID: run} }

// to says which Run works on a call.
func to(c ToolCall, run string) DelegateRun {
	return DelegateRun{ToolCallID: c.ID, RunID: run, Expert: ExpertRef{Key: strings.ToLower(run) + "@1.0.0"}}
}

// returns is what a delegate's Run gives to its parent.
func returns(c ToolCall, run, text string) ToolResult {
	r := resultOf(c, text)
	r.SkillName = DelegateSkill + strings.ToLower(run) + "@1.0.0"
	return r
}

// child is a Run that answers at once, in both forms.
func child(run, parent, query, text string) (lean, full []said) {
	start := StartRun{InputMessages: []*Message{{Type: InstructionMessage}, userSays(query)}, DelegatedBy: by(parent)}
	whole := start
	whole.InitialCheckpoint = &Checkpoint{Status: StatusInit, DelegatedBy: by(parent)}
	end := CompleteRun{NewMessage: expertSays("", text)}
	return []said{{run, start}, {run, StartGeneration{}}, {run, end}},
		[]said{{run, whole}, {run, StartGeneration{}}, {run, CompleteRun{Text: &text, NewMessage: end.NewMessage}}}
}

// waits is what the checkpoint says on which a Run waits for delegates.
func waits(runs ...DelegateRun) *Checkpoint {
	cp := &Checkpoint{Status: StatusStoppedByDelegate}
	for _, d := range runs {
		cp.DelegateTo = append(cp.DelegateTo, Delegation{Expert: d.Expert, ToolCallID: d.ToolCallID})
	}
	return cp
}

func back(run string, status Status, answers ...ToolResult) (lean, full StartRun) {
	lean = StartRun{InputMessages: []*Message{}, From: &Origin{RunID: run, CheckpointID: "cp"}, Answers: answers}
	full = lean
	full.InitialCheckpoint = &Checkpoint{Status: status, RunID: run}
	return lean, full
}

func TestTracesOfDelegation(t *testing.T) {
	type forms struct{ lean, full []said }
	none, text := []*Message{}, "Done."
	start := StartRun{InputMessages: []*Message{userSays("Go")}}
	startFull := StartRun{InputMessages: start.InputMessages, InitialCheckpoint: &Checkpoint{Status: StatusInit}}
	done := CompleteRun{NewMessage: expertSays("", text)}
	doneFull := CompleteRun{NewMessage: done.NewMessage, Text: &text}
	tail := []said{{"P", FinishAllToolCalls{}}, {"P", ContinueToNextStep{}}, {"P", StartGeneration{}}, {"P", done}}

	// H
	hire := expertSays("Ask.", "", hireCall)
	hLean, hFull := child("C", "P", "flights", "TP1")
	hBack, hBackFull := back("P", StatusStoppedByDelegate, returns(hireCall, "C", "TP1"))
	h := forms{
		lean: slices.Concat([]said{
			{"P", start}, {"P", StartGeneration{}}, {"P", CallTools{NewMessage: hire, ToolCalls: []ToolCall{lean(hireCall)}}},
			{"P", CallDelegate{Delegates: []DelegateRun{to(hireCall, "C")}}}, {"P", StopRunByDelegate{}},
		}, hLean, []said{{"P", hBack}}, tail),
		full: slices.Concat([]said{
			{"P", startFull}, {"P", StartGeneration{}}, {"P", CallTools{NewMessage: hire, ToolCalls: []ToolCall{hireCall}}},
			{"P", CallDelegate{NewMessage: hire, ToolCalls: []ToolCall{hireCall}, Delegates: []DelegateRun{to(hireCall, "C")}, Usage: &Usage{}}},
			{"P", StopRunByDelegate{End: End{Checkpoint: waits(to(hireCall, "C"))}}},
		}, hFull, []said{
			{"P", hBackFull}, {"P", FinishAllToolCalls{NewMessages: none}},
			{"P", ContinueToNextStep{End: End{Step: &Step{ToolCalls: []ToolCall{hireCall}, ToolResults: []ToolResult{returns(hireCall, "C", "TP1")}}}}},
			{"P", StartGeneration{}}, {"P", doneFull},
		}),
	}

	// I: A asks B, B asks C
	askB, askC := hireCall, hireCall // models count from the start: the ids are the same
	sayB, sayC := expertSays("", "", askB), expertSays("", "", askC)
	iLean, iFull := child("C", "B", "flights", "TP1")
	startB := StartRun{InputMessages: []*Message{userSays("flights")}, DelegatedBy: by("A")}
	startBFull := startB
	startBFull.InitialCheckpoint = &Checkpoint{Status: StatusInit, DelegatedBy: by("A")}
	backB, backBFull := back("B", StatusStoppedByDelegate, returns(askC, "C", "TP1"))
	backB.DelegatedBy, backBFull.DelegatedBy = by("A"), by("A")
	backBFull.InitialCheckpoint.DelegatedBy = by("A")
	backA, backAFull := back("A", StatusStoppedByDelegate, returns(askB, "B", "TP1!"))
	exclaims := "TP1!"
	i := forms{
		lean: slices.Concat([]said{
			{"A", start}, {"A", CallTools{NewMessage: sayB, ToolCalls: []ToolCall{lean(askB)}}},
			{"A", CallDelegate{Delegates: []DelegateRun{to(askB, "B")}}}, {"A", StopRunByDelegate{}},
			{"B", startB}, {"B", CallTools{NewMessage: sayC, ToolCalls: []ToolCall{lean(askC)}}},
			{"B", CallDelegate{Delegates: []DelegateRun{to(askC, "C")}}}, {"B", StopRunByDelegate{}},
		}, iLean, []said{
			{"B", backB}, {"B", FinishAllToolCalls{}}, {"B", CompleteRun{NewMessage: expertSays("", exclaims)}},
			{"A", backA}, {"A", FinishAllToolCalls{}}, {"A", done},
		}),
		full: slices.Concat([]said{
			{"A", startFull}, {"A", CallTools{NewMessage: sayB, ToolCalls: []ToolCall{askB}}},
			{"A", CallDelegate{NewMessage: sayB, ToolCalls: []ToolCall{askB}}}, {"A", StopRunByDelegate{End: End{Checkpoint: waits(to(askB, "B"))}}},
			{"B", startBFull}, {"B", CallTools{NewMessage: sayC, ToolCalls: []ToolCall{askC}}},
			{"B", CallDelegate{NewMessage: sayC, ToolCalls: []ToolCall{askC}}}, {"B", StopRunByDelegate{End: End{Checkpoint: waits(to(askC, "C"))}}},
		}, iFull, []said{
			{"B", backBFull}, {"B", FinishAllToolCalls{NewMessages: none}}, {"B", CompleteRun{Text: &exclaims}},
			{"A", backAFull}, {"A", FinishAllToolCalls{NewMessages: none}}, {"A", doneFull},
		}),
	}

	// J: two at once, one of them fails; their events are mixed
	two := expertSays("Both.", "", hireCall, hireAlso)
	jc, jcFull := child("C", "P", "flights", "TP1")
	jd, jdFull := child("D", "P", "rooms", "")
	fails := said{"D", StopRunByError{Error: Failure{Name: "E", Message: "no rooms"}}}
	jd[2], jdFull[2] = fails, fails
	mixed := func(c, d []said) []said { return []said{c[0], d[0], d[1], c[1], d[2], c[2]} }
	failed := returns(hireAlso, "D", "Delegation failed: no rooms")
	failed.IsError = true
	jBack, jBackFull := back("P", StatusStoppedByDelegate, returns(hireCall, "C", "TP1"), failed)
	runs := []DelegateRun{to(hireCall, "C"), to(hireAlso, "D")}
	j := forms{
		lean: slices.Concat([]said{
			{"P", start}, {"P", CallTools{NewMessage: two, ToolCalls: []ToolCall{lean(hireCall), lean(hireAlso)}}},
			{"P", CallDelegate{Delegates: runs}}, {"P", StopRunByDelegate{}},
		}, mixed(jc, jd), []said{{"P", jBack}}, tail),
		full: slices.Concat([]said{
			{"P", startFull}, {"P", CallTools{NewMessage: two, ToolCalls: []ToolCall{hireCall, hireAlso}}},
			{"P", CallDelegate{NewMessage: two, ToolCalls: []ToolCall{hireCall, hireAlso}, Delegates: runs}},
			{"P", StopRunByDelegate{End: End{Checkpoint: waits(runs...)}}},
		}, mixed(jcFull, jdFull), []said{{"P", jBackFull}, {"P", FinishAllToolCalls{NewMessages: none}}, {"P", StartGeneration{}}, {"P", doneFull}}),
	}

	// K: a tool, a delegate and a question in one turn
	all := expertSays("All.", "", readCall, hireCall, askCall)
	read := resultOf(readCall, `{"content":"x"}`)
	kLean, kFull := child("C", "P", "flights", "TP1")
	kBack, kBackFull := back("P", StatusStoppedByDelegate, returns(hireCall, "C", "TP1"))
	kAnswer, kAnswerFull := back("P", StatusStoppedByInteractiveTool, resultOf(askCall, "500"))
	kWaits := waits(to(hireCall, "C"))
	kWaits.PartialToolResults, kWaits.PendingToolCalls = []ToolResult{read}, []ToolCall{askCall}
	partial := []ToolResult{read, returns(hireCall, "C", "TP1")}
	k := forms{
		lean: slices.Concat([]said{
			{"P", start}, {"P", CallTools{NewMessage: all, ToolCalls: []ToolCall{lean(readCall), lean(hireCall), lean(askCall)}}},
			{"P", StartToolCall{ToolCallID: "c1"}}, {"P", EndToolCall{ToolResult: read}},
			{"P", CallDelegate{Delegates: []DelegateRun{to(hireCall, "C")}}}, {"P", StopRunByDelegate{}},
		}, kLean, []said{
			{"P", kBack}, {"P", ResumeToolCalls{}}, {"P", CallInteractiveTool{ToolCallID: "c4"}}, {"P", StopRunByInteractiveTool{}},
			{"P", kAnswer},
		}, tail),
		full: slices.Concat([]said{
			{"P", startFull}, {"P", CallTools{NewMessage: all, ToolCalls: []ToolCall{readCall, hireCall, askCall}}},
			{"P", CallDelegate{NewMessage: all, ToolCalls: []ToolCall{hireCall}, Delegates: []DelegateRun{to(hireCall, "C")}}},
			{"P", StopRunByDelegate{End: End{Checkpoint: kWaits}}},
		}, kFull, []said{
			{"P", kBackFull}, {"P", ResumeToolCalls{PendingToolCalls: []ToolCall{askCall}, PartialToolResults: partial}},
			{"P", CallInteractiveTool{NewMessage: all, ToolCall: &askCall}},
			{"P", StopRunByInteractiveTool{End: End{Checkpoint: &Checkpoint{PartialToolResults: partial}}}},
			{"P", kAnswerFull}, {"P", FinishAllToolCalls{NewMessages: none}},
			{"P", ContinueToNextStep{End: End{Step: &Step{ToolResults: append(partial, resultOf(askCall, "500"))}}}},
			{"P", StartGeneration{}}, {"P", doneFull},
		}),
	}

	for _, tt := range []struct {
		name string
		forms
		want []string
	}{
		{"H, one delegate", h, []string{
			"P query-P | Go",
			"P delegate-c2 after query-P | c@1.0.0 | flights (Ask.)",
			"C query-C for P | flights",
			"C completion-C after query-C for P | TP1",
			"P delegation-complete-P.finishAllToolCalls after delegate-c2 | 1",
			"P completion-P after delegation-complete-P.finishAllToolCalls | Done.",
		}},
		{"I, one below another", i, []string{
			"A query-A | Go",
			"A delegate-c2 after query-A | b@1.0.0 | flights",
			"B query-B for A | flights",
			"B delegate-c2 after query-B for A | c@1.0.0 | flights",
			"C query-C for B | flights",
			"C completion-C after query-C for B | TP1",
			"B delegation-complete-B.finishAllToolCalls after delegate-c2 for A | 1",
			"B completion-B after delegation-complete-B.finishAllToolCalls for A | TP1!",
			"A delegation-complete-A.finishAllToolCalls after delegate-c2 | 1",
			"A completion-A after delegation-complete-A.finishAllToolCalls | Done.",
		}},
		{"J, side by side", j, []string{
			"P query-P | Go",
			"P delegate-c2 after query-P | c@1.0.0 | flights (Both.)",
			"P delegate-c3 after delegate-c2 | d@1.0.0 | rooms (Both.)",
			"C query-C for P | flights",
			"D query-D for P | rooms",
			"D error-D.stopRunByError after query-D for P | no rooms",
			"C completion-C after query-C for P | TP1",
			"P delegation-complete-P.finishAllToolCalls after delegate-c3 | 2",
			"P completion-P after delegation-complete-P.finishAllToolCalls | Done.",
		}},
		{"K, beside a tool and a question", k, []string{
			"P query-P | Go",
			"P action-c1 after query-P | a.txt (All.)",
			"P delegate-c2 after action-c1 | c@1.0.0 | flights",
			"C query-C for P | flights",
			"C completion-C after query-C for P | TP1",
			"P delegation-complete-P.resumeToolCalls after delegate-c2 | 1",
			`P interactive-c4 after delegation-complete-P.resumeToolCalls | askUser | {"q":"Budget?"}`,
			"P answer-c4 after interactive-c4 | 500 | askUser",
			"P completion-P after answer-c4 | Done.",
		}},
	} {
		for form, trace := range map[string][]said{"lean": tt.lean, "full": tt.full} {
			t.Run(tt.name+", "+form, func(t *testing.T) {
				var tl Timeline
				wantLines(t, tell(&tl, trace[:len(trace)-1]), tt.want[:len(tt.want)-1]...)
				if tl.Complete() {
					t.Error("complete before its own Expert ended")
				}
				wantLines(t, tell(&tl, trace[len(trace)-1:]), tt.want[len(tt.want)-1])
				if !tl.Complete() {
					t.Error("not complete")
				}
			})
		}
	}
}

func TestDelegationGoesOn(t *testing.T) {
	two := expertSays("", "", hireCall, hireAlso)
	runs := []DelegateRun{to(hireCall, "C"), to(hireAlso, "D")}
	first := []said{
		{"P", StartRun{InputMessages: []*Message{userSays("Go")}}}, {"P", CallTools{NewMessage: two, ToolCalls: []ToolCall{lean(hireCall), lean(hireAlso)}}},
		{"P", CallDelegate{Delegates: runs}}, {"P", StopRunByDelegate{}},
		{"C", StartRun{InputMessages: []*Message{userSays("flights")}, DelegatedBy: by("P")}}, {"C", CompleteRun{NewMessage: expertSays("", "TP1")}},
		{"D", StartRun{InputMessages: []*Message{userSays("rooms")}, DelegatedBy: by("P")}}, {"D", StopRunByInterrupt{Reason: "SIGINT"}},
		{"P", StartRun{From: &Origin{RunID: "P"}, Answers: []ToolResult{returns(hireCall, "C", "TP1")}}}, {"P", StopRunByInterrupt{Reason: "SIGINT"}},
	}
	again := []said{
		{"P", StartRun{From: &Origin{RunID: "P"}, Answers: []ToolResult{returns(hireCall, "C", "TP1")}}}, {"P", ResumeToolCalls{}},
		{"P", CallDelegate{Delegates: runs[1:]}}, {"P", StopRunByDelegate{}},
		{"D", StartRun{From: &Origin{RunID: "D"}, DelegatedBy: by("P")}}, {"D", CompleteRun{NewMessage: expertSays("", "Room 3")}},
		{"P", StartRun{From: &Origin{RunID: "P"}, Answers: []ToolResult{returns(hireAlso, "D", "Room 3")}}}, {"P", FinishAllToolCalls{}},
	}

	// Interrupted and resumed: nothing is shown twice, and both count.
	var tl Timeline
	wantLines(t, tell(&tl, first),
		"P query-P | Go",
		"P delegate-c2 after query-P | c@1.0.0 | flights",
		"P delegate-c3 after delegate-c2 | d@1.0.0 | rooms",
		"C query-C for P | flights", "C completion-C after query-C for P | TP1",
		"D query-D for P | rooms", "D stopped-D.stopRunByInterrupt after query-D for P | interrupt | SIGINT",
		"P stopped-P.stopRunByInterrupt after delegate-c3 | interrupt | SIGINT")
	if !tl.Complete() {
		t.Error("the coordinator was interrupted, and that is the end of the view")
	}
	wantLines(t, tell(&tl, again),
		"D completion-D after stopped-D.stopRunByInterrupt for P | Room 3",
		"P delegation-complete-P.finishAllToolCalls after stopped-P.stopRunByInterrupt | 2")

	// A process that resumes has not seen the first stretch.
	wantLines(t, tell(new(Timeline), again),
		"P delegate-c3 | d@1.0.0",
		"D completion-D for P | Room 3",
		"P delegation-complete-P.finishAllToolCalls after delegate-c3 | 2")

	// A branch: another Run of the parent, another child that goes on from D's checkpoint.
	// What the branch waits for was called in the Run that it left.
	branch := to(hireAlso, "E")
	branch.From, branch.Query = &Origin{RunID: "D", CheckpointID: "cp"}, "with a balcony"
	wantLines(t, tell(&tl, []said{
		{"Q", StartRun{From: &Origin{RunID: "P"}, Answers: []ToolResult{returns(hireCall, "C", "TP1")}, Delegates: []DelegateRun{branch}}},
		{"Q", ResumeToolCalls{}}, {"Q", CallDelegate{Delegates: []DelegateRun{branch}}}, {"Q", StopRunByDelegate{}},
		{"E", StartRun{From: branch.From, DelegatedBy: by("Q"), InputMessages: []*Message{userSays("with a balcony")}}},
		{"E", CompleteRun{NewMessage: expertSays("", "Room 4")}},
		{"Q", StartRun{From: &Origin{RunID: "Q"}, Answers: []ToolResult{returns(hireAlso, "E", "Room 4")}}}, {"Q", FinishAllToolCalls{}},
	}),
		"Q delegate-c3 | e@1.0.0 | rooms",
		"E query-E for Q | with a balcony",
		"E completion-E after query-E for Q | Room 4",
		"Q delegation-complete-Q.finishAllToolCalls after delegate-c3 | 2")
}

// A stream in which Runs go on from each other in a circle is no reason to hang.
func TestTimelineOfACircle(t *testing.T) {
	var tl Timeline
	tell(&tl, []said{
		{"A", StartRun{From: &Origin{RunID: "B"}}}, {"B", StartRun{From: &Origin{RunID: "A"}}}, {"A", StartRun{From: &Origin{RunID: "B"}}},
		{"A", CallDelegate{Delegates: []DelegateRun{{ToolCallID: "c", RunID: "A"}}}}, {"A", FinishAllToolCalls{}},
	})
}
