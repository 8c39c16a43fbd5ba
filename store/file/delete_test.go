package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// A deleted job is gone, and others stay. One that is being written stays, too.
func TestDelete(t *testing.T) {
	dir := t.TempDir()
	s := file.New(dir, nil)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
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
	if err := s.Delete(t.Context(), "running", at); !errors.As(err, &locked) {
		t.Errorf("a running job: %v", err)
	}
	if err := s.Delete(t.Context(), "one", at); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"one", "absent"} {
		if err := s.Delete(t.Context(), id, at); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := s.Delete(t.Context(), "../jobs", at); !errors.Is(err, store.ErrBadID) {
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

// What is left of a deleted job is its id and the digest of its last record, also if its head is older
// than its last record, and after a line that a power cut tore.
func TestDeletionsAreNoted(t *testing.T) {
	dir := t.TempDir()
	s := file.New(dir, nil)
	digests := map[string]string{}
	for _, id := range []string{"one", "two", "torn", "empty"} {
		j, err := s.Open(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if id == "empty" {
				break
			}
			r, err := j.Append(t.Context(), event.Event{ID: "e", JobID: id, RunID: "r", Body: event.Rewound{}})
			if err != nil {
				t.Fatal(err)
			}
			digests[id] = r.Digest().String()
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(dir, "deleted.jsonl")
	change := func(name string, data string, flag int) {
		t.Helper()
		f, err := os.OpenFile(name, os.O_WRONLY|flag, 0o600)
		if err == nil {
			_, err = f.WriteString(data)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	change(filepath.Join(dir, "jobs", "torn", "journal.jsonl"), `{"seq":4,`, os.O_APPEND)
	if err := os.Remove(filepath.Join(dir, "jobs", "two", "head")); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	if err := s.Delete(t.Context(), "one", at); err != nil {
		t.Fatal(err)
	}
	change(log, `{"id":"cut`, os.O_APPEND)
	for _, id := range []string{"two", "torn", "empty"} {
		if err := s.Delete(t.Context(), id, at); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	line := func(id, seq, digest string) string {
		return `{"id":"` + id + `","seq":` + seq + `,"digest":"` + digest + `","at":"2026-01-02T02:04:05Z"}` + "\n"
	}
	want := line("one", "3", digests["one"]) + `{"id":"cut` + "\n" + line("two", "3", digests["two"]) + line("torn", "3", digests["torn"]) + line("empty", "0", strings.Repeat("0", 64))
	if string(data) != want {
		t.Errorf("%s\nwant:\n%s", data, want)
	}
	if info, err := os.Stat(log); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// A job that cannot be noted stays.
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(log, 0o700); err != nil {
		t.Fatal(err)
	}
	j, err := s.Open(t.Context(), "kept")
	if err == nil {
		err = j.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "kept", at); err == nil || !strings.Contains(err.Error(), "deleted.jsonl") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "jobs", "kept")); err != nil {
		t.Error(err)
	}
}

// Several processes can delete jobs at the same time.
func TestDeleteAtOnce(t *testing.T) {
	dir := t.TempDir()
	var ids []string
	for i := range 40 {
		id := fmt.Sprintf("job%02d", i)
		j, err := file.New(dir, nil).Open(t.Context(), id)
		if err == nil {
			err = j.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	var wait sync.WaitGroup
	for part := range slices.Chunk(ids, 10) {
		wait.Go(func() {
			for _, id := range part {
				if err := file.New(dir, nil).Delete(t.Context(), id, time.Now()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	data, err := os.ReadFile(filepath.Join(dir, "deleted.jsonl"))
	if err != nil || strings.Count(string(data), "\n") != len(ids) {
		t.Errorf("noted: %s, %v", data, err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "jobs")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
