package file

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/storetest"
)

// sampleJob writes storetest.Sample into a new store and returns the store, the path of
// the journal, and its content.
func sampleJob(t testing.TB) (*Store, string, []byte) {
	t.Helper()
	s := New(filepath.Join(fastDir(t), "perstack"), nil)
	j := mustOpen(t, s)
	mustAppend(t, j, storetest.Sample("job1")...)
	mustClose(t, j)
	name := s.path(journalName)
	return s, name, readFile(t, name)
}

// inMemory makes a store fast that shall not survive a power cut.
func inMemory(s *Store) *Store {
	s.disk = disk{syncs(func(func() error) error { return nil })}
	return s
}

// syncs is a disk on which everything happens but syncs, which are left to a function.
type syncs func(run func() error) error

func (s syncs) Do(op, _ string, size int, run func(int) error) error {
	if op != OpSync {
		return run(size)
	}
	return s(func() error { return run(0) })
}

// fastDir returns a new directory in memory where the system has one. Tests that write
// thousands of files are ten times slower on a busy disk.
func fastDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "perstack-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// path returns the path of a file of job1.
func (s *Store) path(name string) string { return filepath.Join(s.dir, jobsName, "job1", name) }

func mustOpen(t testing.TB, s *Store) *journal {
	t.Helper()
	j, err := s.Open(t.Context(), "job1")
	if err != nil {
		t.Fatal(err)
	}
	return j.(*journal)
}

func mustAppend(t testing.TB, j store.Journal, events ...event.Event) {
	t.Helper()
	for _, e := range events {
		if _, err := j.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}

func mustClose(t testing.TB, j store.Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// count returns the number of sound records, or ends the test.
func count(t testing.TB, s *Store) int64 {
	t.Helper()
	report, err := store.Verify(t.Context(), s, "job1")
	if err != nil {
		t.Fatal(err)
	}
	return report.Records
}

// lines splits a journal, newlines included.
func lines(data []byte) [][]byte { return bytes.SplitAfter(data, []byte("\n")) }
