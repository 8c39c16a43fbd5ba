// Package storetest holds the tests that every back end of package store must pass.
// A back end calls [Run] from a test of its own.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// Run checks every promise that the comments of [store.Store] and [store.Journal]
// make. The function returns an empty store.
func Run(t *testing.T, empty func(t *testing.T) store.Store) {
	tests := []struct {
		name string
		run  func(*testing.T, store.Store)
	}{
		{"records are numbered, chained and read in order", testOrder},
		{"reading begins after a record", testAfter},
		{"a job that is opened again continues", testReopen},
		{"a journal that knows its last record is right about it", testHead},
		{"a job has one writer", testOneWriter},
		{"closing twice is fine, writing afterwards is not", testClose},
		{"an unknown job is not found", testUnknown},
		{"an id that is a path is refused", testBadIDs},
		{"a failed append leaves the journal as it was", testRefused},
		{"what was appended can be read, however deep it is nested", testDeep},
		{"readers see whole records while a writer writes", testReaders},
		{"goroutines may share a journal", testShared},
		{"jobs are listed, newest first", testJobs},
		{"a job without records is not listed", testEmpty},
		{"a job whose writer is gone was interrupted", testInterrupted},
		{"a cancelled context stops readers, but no end of a run", testContext},
		{"a reader may stop early", testStop},
		{"a job can be followed to the end of its writer", testFollow},
		{"an error of the reader ends following", testFollowError},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, empty(t)) })
	}
}

func testOrder(t *testing.T, s store.Store) {
	events := Sample("job1")
	written := write(t, s, "job1", events...)
	got := read(t, s, "job1", 0)
	if len(got) != len(events) {
		t.Fatalf("read %d records, want %d", len(got), len(events))
	}
	var prev store.Digest
	for i, r := range got {
		if r.Seq != int64(i)+1 || r.Prev != prev {
			t.Errorf("record %d has the number %d and the link %v, want %v", i+1, r.Seq, r.Prev, prev)
		}
		if !bytes.Equal(r.Line, written[i].Line) || r.Seq != written[i].Seq {
			t.Errorf("record %d reads otherwise than Append said:\n%s\n%s", i+1, r.Line, written[i].Line)
		}
		if diff := cmp.Diff(events[i], r.Event); diff != "" {
			t.Errorf("event %d (-written +read):\n%s", i+1, diff)
		}
		prev = r.Digest()
	}
	report, err := store.Verify(t.Context(), s, "job1")
	if err != nil || report.Records != int64(len(events)) || report.Last != (store.Head{Seq: int64(len(events)), Digest: prev}) {
		t.Errorf("Verify = %+v, %v", report, err)
	}
}

func testAfter(t *testing.T, s store.Store) {
	all := write(t, s, "job1", Sample("job1")...)
	for after := -1; after <= len(all)+1; after++ {
		got := read(t, s, "job1", int64(after))
		want := all[min(max(after, 0), len(all)):]
		if len(got) != len(want) || len(got) > 0 && got[0].Seq != want[0].Seq {
			t.Errorf("after %d: %d records, want %d", after, len(got), len(want))
		}
	}
}

func testReopen(t *testing.T, s store.Store) {
	for i := range 3 {
		write(t, s, "job1", Note("job1", 2*i, "x"), Note("job1", 2*i+1, "y"))
		report, err := store.Verify(t.Context(), s, "job1")
		if err != nil || report.Records != int64(2*i+2) {
			t.Fatalf("after opening it %d times: %+v, %v", i+1, report, err)
		}
	}
}

