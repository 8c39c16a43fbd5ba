//go:build unix

package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	faulty "github.com/perstack-go/perstack/internal/testkit/disk"
	"github.com/perstack-go/perstack/store"
)

// What a fault comes to.
const (
	told     = "a call fails with the error"
	logged   = "no call fails, and the log says it" // what is lost can be found again
	harmless = "nothing is lost, and nothing is reported"
)

// expected says what a failure of one operation comes to, wherever it stands. The
// first line that matches an operation counts.
var expected = []struct {
	op, name string // name is a pattern
	err      error  // nil stands for any
	want     string
}{
	// Without its directories there is no job.
	{OpMkdir, "*", nil, told},
	{OpChmod, "*", nil, told},
	// Without this, conversations may be committed to a repository.
	{"*", ".gitignore*", nil, told},
	// The note says who writes. The lock is another thing, and holds without it. A
	// directory that may not be written to will not take the summary either, so that the
	// job is refused before its first record.
	{OpRemove, "lock", nil, logged},
	{"*", "lock*", unix.EACCES, told},
	{"*", "lock*", nil, logged},
	// Without the head nothing begins. Later an older one is true as well.
	{"*", "head.tmp", nil, told},
	{OpRename, headName, nil, told},
	{"*", headName, nil, logged},
	// The summary is a cache.
	{"*", "job.json*", nil, logged},
	// A torn end is not cut off before it is safe elsewhere.
	{"*", "journal.torn-1*", nil, told},
	// The journal itself. When there is no space for much, there can be for a little.
	{OpAllocate, journalName, unix.ENOSPC, harmless},
	{OpAllocate, journalName, unix.EDQUOT, harmless},
	{OpCreate, journalName, nil, told},
	{OpAllocate, journalName, nil, told},
	{OpWrite, journalName, nil, told},
	// Above the storage there may be directories that we may not read.
	{OpSync, "above", unix.EACCES, harmless},
	{OpSync, "*", nil, told}, // the journal, and the directories above it
}

func expect(t *testing.T, op faulty.Op, err error) string {
	t.Helper()
	for _, line := range expected {
		matched, _ := path.Match(line.name, op.Name)
		if matched && (line.op == "*" || line.op == op.Kind) && (line.err == nil || errors.Is(err, line.err)) {
			return line.want
		}
	}
	t.Fatalf("nothing is said about %+v", op)
	return ""
}

// giveBack reports whether op is the truncation at the end of a life, which only releases
// the space that was reserved. Any other cuts the journal.
func giveBack(op faulty.Op, all []faulty.Op) bool {
	later := func(o faulty.Op) bool { return o.N > op.N && o.Kind == OpWrite && o.Name == journalName }
	return op.Kind == OpTruncate && !slices.ContainsFunc(all, later)
}

// Whichever operation fails, and however, the journal holds what was acknowledged and
// nothing else, and can be continued.
func TestEveryOperationFails(t *testing.T) {
	faults := []struct {
		name string
		err  error
		at   func(n int, err error) faulty.Fault
	}{
		{"input/output error", unix.EIO, faulty.FailAt},
		{"no space", unix.ENOSPC, faulty.FailAt},
		{"quota", unix.EDQUOT, faulty.FailAt},
		{"no permission", unix.EACCES, faulty.FailAt},
		// The system took the first bytes of a record, or all but the newline.
		{"short write", unix.EIO, func(n int, err error) faulty.Fault { return faulty.ShortWriteAt(n, 7, err) }},
		{"almost whole write", unix.ENOSPC, func(n int, err error) faulty.Fault {
			return faulty.When(func(op faulty.Op) bool { return op.N == n }, func(op faulty.Op, run func(int) error) error {
				_ = run(max(op.Size-1, 0)) // err is the answer
				return err
			})
		}},
		// It did all that it was told, and says that it failed.
		{"failure after the fact", unix.EIO, faulty.FailAfter},
	}
	for state := range lives {
		all := liveWith(t, state)
		if len(all.errs) > 0 || strings.Contains(all.log, "level=ERROR") {
			t.Fatalf("on a sound disk: %v %s", all.errs, all.log)
		}
		all.check(t)
		ops := all.disk.Ops()
		if len(ops) < 30 {
			t.Fatalf("only %d operations were seen: %v", len(ops), ops)
		}
		t.Logf("%s: %d faults at each of %d operations", state, len(faults), len(ops))
		for i, fault := range faults {
			t.Run(state+", "+fault.name, func(t *testing.T) {
				for _, op := range ops {
					if testing.Short() && (op.N+i)%len(faults) != 0 {
						continue // each operation fails in one of these ways
					}
					want := logged
					if !giveBack(op, ops) {
						want = told
						if op.Kind != OpTruncate {
							want = expect(t, op, fault.err)
						}
					}
					t.Run(fmt.Sprintf("%d %s %s", op.N, op.Kind, op.Name), func(t *testing.T) {
						o := liveWith(t, state, fault.at(op.N, fault.err))
						full := errors.Is(fault.err, unix.ENOSPC) || errors.Is(fault.err, unix.EDQUOT)
						if o.failed(fault.err) != (want == told) || want == told && o.failed(store.ErrFull) != full {
							t.Errorf("the calls said %v; want that %s", o.errs, want)
						}
						if strings.Contains(o.log, fault.err.Error()) != (want == logged) {
							t.Errorf("the log says %q; want that %s", o.log, want)
						}
						if want != told && (len(o.refused) > 0 || o.commits != 11) {
							t.Errorf("%d records were refused, %d committed", len(o.refused), o.commits)
						}
						o.check(t)
						if op.Kind == OpWrite && op.Name == journalName {
							liveOrDie(t, state, true, fault.at(op.N, fault.err)).check(t)
						}
					})
				}
			})
		}
	}
}

