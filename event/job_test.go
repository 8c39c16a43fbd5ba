package event

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/rawjson"
)

// steps is a recorded Spec that limits the steps of its job.
func steps(n int) rawjson.Value {
	return rawjson.Value(fmt.Sprintf(`{"limits":{"maxSteps":%d}}`, n))
}

func tokens(n int) Usage { return Usage{InputTokens: n, OutputTokens: 1, TotalTokens: n + 1} }

// A job knows what each model was used for, and how it began.
func TestJobModels(t *testing.T) {
	long := Usage{InputTokens: LongRequest + 1, TotalTokens: LongRequest + 1}
	said := func(text string) []*Message {
		return []*Message{{Type: InstructionMessage, Contents: []Part{{Type: TextPart, Text: "Be good."}}}, {Type: UserMessage, Contents: []Part{{Type: TextPart, Text: text}}}}
	}
	query := strings.Repeat("é", maxQuery+1)
	var j, before Job
	for i, e := range []Event{
		{RunID: "a", Body: StartRun{Provider: "p", Model: "m", InputMessages: said(query), Spec: rawjson.Value(`{"prices":{"m":{"input":1}}}`)}},
		{RunID: "a", Body: CallTools{Usage: tokens(5)}},
		{RunID: "a", Body: StopRunByDelegate{}},
		{RunID: "b", Body: StartRun{Provider: "p", Model: "n", DelegatedBy: &Parent{RunID: "a"}, InputMessages: said("other")}},
		{RunID: "b", Body: CallTools{Usage: long}},
		{RunID: "b", Body: CompleteRun{Usage: tokens(2)}},
		{RunID: "a", Body: StartRun{Provider: "p", Model: "m", From: &Origin{RunID: "a"}}},
		{RunID: "a", Body: Retry{Usage: tokens(3)}},
		{RunID: "c", Body: StartRun{}}, // of a journal that does not say which model
		{RunID: "c", Body: Retry{Usage: tokens(1)}},
	} {
		if i == 5 {
			before = j
		}
		j = j.Apply(e)
	}
	want := []ModelUse{{Provider: "p", Model: "m", Usage: tokens(5).Add(tokens(3))}, {Provider: "p", Model: "n", Usage: tokens(2), Long: long}}
	if diff := cmp.Diff(want, j.Models); diff != "" {
		t.Error(diff)
	}
	if j.Query != strings.Repeat("é", maxQuery) || string(j.Prices) != `{"m":{"input":1}}` {
		t.Errorf("query %q, prices %s", j.Query, j.Prices)
	}
	if diff := cmp.Diff(map[string]int{"c": unknownModel}, j.Open); diff != "" {
		t.Error(diff)
	}
	// Apply is pure: what was folded before is as it was.
	if before.Models[1].Usage.TotalTokens != 0 || before.Open["b"] != 1 {
		t.Errorf("an earlier job changed: %+v", before)
	}
}

// A forged journal makes no job that grows without end.
func TestJobIsBounded(t *testing.T) {
	var j Job
	for i := range 2 * maxOpen {
		j = j.Apply(Event{RunID: fmt.Sprint(i), Body: StartRun{Provider: "p", Model: fmt.Sprint(i)}})
	}
	if len(j.Models) != maxModels || len(j.Open) > maxOpen {
		t.Errorf("%d models, %d open Runs", len(j.Models), len(j.Open))
	}
	before := j.Models[0]
	if j = j.Apply(Event{RunID: "late", Body: StartRun{Provider: "p", Model: "1"}}).Apply(Event{RunID: "late", Body: Retry{Usage: tokens(1)}}); j.Models[0].Usage.TotalTokens != before.Usage.TotalTokens {
		t.Error("a Run that did not fit counts as one of the first model")
	}
	j.Usage = Usage{}
	j.Open = map[string]int{"a": 99, "b": -1} // from a file
	j = j.Apply(Event{RunID: "a", Body: Retry{Usage: tokens(1)}}).Apply(Event{RunID: "b", Body: Retry{Usage: tokens(1)}})
	if j.Usage.InputTokens != 2 {
		t.Error(j.Usage)
	}
}

