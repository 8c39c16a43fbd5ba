package complete

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store/memory"
)

// record writes a job: each event is told by its Run, Expert and step.
func record(t *testing.T, s *memory.Store, jobID string, at int64, events ...event.Event) {
	t.Helper()
	journal, err := s.Open(t.Context(), jobID)
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	for _, e := range events {
		e.JobID, e.Timestamp = jobID, at
		if _, err := journal.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}

func of(run, key string, step int, body event.Body) event.Event {
	return event.Event{RunID: run, ExpertKey: key, StepNumber: step, Body: body}
}

// The checkpoints of a job are offered newest first, including those of delegates; what is not
// written yet is not. A journal can be untrusted.
func TestCheckpoints(t *testing.T) {
	s := memory.New()
	record(t, s, "old", 1, of("r0", "solo", 1, event.StartRun{CheckpointID: "o1"}), of("r0", "solo", 1, event.CompleteRun{}))
	record(t, s, "job", 2,
		of("r1", "lead", 1, event.StartRun{CheckpointID: "c1"}),
		of("r1", "lead", 1, event.ContinueToNextStep{NextCheckpointID: "c2"}),
		of("r1", "lead", 2, event.StopRunByDelegate{}),
		of("r2", "wri\x1b[31m\nter", 3, event.StartRun{CheckpointID: "c3"}),
		of("r3", "reader", 3, event.StartRun{CheckpointID: "c4\nevil"}),
		of("r3", "reader", 3, event.StopRunByInterrupt{}),
		of("r2", "wri\x1b[31m\nter", 3, event.ContinueToNextStep{NextCheckpointID: "c5"}),
	)
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	job := []cobra.Completion{"c3\tstep 3, wri ter", "c2\tstep 2, lead", "c1\tstep 1, lead"}
	for name, tt := range map[string]struct {
		job    string
		newest bool
		want   []cobra.Completion
	}{
		"named":   {"job", false, job},
		"newest":  {"", true, job},
		"both":    {"old", true, []cobra.Completion{"o1\tstep 1, solo"}},
		"neither": {"", false, nil},
		"no job":  {"gone", false, nil},
		"no id":   {"../x", false, nil},
	} {
		got, directive := Checkpoints(cmd, s, tt.job, tt.newest)
		if diff := cmp.Diff(tt.want, got); diff != "" || directive&cobra.ShellCompDirectiveNoFileComp == 0 {
			t.Errorf("%s: directive %v, offers (-want +got):\n%s", name, directive, diff)
		}
	}
}

// Of a long job the newest are offered, and no more than a person reads.
func TestCheckpointsAreBounded(t *testing.T) {
	s := memory.New()
	events := []event.Event{of("r", "e", 1, event.StartRun{CheckpointID: "c1"})}
	const steps = 333
	for i := 1; i <= steps; i++ {
		events = append(events, of("r", "e", i, event.ContinueToNextStep{NextCheckpointID: fmt.Sprintf("c%d", i+1)}))
	}
	record(t, s, "job", 1, events...)
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	got, _ := Checkpoints(cmd, s, "job", false)
	if len(got) != mostCheckpoints || got[0] != "c333\tstep 333, e" || got[mostCheckpoints-1] != "c284\tstep 284, e" {
		t.Errorf("%d offers, from %q to %q", len(got), got[0], got[len(got)-1])
	}
}

// Of many jobs, the newest are offered, and only those are read that can be meant.
func TestJobs(t *testing.T) {
	s := memory.New()
	for i := range 120 {
		record(t, s, fmt.Sprintf("job-%03d", i), int64(i), of("r", "wri\x1b[31mter", 1, event.StartRun{CheckpointID: "c"}), of("r", "x", 1, event.CompleteRun{}))
	}
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	for start, want := range map[string][]string{
		"":        {"50", "job-119\tcompleted, writer", "job-070\tcompleted, writer"},
		"job-":    {"50", "job-000\tcompleted, writer", "job-049\tcompleted, writer"},
		"job-00":  {"10", "job-000\tcompleted, writer", "job-009\tcompleted, writer"},
		"job-007": {"1", "job-007\tcompleted, writer", "job-007\tcompleted, writer"},
		"other":   {"0"},
	} {
		got, directive := Jobs(cmd, s, start)
		found := []string{fmt.Sprint(len(got))}
		if len(got) > 0 {
			found = append(found, got[0], got[len(got)-1])
		}
		if diff := cmp.Diff(want, found); diff != "" || directive&cobra.ShellCompDirectiveNoFileComp == 0 {
			t.Errorf("%q: directive %v (-want +got):\n%s", start, directive, diff)
		}
	}
}
