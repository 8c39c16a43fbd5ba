package log

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/store/memory"
)

// A person sees the same of a job as it happens and afterwards: `perstack run` and
// `perstack log` tell of the same rows, and in the same words.
func TestRunAndLogShowTheSameRows(t *testing.T) {
	s := memory.New()
	tellTeam(t, s)
	tellLong(t, s)
	tellTalk(t, s)
	tellHosted(t, s)
	tellQueue(t, s).end()
	// What a delegate returned to a branch has a row there: it was called before.
	for job, want := range map[string]map[narrate.Kind]int{
		"teamjob":   {narrate.Query: 6, narrate.Delegate: 5, narrate.Returned: 2, narrate.Result: 4, narrate.Failure: 1, narrate.Stopped: 2, narrate.Limit: 3, narrate.Tool: 1},
		"hostedjob": {narrate.Query: 2, narrate.Provider: 4, narrate.Retry: 1, narrate.Tool: 1, narrate.Result: 2},
		"queuejob":  {narrate.Query: 3, narrate.Delegate: 3, narrate.Limit: 1, narrate.Stopped: 1},
		"longjob":   {narrate.Query: 2, narrate.Retry: 1, narrate.Tool: 4, narrate.Question: 1, narrate.Answer: 1, narrate.Result: 1, narrate.Definition: 1, narrate.Failure: 1},
		"talkjob":   {narrate.Query: 3, narrate.Reasoning: 1, narrate.Message: 1, narrate.Tool: 2, narrate.Question: 1, narrate.Stopped: 1, narrate.Result: 1},
	} {
		var live narrate.Narrator
		var shown strings.Builder
		screen := lines.New(&shown, lines.Options{})
		told := make(map[string][]string) // by Run
		kinds := make(map[narrate.Kind]int)
		seen := make(map[string]bool)
		for r, err := range s.Read(t.Context(), job, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if err := screen.Emit(r.Event); err != nil {
				t.Fatal(err)
			}
			for _, row := range narrate.Rows(live.Apply(r.Event)) {
				told[row.Run] = append(told[row.Run], fmt.Sprintf("%+v", row))
				if open := row.State == narrate.Pending || row.Kind == narrate.Tool && row.State == narrate.Running; !open && !seen[row.ID] {
					seen[row.ID] = true
					kinds[row.Kind]++
				}
			}
		}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Errorf("%s: rows (-want +got)\n%s", job, diff)
		}
		got := make(map[string][]string)
		opts := &Options{Job: job, Events: true, Host: &host.Host{}}
		v, err := look(t.Context(), opts, s, job)
		if err != nil {
			t.Fatal(err)
		}
		_, err = v.walk(t.Context(), func(_ int64, e event.Event, rows []narrate.Row) error {
			for _, row := range rows {
				got[e.RunID] = append(got[e.RunID], fmt.Sprintf("%+v", row))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for run := range told {
			slices.Sort(told[run]) // the row of a result stands at the end of its turn
			slices.Sort(got[run])
		}
		if diff := cmp.Diff(told, got); diff != "" {
			t.Errorf("%s: rows of a Run (-run +log)\n%s", job, diff)
		}
		logged, _, _ := perstackLog(t, s, job, "--events", "--take", "0")
		for l := range strings.Lines(shown.String()) {
			l = strings.TrimSpace(l)
			if name, rest, ok := strings.Cut(l, "] "); ok && strings.HasPrefix(name, "● [") {
				l = "● " + rest // while several are at work
			}
			if strings.HasPrefix(l, "● ") && !strings.Contains(logged, "  "+l) {
				t.Errorf("%s: the log is without %q", job, l)
			}
		}
	}
}