func TestJobApply(t *testing.T) {
	again := tokens(7)
	parent := &Parent{RunID: "a"}
	on := func(run string, b Body) Event { return Event{RunID: run, ExpertKey: "expert-" + run, Body: b} }
	start := on("a", StartRun{})
	tests := []struct {
		name   string
		events []Event
		want   Job // ID, StartedAt and the coordinator are the same in all
	}{
		{
			"an answer in one step",
			[]Event{start, on("a", StartGeneration{}), on("a", CompleteRun{Usage: tokens(5)})},
			Job{Status: JobCompleted, TotalSteps: 1, Usage: tokens(5), FinishedAt: 3},
		},
		{
			"steps are generations and resumptions, usage is counted once",
			[]Event{
				start, on("a", StartGeneration{}), on("a", CallTools{Usage: tokens(7)}),
				on("a", CallDelegate{Usage: &again}), on("a", StopRunByDelegate{}),
				start, on("a", ResumeToolCalls{}), on("a", CallInteractiveTool{Usage: &again}),
				on("a", StopRunByInteractiveTool{}),
				start, on("a", FinishAllToolCalls{}),
			},
			Job{Status: JobRunning, TotalSteps: 3, Usage: tokens(7)},
		},
		{
			"waiting for the user is no end",
			[]Event{start, on("a", StopRunByInteractiveTool{})},
			Job{Status: JobStoppedByInteractiveTool},
		},
		{
			"waiting for a delegate is running",
			[]Event{start, on("a", StopRunByDelegate{})},
			Job{Status: JobRunning},
		},
		{
			"a delegate's answer is not the job's",
			[]Event{
				start, on("a", StopRunByDelegate{}), on("b", StartRun{DelegatedBy: parent}),
				on("b", StartGeneration{}), on("b", CompleteRun{Usage: tokens(4)}),
			},
			Job{Status: JobRunning, TotalSteps: 1, Usage: tokens(4)},
		},
		{
			"nor is its failure, and full events say the same",
			[]Event{
				start, on("a", StopRunByDelegate{}),
				on("b", StartRun{InitialCheckpoint: &Checkpoint{DelegatedBy: parent}}),
				on("b", StopRunByError{Usage: tokens(4)}),
			},
			Job{Status: JobRunning, Usage: tokens(4)},
		},
		{
			"what stops the whole job stops the coordinator, and that is the end",
			[]Event{
				start, on("a", StopRunByDelegate{}), on("b", StartRun{DelegatedBy: parent}), on("b", StopRunByInterrupt{}),
				on("a", StartRun{From: &Origin{RunID: "a"}}), on("a", StopRunByInterrupt{}),
			},
			Job{Status: JobStoppedByInterrupt, FinishedAt: 6},
		},
		{
			"a delegate that resumes does not open the job again",
			[]Event{start, on("a", StopRunByInterrupt{}), on("b", StartRun{DelegatedBy: parent, Spec: steps(9)}), on("b", StartGeneration{})},
			Job{Status: JobStoppedByInterrupt, FinishedAt: 2, TotalSteps: 1, MaxSteps: 9},
		},
		{
			"the end of an older branch is not the job's",
			[]Event{start, on("c", StartRun{}), on("a", StopRunByInterrupt{})},
			Job{Status: JobRunning, CoordinatorRunID: "c"},
		},
		{
			"a failed generation is paid for",
			[]Event{start, on("a", Retry{Usage: tokens(2)}), on("a", StopRunByError{Usage: tokens(3)})},
			Job{Status: JobStoppedByError, Usage: Usage{InputTokens: 5, OutputTokens: 2, TotalTokens: 7}, FinishedAt: 3},
		},
		{
			"steps used up",
			[]Event{on("a", InitializeRuntime{}), on("a", StartRun{Spec: steps(3)}), on("a", StopRunByExceededMaxSteps{})},
			Job{Status: JobStoppedByMaxSteps, MaxSteps: 3, FinishedAt: 3},
		},
		{
			"a limit",
			[]Event{start, on("a", StopRunByLimit{})},
			Job{Status: JobStoppedByLimit, FinishedAt: 2},
		},
		{
			"continued: running again, the end forgotten",
			[]Event{start, on("a", CompleteRun{Usage: tokens(5)}), on("c", StartRun{})},
			Job{Status: JobRunning, Usage: tokens(5), CoordinatorRunID: "c"},
		},
		{
			"continued and completed by the new Run",
			[]Event{start, on("a", CompleteRun{}), on("c", StartRun{}), on("c", CompleteRun{})},
			Job{Status: JobCompleted, FinishedAt: 4, CoordinatorRunID: "c"},
		},
		{
			"transport retries and streams open no step",
			[]Event{start, on("a", StartGeneration{}), on("a", Retry{Transport: true}), on("a", StreamReasoning{})},
			Job{Status: JobRunning, TotalSteps: 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got Job
			for i, e := range tt.events {
				e.JobID, e.Timestamp = "job", int64(i+1)
				got = got.Apply(e)
			}
			tt.want.ID, tt.want.StartedAt, tt.want.CoordinatorExpertKey = "job", 1, "expert-a"
			tt.want.UpdatedAt = int64(len(tt.events))
			if tt.want.CoordinatorRunID == "" {
				tt.want.CoordinatorRunID = "a"
			}
			got.Open = nil // see TestJobModels
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

// However a delegate ends, its job is as it was: steps and usage apart.
func TestDelegateDoesNotEndTheJob(t *testing.T) {
	ends := []Body{
		CompleteRun{Usage: tokens(3)}, StopRunByError{Usage: tokens(3)}, StopRunByExceededMaxSteps{}, StopRunByLimit{Limit: LimitDepth},
		StopRunByInterrupt{}, StopRunByInteractiveTool{}, StopRunByDelegate{},
	}
	statuses := make(map[Status]bool)
	for _, end := range ends {
		status, ok := Event{Body: end}.EndStatus()
		if !ok {
			t.Fatalf("%T is no end", end)
		}
		statuses[status] = true
		t.Run(string(status), func(t *testing.T) {
			for _, full := range []bool{false, true} {
				child := StartRun{DelegatedBy: &Parent{RunID: "a"}}
				if full {
					child = StartRun{InitialCheckpoint: &Checkpoint{DelegatedBy: child.DelegatedBy}}
				}
				var j Job
				for i, e := range []Event{{RunID: "a", Body: StartRun{}}, {RunID: "a", Body: StopRunByDelegate{}}, {RunID: "b", Body: child}, {RunID: "b", Body: end}} {
					e.JobID, e.Timestamp = "job", int64(i+1)
					j = j.Apply(e)
				}
				if j.Status != JobRunning || j.FinishedAt != 0 || j.CoordinatorRunID != "a" || j.UpdatedAt != 4 {
					t.Errorf("full %t: the job is %+v", full, j)
				}
			}
		})
	}
	if len(statuses) != 7 {
		t.Errorf("%d ways to end were tried", len(statuses))
	}
}

func TestUsageAdd(t *testing.T) {
	u := Usage{InputTokens: 1, OutputTokens: 2, ReasoningTokens: 3, TotalTokens: 4, CachedInputTokens: 5}
	want := Usage{InputTokens: 2, OutputTokens: 4, ReasoningTokens: 6, TotalTokens: 8, CachedInputTokens: 10}
	if d := cmp.Diff(want, u.Add(u)); d != "" {
		t.Error(d)
	}
}

// Every answer counts once: that of a turn, of a useless turn, and of a turn that was
// given up at the end. An event that repeats it, or has no request, adds nothing.
func TestUsageOfEvents(t *testing.T) {
	u := Usage{InputTokens: 3, OutputTokens: 4, TotalTokens: 7}
	for _, tt := range []struct {
		body Body
		want int
	}{
		{CallTools{Usage: u}, 7}, {Retry{Usage: u}, 7}, {CompleteRun{Usage: u}, 7}, {StopRunByError{Usage: u}, 7},
		{StopRunByExceededMaxSteps{Usage: u}, 7}, {StopRunByLimit{Usage: u}, 7}, {StopRunByInterrupt{Usage: u}, 7},
		{CallDelegate{Usage: &u}, 0}, {CallInteractiveTool{Usage: &u}, 0}, {StartGeneration{}, 0}, {StopRunByDelegate{}, 0},
	} {
		e := Event{RunID: "r", Body: tt.body}
		if got, job := e.Usage().TotalTokens, (Job{}).Apply(e).Usage.TotalTokens; got != tt.want || job != tt.want {
			t.Errorf("%T: %d, and %d in the job, want %d", tt.body, got, job, tt.want)
		}
	}
}
