package local_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

// write is an Expert's plan: files of 100,000 bytes, one a turn, then a word.
func write(files int) string {
	var turns strings.Builder
	for i := range files {
		fmt.Fprintf(&turns, "[[turn]]\n[[turn.call]]\ntool = \"writeTextFile\"\nargs = { path = \"f%d.txt\", text = \"%s\" }\n", i, strings.Repeat("x", 100_000))
	}
	turns.WriteString("[[turn]]\ntext = \"Done.\"\n")
	return turns.String()
}

// A writer is run with one limit after another.
type writer struct {
	dir      string
	cassette string
	history  store.Store
	asked    int // the model, how often
}

func (j *writer) run(t *testing.T, limit int64, in job.Input) engine.Result {
	t.Helper()
	spec := writerSpec(j.dir)
	spec.Input = in
	spec.Limits.MaxWorkspaceBytes = limit
	parts := newParts(t, j.cassette, func(e event.Event) error {
		if e.Type() == "startGeneration" {
			j.asked++
		}
		return nil
	})
	parts.Store = j.history
	r, err := local.Run(t.Context(), spec, parts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The file tools are measured too: the run stops after the write that was too much, and
// continues when more is allowed.
func TestMaxWorkspaceBytes(t *testing.T) {
	j := &writer{dir: t.TempDir(), cassette: write(5), history: memory.New()}
	r := j.run(t, 250_000, job.Input{Query: "go"})
	if r.Status != event.StatusStoppedByLimit || r.Limit == nil || r.Limit.Limit != event.LimitWorkspace {
		t.Fatalf("%+v", r)
	}
	if r.Limit.Max != 250_000 || r.Limit.Used <= 250_000 {
		t.Errorf("limit %+v", r.Limit)
	}
	written, err := filepath.Glob(filepath.Join(j.dir, "f*.txt"))
	if err != nil || len(written) != 3 {
		t.Errorf("wrote %v, %v; want three files", written, err)
	}
	// Too large already: no model is asked.
	before := j.asked
	if r := j.run(t, 250_000, job.Input{Continue: true}); r.Status != event.StatusStoppedByLimit || j.asked != before {
		t.Errorf("again: %+v, the model was asked %d times", r, j.asked-before)
	}
	if r := j.run(t, 1<<30, job.Input{Continue: true}); r.Status != event.StatusCompleted || r.Limit != nil {
		t.Errorf("with more allowed: %+v", r)
	}
}

func TestNoLimit(t *testing.T) {
	j := &writer{dir: t.TempDir(), cassette: write(2), history: memory.New()}
	if err := os.WriteFile(filepath.Join(j.dir, "large.txt"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := j.run(t, 0, job.Input{Query: "go"}); r.Status != event.StatusCompleted {
		t.Errorf("%+v", r)
	}
}
