package history

import (
	"errors"
	"syscall"
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
		by      *store.Sealer // seals the job
		with    *store.Sealer // copies it
		trusted bool
		last    int64
		full    bool // the disk has no space for all of it
		fails   bool
	}{
		"sealed":               {by: sealer, with: sealer, last: 2},
		"sealed and trusted":   {by: sealer, with: sealer, trusted: true, last: 2},
		"all of it":            {by: sealer, with: sealer, last: 3},
		"a record too many":    {by: sealer, with: sealer, last: 4, fails: true},
		"not sealed":           {with: sealer, last: 2, fails: true},
		"by another key":       {by: store.NewSealer("project", store.SealKey{2}), with: sealer, last: 2, fails: true},
		"of another project":   {by: store.NewSealer("other", key), with: sealer, last: 2, fails: true},
		"not sealed, trusted":  {with: sealer, trusted: true, last: 2},
		"another key, trusted": {by: store.NewSealer("project", store.SealKey{2}), with: sealer, trusted: true, last: 2},
		"without a key":        {last: 2},
		"half of it":           {by: sealer, with: sealer, last: 3, full: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := &disk{}
			s := file.New(t.TempDir(), &file.Options{Disk: d})
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
			if c.full {
				d.writes = 2
			}
			err = Fork(t.Context(), s, c.with, c.trusted, "old", "new", c.last)
			if c.fails != (err != nil) {
				t.Fatalf("Fork: %v", err)
			}
			if n, err := count(t, s, "old", nil); n != 3 || err != nil {
				t.Fatalf("the job itself has %d records, %v", n, err)
			}
			n, err := count(t, s, "new", func(r store.Record) {
				// The user vouches for what the user has sealed, and for nothing else.
				if sealed := c.by == sealer; r.Event.JobID != "new" || (r.Seal != "") != sealed {
					t.Errorf("record %d of job %q, seal %q", r.Seq, r.Event.JobID, r.Seal)
				}
			})
			if c.fails {
				if !errors.Is(err, store.ErrNotFound) {
					t.Errorf("%d records are left: %v", n, err)
				}
			} else if n != c.last || err != nil {
				t.Errorf("%d records were copied, want %d: %v", n, c.last, err)
			}
		})
	}
}

// A disk has no space after so many writes to journals; 0 for always.
type disk struct{ writes int }

func (d *disk) Do(op, name string, size int, run func(int) error) error {
	if op == file.OpWrite && name == "journal.jsonl" && d.writes > 0 {
		if d.writes--; d.writes == 0 {
			return syscall.ENOSPC
		}
	}
	return run(size)
}

// count calls look with the records of a job, and returns how many there are.
func count(t *testing.T, s store.Store, jobID string, look func(store.Record)) (n int64, err error) {
	t.Helper()
	for r, err := range s.Read(t.Context(), jobID, 0) {
		if err != nil {
			return n, err
		}
		if n++; look != nil {
			look(r)
		}
	}
	return n, nil
}
