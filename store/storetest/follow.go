package storetest

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/perstack-go/perstack/store"
)

// testFollow appends while a reader waits. The writer closes after its last record, before the
// reader looks again.
func testFollow(t *testing.T, s store.Store) {
	follower, ok := s.(store.Follower)
	if !ok {
		t.Skip("this store has no way to follow a job")
	}
	events := Sample("job1")
	j := open(t, s, "job1")
	add(t, j, events[0])
	next, waited := 1, 0
	wait := func() error {
		waited++
		switch {
		case waited%2 == 0: // nothing has happened
		case next < len(events):
			add(t, j, events[next])
			next++
		}
		if next == len(events) {
			return j.Close()
		}
		return nil
	}
	var got []store.Record
	for r, err := range follower.Follow(t.Context(), "job1", wait) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	same := func(a, b store.Record) bool { return a.Seq == b.Seq && bytes.Equal(a.Line, b.Line) }
	if all := read(t, s, "job1", 0); !slices.EqualFunc(got, all, same) {
		t.Errorf("followed %d records, and %d were written, or they differ", len(got), len(all))
	}
	if want := 2*len(events) - 3; waited != want {
		t.Errorf("waited %d times, want %d", waited, want)
	}
	for range follower.Follow(t.Context(), "job1", wait) { // no process writes it
	}
	if want := 2*len(events) - 3; waited != want {
		t.Errorf("waited for a job that no process writes")
	}
	for _, err := range follower.Follow(t.Context(), "none", wait) {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an unknown job: %v", err)
		}
	}
}

func testFollowError(t *testing.T, s store.Store) {
	follower, ok := s.(store.Follower)
	if !ok {
		t.Skip("this store has no way to follow a job")
	}
	j := open(t, s, "job1")
	defer j.Close()
	add(t, j, Note("job1", 0, "first"))
	enough := errors.New("enough")
	var last error
	records := 0
	for _, err := range follower.Follow(t.Context(), "job1", func() error { return enough }) {
		if last = err; err == nil {
			records++
		}
	}
	if records != 1 || !errors.Is(last, enough) {
		t.Errorf("%d records, then %v", records, last)
	}
}