func testHead(t *testing.T, s store.Store) {
	var want store.Head
	for i := range 3 {
		j := open(t, s, "job1")
		known, ok := j.(interface{ Head() store.Head })
		if !ok {
			t.Skip("its journals have no Head") // it is optional
		}
		if got := known.Head(); got != want {
			t.Errorf("opened %d times, the head is %+v, want %+v", i+1, got, want)
		}
		r := add(t, j, Note("job1", i, "x"))
		want = store.Head{Seq: r.Seq, Digest: r.Digest()}
		if got := known.Head(); got != want {
			t.Errorf("after record %d the head is %+v, want %+v", r.Seq, got, want)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func testOneWriter(t *testing.T, s store.Store) {
	j := open(t, s, "job1")
	add(t, j, Note("job1", 1, "x"))
	for range 2 { // a failed attempt must not break the lock
		if _, err := s.Open(t.Context(), "job1"); !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), "job1") {
			t.Fatalf("second Open: %v, want ErrLocked with the job's id", err)
		}
	}
	other := open(t, s, "job2") // another job is another matter
	if err := errors.Join(other.Close(), j.Close()); err != nil {
		t.Fatal(err)
	}
	if err := open(t, s, "job1").Close(); err != nil {
		t.Fatal(err)
	}
}

func testClose(t *testing.T, s store.Store) {
	j := open(t, s, "job1")
	add(t, j, Note("job1", 1, "x"))
	for range 2 {
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	next := open(t, s, "job1")
	defer next.Close()
	if err := j.Close(); err != nil { // must not take the job away from the next
		t.Fatal(err)
	}
	if _, err := j.Append(t.Context(), Note("job1", 2, "x")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Append after Close: %v, want ErrClosed", err)
	}
	if err := j.Commit(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Commit after Close: %v, want ErrClosed", err)
	}
	if _, err := s.Open(t.Context(), "job1"); !errors.Is(err, store.ErrLocked) {
		t.Errorf("Open: %v, want ErrLocked", err)
	}
	add(t, next, Note("job1", 2, "x"))
}

func testUnknown(t *testing.T, s store.Store) {
	n := 0
	for _, err := range s.Read(t.Context(), "nobody", 0) {
		if n++; !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "nobody") {
			t.Errorf("Read: %v", err)
		}
	}
	if n != 1 {
		t.Errorf("Read yielded %d times", n)
	}
	if _, err := store.Verify(t.Context(), s, "nobody"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Verify: %v", err)
	}
	if _, err := store.FindJob(t.Context(), s, "nobody"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("FindJob: %v", err)
	}
	if got := list(t, s); len(got) > 0 {
		t.Errorf("asking made a job: %v", got)
	}
}

// BadIDs are ids that no store may take for the name of a job.
var BadIDs = []string{"", ".", "..", "../x", "a/b", `a\b`, "/etc/passwd", `C:\x`, "C:x", "a\x00b", "a\nb", " a", "a ", ".hidden",
	"-flag", "a.", "caf\u00e9", "a\u202eb", "*", "~", "NUL", "com1.txt", strings.Repeat("a", 129)}

func testBadIDs(t *testing.T, s store.Store) {
	for _, id := range BadIDs {
		if j, err := s.Open(t.Context(), id); !errors.Is(err, store.ErrBadID) {
			t.Errorf("Open(%q): %v, %v, want ErrBadID", id, j, err)
		}
		n := 0
		for _, err := range s.Read(t.Context(), id, 0) {
			if n++; !errors.Is(err, store.ErrBadID) {
				t.Errorf("Read(%q): %v, want ErrBadID", id, err)
			}
		}
		if n != 1 {
			t.Errorf("Read(%q) yielded %d times", id, n)
		}
		if _, err := store.FindJob(t.Context(), s, id); !errors.Is(err, store.ErrBadID) {
			t.Errorf("FindJob(%q): %v, want ErrBadID", id, err)
		}
	}
	write(t, s, strings.Repeat("a", 128), Note(strings.Repeat("a", 128), 1, "the longest"))
}

func testRefused(t *testing.T, s store.Store) {
	j := open(t, s, "job1")
	defer j.Close()
	add(t, j, Note("job1", 1, "x"))
	bad := []event.Event{
		{ID: "e", JobID: "job1"},
		Note("job2", 2, "of another job"),
		{ID: "e", JobID: "job1", Body: event.StartRun{InputMessages: []*event.Message{{Contents: []event.Part{{Type: "nonsense"}}}}}},
	}
	for i, e := range bad {
		if r, err := j.Append(t.Context(), e); err == nil {
			t.Errorf("event %d was taken: %s", i, r.Line)
		}
	}
	if r := add(t, j, Note("job1", 2, "y")); r.Seq != 2 {
		t.Errorf("the next record has the number %d, want 2", r.Seq)
	}
	if report, err := store.Verify(t.Context(), s, "job1"); err != nil || report.Records != 2 {
		t.Errorf("Verify = %+v, %v", report, err)
	}
}

// testDeep goes through the limit of the decoder, which counts the record as well.
func testDeep(t *testing.T, s store.Store) {
	j := open(t, s, "job1")
	defer j.Close()
	var want []store.Record
	refused := 0
	for depth := 9985; depth < 10_005; depth++ {
		r, err := j.Append(t.Context(), Call("job1", depth, depth, "x"))
		if err == nil {
			want = append(want, r)
		} else if refused++; len(err.Error()) > 1000 {
			t.Errorf("depth %d: an error of %d bytes", depth, len(err.Error()))
		}
	}
	if len(want) == 0 || refused == 0 {
		t.Errorf("%d events were taken, %d refused; the limit was not met", len(want), refused)
	}
	want = append(want, add(t, j, Note("job1", 1, "y")))
	got := read(t, s, "job1", 0)
	same := func(a, b store.Record) bool { return bytes.Equal(a.Line, b.Line) }
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("%d records were read, and %d appended, or they differ", len(got), len(want))
	}
}

