//go:build unix

package file

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/attack"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/storetest"
)

// A journal that another program takes away is noticed by the next commit, and at the latest
// when it is closed: nothing is called saved that is not.
func TestLost(t *testing.T) {
	const all = -1
	for name, tt := range map[string]struct {
		lose func(t *testing.T, s *Store) error
		how  string
		safe int64 // 0 for none, 1 for some, all for all of them
	}{
		"removed":         {func(_ *testing.T, s *Store) error { return os.Remove(s.path(journalName)) }, "removed", 0},
		"job removed":     {func(_ *testing.T, s *Store) error { return os.RemoveAll(filepath.Dir(s.path(journalName))) }, "removed", 0},
		"history removed": {func(_ *testing.T, s *Store) error { return os.RemoveAll(s.dir) }, "removed", 0},
		"history moved":   {func(_ *testing.T, s *Store) error { return os.Rename(s.dir, s.dir+"2") }, "removed", 0},
		"replaced":        {replace(func(whole []byte) []byte { return whole }), "replaced", all},
		"replaced, partly": {replace(func(whole []byte) []byte {
			return append(whole[:bytes.IndexByte(whole, '\n')+1], "garbage\n"...)
		}), "replaced", 1},
		"replaced by others": {replace(func([]byte) []byte { return []byte("garbage\n") }), "replaced", 0},
		"replaced by a dir": {func(_ *testing.T, s *Store) error {
			os.Remove(s.path(journalName))
			return os.Mkdir(s.path(journalName), 0o700)
		}, "replaced", 0},
		"emptied":         {func(_ *testing.T, s *Store) error { return os.Truncate(s.path(journalName), 0) }, "truncated", 0},
		"cut in a record": {func(_ *testing.T, s *Store) error { return os.Truncate(s.path(journalName), 1000) }, "truncated", 1},
	} {
		for _, at := range []string{"commit", "close"} {
			t.Run(name+" before the "+at, func(t *testing.T) {
				s := inMemory(New(filepath.Join(fastDir(t), "perstack"), nil)).WithSeal(ours).(*Store)
				j := mustOpen(t, s)
				defer j.Close()
				sample := storetest.Sample("job1")
				mustAppend(t, j, sample[:4]...)
				if err := j.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				if at == "commit" {
					mustAppend(t, j, sample[4])
				}
				if err := tt.lose(t, s); err != nil {
					t.Fatal(err)
				}
				var err error
				if at == "commit" {
					err = j.Commit(t.Context())
					if _, again := j.Append(t.Context(), sample[5]); !errors.Is(again, err) {
						t.Errorf("then: %v, want %v", again, err)
					}
				} else {
					err = j.Close()
				}
				lost := (*store.LostError)(nil)
				if !errors.As(err, &lost) || lost.How != tt.how || lost.Path != s.path(journalName) {
					t.Fatalf("%v, want %s", err, tt.how)
				}
				if tt.safe == 0 && lost.Safe != 0 || tt.safe == all && lost.Safe != lost.Records || tt.safe > 0 && (lost.Safe < 1 || lost.Safe >= lost.Records) {
					t.Errorf("%d of %d are called safe", lost.Safe, lost.Records)
				}
				attack.Held(t, "T2", 1)
			})
		}
	}
}

// What another program adds is noticed before the next record is written, which would have torn
// it apart.
func TestExtended(t *testing.T) {
	s := inMemory(New(filepath.Join(fastDir(t), "perstack"), nil))
	j := mustOpen(t, s)
	defer j.Close()
	sample := storetest.Sample("job1")
	mustAppend(t, j, sample[:4]...)
	whole := append(readFile(t, s.path(journalName)), "added\n"...)
	writeFile(t, s.path(journalName), whole)
	_, err := j.Append(t.Context(), sample[4])
	lost := (*store.LostError)(nil)
	if !errors.As(err, &lost) || lost.How != "extended" || lost.Safe != 4 || lost.Records != 4 {
		t.Errorf("%v", err)
	}
	if err := j.Close(); err == nil {
		t.Error("closed as if nothing had happened")
	}
	if got := readFile(t, s.path(journalName)); string(got) != string(whole) {
		t.Errorf("it was changed:\n%s", got)
	}
}

// A truncation between the check and the write leaves a gap, which the record must not hide.
func TestTruncatedDuringAWrite(t *testing.T) {
	s := New(filepath.Join(fastDir(t), "perstack"), nil)
	j := mustOpen(t, s)
	defer j.Close()
	sample := storetest.Sample("job1")
	mustAppend(t, j, sample[:4]...)
	j.disk = disk{beforeWrite(func() {
		if err := os.Truncate(s.path(journalName), 100); err != nil {
			t.Error(err)
		}
	})}
	_, err := j.Append(t.Context(), sample[4])
	lost := (*store.LostError)(nil)
	if !errors.As(err, &lost) || lost.How != "truncated" || lost.Safe != 0 {
		t.Errorf("%v", err)
	}
}

// beforeWrite is a disk that calls a function before it writes.
type beforeWrite func()

func (b beforeWrite) Do(op, _ string, size int, run func(int) error) error {
	if op == OpWrite {
		b()
	}
	return run(size)
}

func replace(change func([]byte) []byte) func(t *testing.T, s *Store) error {
	return func(t *testing.T, s *Store) error {
		writeFile(t, s.path("copy"), change(readFile(t, s.path(journalName))))
		return os.Rename(s.path("copy"), s.path(journalName))
	}
}

// A head that another program removes or replaces is written again, at the latest when the
// journal is closed.
func TestHeadLost(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, path string){
		"removed": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"replaced": func(t *testing.T, path string) {
			writeFile(t, path+"2", []byte("{}"))
			if err := os.Rename(path+"2", path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for _, at := range []string{"commit", "close"} {
			t.Run(name+" before the "+at, func(t *testing.T) {
				s := inMemory(New(filepath.Join(fastDir(t), "perstack"), nil)).WithSeal(ours).(*Store)
				j := mustOpen(t, s)
				defer j.Close()
				sample := storetest.Sample("job1")
				mustAppend(t, j, sample[:4]...)
				if err := j.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				lose(t, s.path(headName))
				if at == "commit" {
					mustAppend(t, j, sample[4])
					if err := j.Commit(t.Context()); err != nil {
						t.Fatal(err)
					}
				} else if err := j.Close(); err != nil {
					t.Fatal(err)
				}
				report, err := store.VerifySeals(t.Context(), s, "job1", ours)
				if err != nil || report.Recorded.Seq != report.Records {
					t.Errorf("%+v, %v", report, err)
				}
				attack.Held(t, "T2", 1)
			})
		}
	}
}