// A disk that dies for good, at whatever moment: every later call says so, and when it
// is back everything that was acknowledged is there.
func TestDiskDies(t *testing.T) {
	for state := range lives {
		n := liveWith(t, state).disk.Count()
		for at := 1; at <= n; at++ {
			for i, err := range []error{unix.EIO, unix.EROFS, unix.ENOSPC} {
				if testing.Short() && (at+i)%3 != 0 {
					continue
				}
				o := liveWith(t, state, faulty.FailFrom(at, err))
				if len(o.appended)+len(o.refused) < 11 && !o.failed(err) {
					t.Errorf("%s, from operation %d: %v", state, at, o.errs)
				}
				if len(o.appended) > o.commits && !o.failed(err) {
					t.Errorf("%s, from operation %d: %d records are not durable, and there was no error", state, at, len(o.appended)-o.commits)
				}
				o.check(t)
			}
		}
	}
}

// A short write that cannot be taken back: the journal says so and takes nothing more,
// not even the end of the run, which would stand behind half a record.
func TestShortWriteThatStays(t *testing.T) {
	for _, op := range liveWith(t, "old job").disk.Ops() {
		if op.Kind != OpWrite || op.Name != journalName {
			continue
		}
		broken := errors.New("truncate: input/output error")
		o := liveWith(t, "old job", faulty.ShortWriteAt(op.N, 20, unix.EIO),
			faulty.When(func(other faulty.Op) bool { return other.N > op.N && other.Kind == OpTruncate },
				func(faulty.Op, func(int) error) error { return broken }))
		if !o.failed(unix.EIO) || !o.failed(broken) || !strings.Contains(errors.Join(o.errs...).Error(), "open the job again") {
			t.Errorf("write %d: %v", op.N, o.errs)
		}
		if len(o.appended)+len(o.refused) != 11 || o.refused[len(o.refused)-1] != "e11" {
			t.Errorf("write %d: %d records were taken after it", op.N, len(o.appended))
		}
		o.check(t)
	}
}

// When the disk is full from some moment on, for everything but the space that was reserved
// in advance, the end of the run is still recorded and made durable.
func TestFullDiskTakesTheEnd(t *testing.T) {
	whole := liveWith(t, "old job")
	first := slices.IndexFunc(whole.disk.Ops(), func(op faulty.Op) bool { return op.Kind == OpWrite && op.Name == journalName })
	for at := first + 1; at <= whole.disk.Count(); at++ {
		full := faulty.When(func(op faulty.Op) bool {
			needsSpace := op.Kind == OpCreate || op.Kind == OpAllocate || op.Kind == OpMkdir || op.Kind == OpWrite && op.Name != journalName
			return op.N >= at && needsSpace
		}, func(faulty.Op, func(int) error) error { return unix.ENOSPC })
		o := liveWith(t, "old job", full)
		if len(o.errs) > 0 || o.commits != 11 {
			t.Errorf("from operation %d: %v, %d records are durable", at, o.errs, o.commits)
		}
		o.check(t)
	}
}

// A directory that becomes read-only while a job is written loses the summary, and
// nothing else. Until it can be written to again, the job is not continued.
func TestDirectoryBecomesReadOnly(t *testing.T) {
	dir, before := place(t, "old job")
	o := &outcome{before: before, disk: &watched{Disk: faulty.New()}}
	o.s = New(dir, &Options{Disk: o.disk})
	o.disk.path = o.s.path(journalName)
	giveAway(t, path.Dir(path.Dir(dir)))
	defer os.Chmod(o.s.path("."), 0o700)
	o.said = func(r store.Record) {
		if r.Seq == 14 {
			if err := os.Chmod(o.s.path("."), 0o500); err != nil {
				t.Error(err)
			}
		}
	}
	asOtherUser(t, func() { o.live(t.Context()) })
	if len(o.errs) > 0 || o.commits != 11 {
		t.Errorf("%v, %d records are durable", o.errs, o.commits)
	}
	asOtherUser(t, func() {
		if n := count(t, o.s); n != 22 {
			t.Errorf("%d records can be read, want 22", n)
		}
		if _, err := o.s.Open(t.Context(), "job1"); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "cannot be written to") {
			t.Errorf("Open: %v", err)
		}
	})
	if err := os.Chmod(o.s.path("."), 0o700); err != nil {
		t.Fatal(err)
	}
	o.check(t)
}
