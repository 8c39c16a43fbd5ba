package file

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit"
	faulty "github.com/perstack-go/perstack/internal/testkit/disk"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/storetest"
)

// After a failed sync it is unknown what is on the disk. The journal says so from then on.
func TestFailedSyncPoisons(t *testing.T) {
	s, _, _ := sampleJob(t)
	j := mustOpen(t, s)
	mustAppend(t, j, storetest.Note("job1", 1, "x"))
	j.disk = disk{syncs(func(func() error) error { return errors.New("input/output error") })}
	first := j.Commit(t.Context())
	if first == nil || !strings.Contains(first.Error(), "could not be made durable") {
		t.Fatalf("Commit: %v", first)
	}
	j.disk = disk{} // the disk is well again, but it is too late
	if err := j.Commit(t.Context()); err != first {
		t.Errorf("second Commit: %v", err)
	}
	if _, err := j.Append(t.Context(), storetest.Note("job1", 2, "x")); err != first {
		t.Errorf("Append: %v", err)
	}
	if err := j.Close(); !errors.Is(err, first) {
		t.Errorf("Close: %v", err)
	}
	if head, err := s.RecordedHead(t.Context(), "job1"); err != nil || head.Head.Seq != 11 {
		t.Errorf("the recorded head is %d (%v), want 11, the last that is known to be durable", head.Head.Seq, err)
	}
	mustClose(t, mustOpen(t, s)) // a new reading of the file starts afresh
	if n := count(t, s); n != 12 {
		t.Errorf("%d records, want 12", n)
	}
}

// A write that fails leaves the file as it was, and the journal usable.
func TestFailedWriteIsTakenBack(t *testing.T) {
	s, name, whole := sampleJob(t)
	j := mustOpen(t, s)
	good := j.f
	readOnly, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	j.f = readOnly // writes fail; truncating uses another handle
	if _, err := j.Append(t.Context(), storetest.Note("job1", 1, "x")); err == nil {
		t.Fatal("a write to a file that is open for reading succeeded")
	}
	j.f = good
	if got := readFile(t, name); !bytes.Equal(got, whole) {
		t.Error("the file was changed")
	}
	mustAppend(t, j, storetest.Note("job1", 1, "x"))
	mustClose(t, j)
	if n := count(t, s); n != 12 {
		t.Errorf("%d records, want 12", n)
	}
}

// The reserved space does not show in the length of the file, and is released.
func TestReserve(t *testing.T) {
	s, name, whole := sampleJob(t)
	j := mustOpen(t, s)
	if j.reserve.unsupported {
		testkit.Missing(t, "a file system that can reserve space")
	}
	for i := range 200 {
		mustAppend(t, j, storetest.Note("job1", i, strings.Repeat("x", 10_000)))
		if j.reserve.end < j.now.length+reserveSize {
			t.Fatalf("%d bytes are kept, want %d", j.reserve.end-j.now.length, reserveSize)
		}
	}
	if info, err := os.Stat(name); err != nil || info.Size() != j.now.length {
		t.Errorf("the file has %d bytes, want %d (%v)", info.Size(), j.now.length, err)
	}
	mustClose(t, j)
	if got := readFile(t, name); !bytes.HasPrefix(got, whole) || got[len(got)-1] != '\n' {
		t.Error("closing changed the records")
	}
}

