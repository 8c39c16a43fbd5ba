package run

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/store"
)

// planned is the history of a job that planned. Its Run ends at checkpoint c1 and, after it delegated, at
// c2; its delegate ends at d1.
func planned(accepted, takenBack bool) *engine.History {
	h := engine.NewHistory()
	var seq int64
	add := func(runID string, body event.Body) {
		seq++
		h.Apply(store.Record{Seq: seq, Event: event.Event{JobID: "j", RunID: runID, Body: body}})
	}
	add("r", event.StartRun{CheckpointID: "c1", Plan: true})
	if accepted {
		add("r", event.PlanAccepted{})
	}
	add("r", event.StopRunByDelegate{})
	add("d", event.StartRun{CheckpointID: "d1", DelegatedBy: &event.Parent{RunID: "r", CheckpointID: "c1"}})
	add("d", event.CompleteRun{})
	add("r", event.StartRun{CheckpointID: "c2", From: &event.Origin{RunID: "r", CheckpointID: "c1"}, Plan: !accepted})
	add("r", event.CompleteRun{})
	if takenBack {
		add("r", event.Rewound{})
	}
	return h
}

// The user is told when a job only plans, and that a plan that was accepted needs no other one.
func TestCheckPlan(t *testing.T) {
	open, accepted, back := planned(false, false), planned(true, false), planned(true, true)
	for _, tt := range []struct {
		name    string
		history *engine.History
		plan    bool
		options Options
		says    bool
		refused bool
	}{
		{name: "a new job"},
		{name: "a new job that plans", plan: true, says: true},
		{name: "continued while it plans", history: open, says: true},
		{name: "continued while it plans, from a delegate", history: open, options: Options{ResumeFrom: "d1"}, says: true},
		{name: "accepted", history: accepted},
		{name: "accepted, and asked again", history: accepted, plan: true, refused: true},
		{name: "accepted, and asked again from a delegate", history: accepted, plan: true, options: Options{ResumeFrom: "d1"}, refused: true},
		{name: "accepted, and a query", history: accepted, plan: true, options: Options{HasQuery: true}, says: true},
		{name: "accepted, and a file with a query", history: accepted, plan: true, options: Options{QueryFile: "f"}, says: true},
		{name: "accepted, without a seal", history: accepted, options: Options{TrustHistory: true}, says: true},
		{name: "accepted, without a seal, and asked again", history: accepted, plan: true, options: Options{TrustHistory: true}, says: true},
		{name: "taken back", history: back, says: true},
		{name: "taken back, from a checkpoint", history: back, options: Options{ResumeFrom: "c2"}},
	} {
		var stderr strings.Builder
		tt.options.Host = &host.Host{Stderr: &stderr}
		pl := &plan{opts: &tt.options, target: &target{jobID: "j", history: tt.history}, said: make(map[string]bool)}
		pl.spec.Approvals.Plan = tt.plan
		err := pl.checkPlan()
		if (err != nil) != tt.refused || strings.Contains(stderr.String(), "the job only plans") != tt.says {
			t.Errorf("%s: %v; %q", tt.name, err, stderr.String())
		}
	}
}