func testReaders(t *testing.T, s store.Store) {
	const n = 60
	j := open(t, s, "job1")
	defer j.Close()
	add(t, j, Note("job1", 0, "first"))
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			var seen int64
			for seen < n { // every record appears whole, or not yet
				last := seen
				for r, err := range s.Read(t.Context(), "job1", seen) {
					if err != nil || r.Seq != last+1 {
						t.Errorf("after %d: record %d, %v", last, r.Seq, err)
						return
					}
					last = r.Seq
				}
				seen = last
			}
		})
	}
	for i := 1; i < n; i++ {
		add(t, j, Note("job1", i, strings.Repeat("long ", 5000)))
	}
	wg.Wait()
}

func testShared(t *testing.T, s store.Store) {
	const writers, each = 4, 20
	j := open(t, s, "job1")
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := j.Append(t.Context(), Note("job1", w*each+i, "x")); err != nil {
					t.Error(err)
				}
				if err := j.Commit(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if report, err := store.Verify(t.Context(), s, "job1"); err != nil || report.Records != writers*each {
		t.Errorf("Verify = %+v, %v", report, err)
	}
}

func testJobs(t *testing.T, s store.Store) {
	var want []store.JobInfo
	for _, n := range []int{2, 0, 3, 1} {
		id := fmt.Sprintf("job%d", n)
		events := Sample(id)
		var job event.Job
		for i := range events {
			events[i].Timestamp += int64(n) * 1e6
			job = job.Apply(events[i])
		}
		write(t, s, id, events...)
		if found, err := store.FindJob(t.Context(), s, id); err != nil || !cmp.Equal(found.Job, job) {
			t.Errorf("FindJob(%s) = %+v, %v", id, found, err)
		}
		want = append(want, store.JobInfo{Job: job})
	}
	want = []store.JobInfo{want[2], want[0], want[3], want[1]}
	if diff := cmp.Diff(want, list(t, s)); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
}

func testEmpty(t *testing.T, s store.Store) {
	j := open(t, s, "job1")
	check := func() {
		t.Helper()
		if got := list(t, s); len(got) > 0 {
			t.Errorf("Jobs = %v", got)
		}
		if got := read(t, s, "job1", 0); len(got) > 0 {
			t.Errorf("Read = %v", got)
		}
	}
	check()
	if err := errors.Join(j.Commit(t.Context()), j.Close()); err != nil {
		t.Fatal(err)
	}
	check()
}

func testInterrupted(t *testing.T, s store.Store) {
	events := Sample("job1")
	interrupted := func() bool {
		t.Helper()
		info, err := store.FindJob(t.Context(), s, "job1")
		if jobs := list(t, s); err != nil || !cmp.Equal(jobs, []store.JobInfo{info}) {
			t.Fatalf("FindJob = %+v, %v, but Jobs = %+v", info, err, jobs)
		}
		return info.Interrupted
	}
	j := open(t, s, "job1")
	add(t, j, events[0])
	if interrupted() {
		t.Error("a job with a writer is listed as interrupted")
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if !interrupted() {
		t.Error("a job without an end and without a writer is not listed as interrupted")
	}
	write(t, s, "job1", events[1:]...)
	if interrupted() {
		t.Error("a completed job is listed as interrupted")
	}
}

func testContext(t *testing.T, s store.Store) {
	j := open(t, s, "job1")
	add(t, j, Note("job1", 1, "x"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	events := Sample("job1")
	if _, err := j.Append(ctx, events[len(events)-1]); err != nil {
		t.Errorf("Append: %v", err)
	}
	if err := errors.Join(j.Commit(ctx), j.Close()); err != nil {
		t.Error(err)
	}
	for _, err := range s.Read(ctx, "job1", 0) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Read: %v", err)
		}
	}
	for _, err := range s.Jobs(ctx) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Jobs: %v", err)
		}
	}
	if _, err := s.Open(ctx, "job1"); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v", err)
	}
}

func testStop(t *testing.T, s store.Store) {
	write(t, s, "job1", Sample("job1")...)
	write(t, s, "job2", Sample("job2")...)
	n := 0
	for range s.Read(t.Context(), "job1", 0) {
		n++
		break
	}
	for range s.Jobs(t.Context()) {
		n++
		break
	}
	if n != 2 {
		t.Errorf("%d, want 2", n)
	}
}