// A caller that waits during a commit is served by the next commit, together
// with all others that wait.
func TestGroupCommit(t *testing.T) {
	s, _, _ := sampleJob(t)
	j := mustOpen(t, s)
	j.syncing.Lock() // a commit is under way
	var wg sync.WaitGroup
	for i := range 8 {
		mustAppend(t, j, storetest.Note("job1", i, "x"))
		wg.Go(func() {
			if err := j.Commit(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	mustAppend(t, j, storetest.Note("job1", 9, "no caller waits for this one"))
	if err := j.commit(j.now.length - 1); err != nil {
		t.Fatal(err)
	}
	if j.durable.head != j.now.head {
		t.Error("a commit left out what was appended before it")
	}
	j.disk = disk{syncs(func(func() error) error { t.Error("a second sync"); return nil })}
	j.syncing.Unlock()
	wg.Wait()
	j.disk = disk{}
	mustClose(t, j)
}

// A thousand who append and commit while a sync is under way share the next one.
func TestGroupCommitOfMany(t *testing.T) {
	const many = 1000
	var appended, done sync.WaitGroup
	appended.Add(many)
	counting, started := 0, make(chan struct{})
	slow := syncs(func(run func() error) error {
		if counting++; counting == 1 {
			close(started)
			appended.Wait() // this sync ends when the last of them has appended
		}
		return run()
	})
	s, _, _ := sampleJob(t)
	j := mustOpen(t, s)
	j.disk = disk{slow}
	commit := func(i int) {
		r, err := j.Append(t.Context(), storetest.Note("job1", i, "x"))
		if i > 0 {
			appended.Done()
		}
		if err == nil {
			err = j.Commit(t.Context())
		}
		j.syncing.Lock()
		defer j.syncing.Unlock()
		if err != nil || j.durable.head.Seq < r.Seq {
			t.Errorf("record %d was committed and %d are durable (%v)", r.Seq, j.durable.head.Seq, err)
		}
	}
	done.Go(func() { commit(0) })
	<-started
	for i := range many {
		done.Go(func() { commit(i + 1) })
	}
	done.Wait()
	if counting != 2 {
		t.Errorf("%d syncs served %d commits, want 2", counting, many+1)
	}
	j.disk = disk{}
	mustClose(t, j)
	if n := count(t, s); n != 11+1+many {
		t.Errorf("%d records, want %d", n, 11+1+many)
	}
}

// A repair is reported.
func TestRepairIsLogged(t *testing.T) {
	s, name, whole := sampleJob(t)
	writeFile(t, name, append(whole, `{"seq":12,`...))
	var log bytes.Buffer
	loud := New(s.dir, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	mustClose(t, mustOpen(t, loud))
	if want := `msg="cut off a record that was not written to its end" job=job1 after=11 bytes=10`; !strings.Contains(log.String(), want) {
		t.Errorf("log: %s", log.String())
	}
}

// The same process is told that it is itself who writes.
func TestLockedByThisProcess(t *testing.T) {
	s, _, _ := sampleJob(t)
	j := mustOpen(t, s)
	defer j.Close()
	_, err := s.Open(t.Context(), "job1")
	if !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), "job job1 is being written by this process already, since 2") {
		t.Error(err)
	}
	// Removing the note does not break the lock.
	os.Remove(s.path(lockName))
	if _, err := s.Open(t.Context(), "job1"); err == nil || err.Error() != "job job1 is being written by another process: wait for it or stop it" {
		t.Error(err)
	}
}

// Every file that is derived from the journal, and every sync, makes a short run longer.
func TestShortRunWritesLittle(t *testing.T) {
	d := faulty.New()
	s := New(filepath.Join(fastDir(t), "perstack"), &Options{Disk: d})
	j := mustOpen(t, s)
	events := storetest.Sample("job1")
	for _, part := range [][]event.Event{events[:1], events[1:]} {
		mustAppend(t, j, part...)
		if err := j.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, j)
	got := map[string]int{}
	for _, op := range d.Ops() {
		if op.Kind == OpSync || op.Kind == OpRename {
			got[op.Kind+" "+op.Name]++
		}
	}
	want := map[string]int{
		"rename .gitignore": 1, "rename head": 1, "rename lock": 1,
		"rename job.json":    1,                 // after the end of the run, and not again
		"sync journal.jsonl": 2, "sync head": 2, // at the beginning and at the end
		"sync job1": 1, "sync jobs": 1, "sync perstack": 1, // so that a new job can be found
		"sync " + filepath.Base(filepath.Dir(s.dir)): 1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
