package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// A deleted job is gone, and others stay. One that is being written stays, too.
func TestDelete(t *testing.T) {
	dir := t.TempDir()
	s := file.New(dir, nil)
	open := func(id string) store.Journal {
		t.Helper()
		j, err := s.Open(t.Context(), id)
		if err == nil {
			_, err = j.Append(t.Context(), event.Event{ID: "e", JobID: id, RunID: "r", Body: event.Rewound{}})
		}
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	for _, id := range []string{"one", "two"} {
		if err := open(id).Close(); err != nil {
			t.Fatal(err)
		}
	}
	running := open("running")
	// What a process left that was killed.
	if err := os.MkdirAll(filepath.Join(dir, "jobs", ".deleted", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	var locked *store.LockedError
	if err := s.Delete(t.Context(), "running"); !errors.As(err, &locked) {
		t.Errorf("a running job: %v", err)
	}
	if err := s.Delete(t.Context(), "one"); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"one", "absent"} {
		if err := s.Delete(t.Context(), id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := s.Delete(t.Context(), "../jobs"); !errors.Is(err, store.ErrBadID) {
		t.Errorf("an id that leads elsewhere: %v", err)
	}
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "jobs"))
	if err != nil || len(entries) != 2 || entries[0].Name() != "running" || entries[1].Name() != "two" {
		t.Errorf("left: %v %v", entries, err)
	}
}
