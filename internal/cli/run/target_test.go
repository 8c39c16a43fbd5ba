package run

import (
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/store/memory"
)

// delegation records a job in which lead asked writer, which asked reader.
func delegation(t *testing.T) *memory.Store {
	t.Helper()
	s := memory.New()
	journal, err := s.Open(t.Context(), "job")
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	start := func(key, checkpoint string, parent *event.Parent) event.StartRun {
		name, version, _ := strings.Cut(key, "@")
		return event.StartRun{CheckpointID: checkpoint, Expert: event.ExpertRef{Key: key, Name: name, Version: version}, DelegatedBy: parent}
	}
	asked := func(key, run, checkpoint string) *event.Parent {
		return &event.Parent{Expert: event.ExpertRef{Key: key, Name: key}, RunID: run, CheckpointID: checkpoint}
	}
	lead := start("lead", "c1", nil)
	lead.Spec = rawjson.Value(`{"expert":"lead","provider":"openai"}`)
	for _, e := range []event.Event{
		{RunID: "r1", ExpertKey: "lead", Body: lead},
		{RunID: "r1", ExpertKey: "lead", Body: event.StopRunByDelegate{}},
		{RunID: "r2", ExpertKey: "writer@1.2.3", Body: start("writer@1.2.3", "c2", asked("lead", "r1", "c1"))},
		{RunID: "r2", ExpertKey: "writer@1.2.3", Body: event.StopRunByDelegate{}},
		{RunID: "r3", ExpertKey: "reader", Body: start("reader", "c3", asked("writer@1.2.3", "r2", "c2"))},
		{RunID: "r3", ExpertKey: "reader", Body: event.StopRunByInterrupt{}},
	} {
		e.JobID = "job"
		if _, err := journal.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// A checkpoint of any Expert of a job leads to the job's own Expert; a user who names one
// names that of the checkpoint.
func TestTarget(t *testing.T) {
	type place struct{ job, expert, from string }
	s := delegation(t)
	tests := []struct {
		job, expert, from string
		want              place
		err               string
	}{
		{from: "c1", want: place{"job", "lead", "c1"}},
		{from: "c2", want: place{"job", "lead", "c2"}},
		{from: "c3", want: place{"job", "lead", "c3"}},
		{job: "job", from: "c3", want: place{"job", "lead", "c3"}},
		{job: "job", expert: "reader", from: "c3", want: place{"job", "lead", "c3"}},
		{expert: "reader", from: "c3", want: place{"job", "lead", "c3"}},
		{expert: "writer", from: "c2", want: place{"job", "lead", "c2"}},
		{expert: "writer@1.2.3", from: "c2", want: place{"job", "lead", "c2"}},
		{expert: "writer@2.0.0", from: "c2", err: "checkpoint c2 is of expert writer@1.2.3, not of writer@2.0.0"},
		{expert: "lead", from: "c3", err: "checkpoint c3 is of expert reader, not of lead; name that Expert, or none"},
		{job: "job", expert: "reader", from: "c1", err: "checkpoint c1 is of expert lead, not of reader"},
		{expert: "a shorter one", from: "c2", err: "the query comes after the expert: perstack run writer@1.2.3 <query>"},
		{from: "c9", err: "not found in any job"},
		{job: "job", from: "c9", want: place{"job", "lead", "c9"}}, // the engine says what is wrong
		{job: "job", want: place{"job", "lead", ""}},
		{job: "job", expert: "lead", want: place{"job", "lead", ""}},
	}
	for _, tt := range tests {
		o := &Options{Host: &host.Host{Source: engine.FixedSource(time.UnixMilli(0))}, ContinueJob: tt.job, Expert: tt.expert, ResumeFrom: tt.from}
		got, err := findTarget(t.Context(), o, s)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) || host.ExitCode(err) != host.ExitUsage {
				t.Errorf("%+v: error %v, want a usage error with %q", tt, err, tt.err)
			}
		case err != nil || place{got.jobID, got.expertKey, got.from} != tt.want || got.history == nil || tt.from != "c9" && got.recorded.Provider != "openai":
			t.Errorf("%+v: %+v, %v", tt, got, err)
		}
	}
}
