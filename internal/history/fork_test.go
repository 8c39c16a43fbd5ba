package history

import (
	"errors"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// A copy is sealed, so it has only what was sealed before: else another program could have its words
// sealed by the user.
func TestFork(t *testing.T) {
	key := store.SealKey{1}
	sealer := store.NewSealer("project", key)
	for name, c := range map[string]struct {
		by    *store.Sealer // seals the job
		with  *store.Sealer // copies it
		last  int64
		fails bool
	}{
		"sealed":               {sealer, sealer, 2, false},
		"all of it":            {sealer, sealer, 3, false},
		"a record too many":    {sealer, sealer, 4, true},
		"not sealed":           {nil, sealer, 2, true},
		"by another key":       {store.NewSealer("project", store.SealKey{2}), sealer, 2, true},
		"of another project":   {store.NewSealer("other", key), sealer, 2, true},
		"not sealed, believed": {nil, store.NewSealer("project", key).Trusting(), 2, false},
		"without a key":        {nil, nil, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := file.New(t.TempDir(), nil)
			j, err := s.WithSeal(c.by).Open(t.Context(), "old")
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close() // a process still works on it
			for _, body := range []event.Body{event.StartRun{}, event.StartGeneration{}, event.StartGeneration{}} {
				if _, err := j.Append(t.Context(), event.Event{ID: "e", JobID: "old", RunID: "r", ExpertKey: "lead", StepNumber: 1, Body: body}); err != nil {
					t.Fatal(err)
				}
			}
			err = Fork(t.Context(), s, c.with, "old", "new", c.last)
			if c.fails != (err != nil) {
				t.Fatalf("Fork: %v", err)
			}
			count := int64(0)
			for r, err := range s.Read(t.Context(), "new", 0) {
				if c.fails && errors.Is(err, store.ErrNotFound) {
					return
				}
				if err != nil || r.Event.JobID != "new" || r.Seal == "" && c.with != nil {
					t.Fatalf("record %d of job %q, seal %q: %v", r.Seq, r.Event.JobID, r.Seal, err)
				}
				count++
			}
			if count != c.last {
				t.Errorf("%d records were copied, want %d", count, c.last)
			}
		})
	}
}
