package log

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func TestJobsAsJSON(t *testing.T) {
	s := memory.New()
	tellLong(t, s)
	tellBroken(t, s).end()
	out, errOut, code := perstackLog(t, s, "--json")
	var got []string
	for _, line := range split(out) {
		var job event.Job
		if err := json.Unmarshal([]byte(line), &job); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		got = append(got, job.ID+" "+string(job.Status))
	}
	want := []string{"brokenjob interrupted", "longjob stoppedByError"}
	if !slices.Equal(got, want) || errOut != "" || code != 0 {
		t.Errorf("jobs = %q, stderr %q, code %d, want %q", got, errOut, code, want)
	}
}

func TestEventsAsJSON(t *testing.T) {
	s := memory.New()
	tellLong(t, s)
	out, _, code := perstackLog(t, s, "longjob", "--json")
	var types []string
	for _, line := range split(out) {
		e, err := event.Unmarshal([]byte(line))
		if err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		types = append(types, string(e.Type()))
		switch b := e.Body.(type) {
		case event.StartGeneration:
			if len(b.Messages) == 0 {
				t.Errorf("%s is not in its full form", line)
			}
		case event.CompleteRun:
			if b.Checkpoint == nil || b.Text == nil {
				t.Errorf("%s is not in its full form", line)
			}
		}
	}
	if len(types) != 22 || code != 0 || slices.Contains(types, "endToolCall") {
		t.Errorf("%d events, code %d: %q", len(types), code, types)
	}
	out, _, _ = perstackLog(t, s, "longjob", "--json", "--take", "2", "--errors", "--type", "completeRun")
	if got := split(out); len(got) != 2 || !strings.HasPrefix(got[0], `{"type":"completeRun"`) || !strings.HasPrefix(got[1], `{"type":"stopRunByError"`) {
		t.Errorf("the newest two = %q", got)
	}
}

func TestRecordsAreVerbatim(t *testing.T) {
	s := memory.New()
	tellLong(t, s)
	var all, calls, failed []string
	teller := newTeller()
	for r, err := range s.Read(t.Context(), "longjob", 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(r.Line))
		rows := teller.tell(r.Event).own
		if isTool(r.Event, rows) {
			calls = append(calls, string(r.Line))
		}
		if isError(r.Event, rows) {
			failed = append(failed, string(r.Line))
		}
	}
	if len(calls) != 15 || len(failed) != 4 { // a retry, two results, the end
		t.Errorf("%d records are about tools, %d about errors", len(calls), len(failed))
	}
	for args, want := range map[string][]string{
		"longjob --records":                     all,
		"longjob --records --tools":             calls,
		"longjob --records --take 3 --offset 1": all[len(all)-4 : len(all)-1],
		"longjob --records --errors":            failed,
		"longjob --records --type proxyAccess":  nil,
	} {
		out, errOut, code := perstackLog(t, s, strings.Fields(args)...)
		if got := split(out); !slices.Equal(got, want) || errOut != "" || code != 0 {
			t.Errorf("log %s: %d lines, want %d; stderr %q, code %d", args, len(got), len(want), errOut, code)
		}
	}
}

func TestCheckpointAsJSON(t *testing.T) {
	s := memory.New()
	tellLong(t, s)
	out, _, code := perstackLog(t, s, "--checkpoint", "cp1", "--json")
	var cp event.Checkpoint
	if err := json.Unmarshal([]byte(out), &cp); err != nil || code != 0 {
		t.Fatal(err, code)
	}
	if cp.ID != "cp1" || cp.StepNumber != 1 || len(cp.Messages) != 4 {
		t.Errorf("checkpoint = %+v", cp)
	}
}

// A newer perstack may have written records that this one does not know.
func TestUnknownEventTypes(t *testing.T) {
	s := newer{memory.New()}
	tellLong(t, s.Store)
	out, errOut, code := perstackLog(t, s, "longjob", "--events")
	if !strings.Contains(out, "[Step 2] stopRunByError") || code != 0 ||
		!strings.Contains(errOut, "1 records have types that this version of perstack does not know") {
		t.Errorf("code %d, stderr %q, stdout:\n%s", code, errOut, out)
	}
	out, errOut, _ = perstackLog(t, s, "longjob", "--records")
	if got := split(out); len(got) != 31 || got[30] != "the unknown" || errOut != "" {
		t.Errorf("%d records, stderr %q, the last %q", len(got), errOut, got[len(got)-1])
	}
}

// newer is a store whose journals end with a record of a type that is not known.
type newer struct{ store.Store }

func (n newer) Read(ctx context.Context, jobID string, after int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		var last int64
		for r, err := range n.Store.Read(ctx, jobID, after) {
			if !yield(r, err) {
				return
			}
			last = r.Seq
		}
		yield(store.Record{Seq: last + 1, Line: []byte("the unknown")}, event.ErrUnknownType)
	}
}
