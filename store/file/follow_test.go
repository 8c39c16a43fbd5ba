package file

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/storetest"
)

// A line that is being written is no error for a reader that follows: it waits for the rest.
func TestFollowOverATornLine(t *testing.T) {
	dir := t.TempDir()
	s := New(dir, nil)
	events := storetest.Sample("job1")
	j := mustOpen(t, s)
	defer j.abandon()
	mustAppend(t, j, events[0])
	chain := store.Chain{JobID: "job1", Head: j.Head()}
	next, err := chain.Next(events[1])
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "jobs", "job1", journalName)
	half := len(next.Line) / 2
	pieces := [][]byte{next.Line[:half], next.Line[half:], []byte("\n")}
	var seen []int64
	done := errors.New("done")
	for r, err := range s.Follow(t.Context(), "job1", func() error {
		if len(pieces) == 0 {
			return done
		}
		if len(seen) != 1 {
			t.Errorf("%d records before the line was complete", len(seen))
		}
		f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(pieces[0])
		pieces = pieces[1:]
		return errors.Join(err, f.Close())
	}) {
		if err != nil {
			if !errors.Is(err, done) {
				t.Fatal(err)
			}
			break
		}
		seen = append(seen, r.Seq)
	}
	if !slices.Equal(seen, []int64{1, 2}) {
		t.Errorf("records %v, want 1 and 2", seen)
	}
}
