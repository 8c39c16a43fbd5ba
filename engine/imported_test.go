package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
)

// A job that another program recorded is read and not continued, with or without a history that
// the caller folded before.
func TestImportedJobIsNotContinued(t *testing.T) {
	b := newBench(t)
	journal, err := b.store.Open(t.Context(), "job")
	if err != nil {
		t.Fatal(err)
	}
	start := event.StartRun{CheckpointID: "cp", Expert: event.ExpertRef{Key: "writer", Name: "writer"}, Imported: &event.Import{Program: "another"}}
	for i, body := range []event.Body{start, event.StartGeneration{}, event.CompleteRun{}} {
		e := event.Event{ID: string(rune('a' + i)), JobID: "job", RunID: "run", ExpertKey: "writer", StepNumber: 1, Body: body}
		if _, err := journal.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	history, err := Load(t.Context(), b.store, "job")
	if err != nil || history.Job.Imported == nil {
		t.Fatal(history.Job, err)
	}
	spec := b.spec(job.Input{Query: "More.", Continue: true})
	for name, parts := range map[string]Parts{"folded": {Store: b.store, History: history}, "not folded": {Store: b.store}} {
		_, err := openHistory(t.Context(), journal, spec, parts)
		if wrong, ok := errors.AsType[*JobError](err); !ok || wrong.Problem != JobImported {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The id that a Spec gives to a Run is checked before anything is recorded.
func TestRunIDOfASpec(t *testing.T) {
	h := NewHistory()
	seq := int64(0)
	for _, body := range []event.Body{
		event.StartRun{CheckpointID: "cp", Expert: event.ExpertRef{Key: "writer"}}, event.StartGeneration{}, event.StopRunByInterrupt{Reason: "x"},
	} {
		seq++
		h.Apply(store.Record{Seq: seq, Event: event.Event{ID: "e", JobID: "job", RunID: "old", ExpertKey: "writer", StepNumber: 1, Body: body}})
	}
	b := newBench(t)
	for _, test := range []struct {
		name, id string
		in       job.Input
		want     string
	}{
		{"a new job", "mine", job.Input{Query: "Go."}, ""},
		{"no id of a run", "../x", job.Input{Query: "Go."}, "invalid id"},
		{"a new query", "mine", job.Input{Query: "Go.", Continue: true}, ""},
		{"a new query, an old run", "old", job.Input{Query: "Go.", Continue: true}, "has a run old already"},
		{"resumed", "old", job.Input{Continue: true}, ""},
		{"resumed as another", "mine", job.Input{Continue: true}, "resumes its run old, which keeps its id"},
	} {
		spec := b.spec(test.in)
		spec.RunID = test.id
		st, err := plan(spec, b.source, h)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if err == nil && st.runID != test.id {
			t.Errorf("%s: the run is %s", test.name, st.runID)
		}
	}
}
