package file

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	faulty "github.com/perstack-go/perstack/internal/testkit/disk"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/storetest"
)

// A life is what a process does with a job, and the results it got. It continues after an
// error, which no caller should do, to see that nothing gets worse.
type life struct {
	s        *Store
	appended []store.Record // acknowledged
	refused  []string       // ids of the events that were not
	commits  int            // how many were appended when a commit last succeeded
	errs     []error
	said     func(store.Record) // is told about each that was appended
	dies     bool               // at the first error, without a word
}

// live opens job1, writes a sample job with commits in between, and closes it.
func (l *life) live(ctx context.Context) {
	j, err := l.s.Open(ctx, "job1")
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	for i, e := range storetest.Sample("job1") {
		r, err := j.Append(ctx, e)
		switch {
		case err != nil && l.dies:
			l.errs = append(l.errs, err, j.(*journal).abandon())
			return
		case err != nil:
			l.errs, l.refused = append(l.errs, err), append(l.refused, e.ID)
		default:
			l.appended = append(l.appended, r)
			if l.said != nil {
				l.said(r)
			}
		}
		if i%4 == 3 || e.IsTerminal() {
			l.committed(j.Commit(ctx))
		}
	}
	l.committed(j.Close())
}

func (l *life) committed(err error) {
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	l.commits = len(l.appended)
}

// lives are the states that a job may be found in by the process that lives.
var lives = map[string]func(t testing.TB, s *Store){
	"new job":  func(testing.TB, *Store) {},
	"old job":  func(t testing.TB, s *Store) { earlier(t, s) },
	"torn job": func(t testing.TB, s *Store) { earlier(t, s); tear(t, s, `{"seq":12,"prev":"`) },
	"power cut": func(t testing.TB, s *Store) {
		earlier(t, s)
		tear(t, s, `{"seq":12,`+strings.Repeat("\x00", 50)+"\n"+`{"seq":13}`+"\n")
	},
}

// earlier writes the sample job.
func earlier(t testing.TB, s *Store) {
	t.Helper()
	j := mustOpen(t, s)
	mustAppend(t, j, storetest.Sample("job1")...)
	mustClose(t, j)
}

// tear leaves something behind the last record.
func tear(t testing.TB, s *Store, rest string) {
	t.Helper()
	writeFile(t, s.path(journalName), append(readFile(t, s.path(journalName)), rest...))
}

// place returns a new storage in the given state, and the lines of its journal.
func place(t testing.TB, state string) (dir string, before [][]byte) {
	t.Helper()
	above := filepath.Join(fastDir(t), "above")
	if err := os.Mkdir(above, 0o700); err != nil {
		t.Fatal(err)
	}
	s := inMemory(New(filepath.Join(above, "perstack"), nil))
	lives[state](t, s)
	if state == "new job" {
		return s.dir, nil
	}
	return s.dir, lines(readFile(t, s.path(journalName)))[:11]
}

// watched is a faulty disk that notes how much of the journal was durable when, so that
// a promise to survive a power cut can be held against it.
type watched struct {
	*faulty.Disk
	path    string
	durable int64
}

func (w *watched) Do(op, name string, size int, run func(int) error) error {
	err := w.Disk.Do(op, name, size, run)
	if op == OpSync && name == journalName && err == nil {
		if info, stat := os.Stat(w.path); stat == nil {
			w.durable = info.Size()
		}
	}
	return err
}

// An outcome is one life on a faulty disk, after it has ended.
type outcome struct {
	life
	disk   *watched
	log    string
	before [][]byte
}

// liveWith lives in a state, with faults.
func liveWith(t *testing.T, state string, faults ...faulty.Fault) *outcome {
	t.Helper()
	return liveOrDie(t, state, false, faults...)
}

func liveOrDie(t *testing.T, state string, dies bool, faults ...faulty.Fault) *outcome {
	t.Helper()
	dir, before := place(t, state)
	o := &outcome{before: before, disk: &watched{Disk: faulty.New(faults...)}}
	o.dies = dies
	var log bytes.Buffer
	o.s = New(dir, &Options{Disk: o.disk, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	o.disk.path = o.s.path(journalName)
	o.live(t.Context())
	o.log = log.String()
	return o
}

// failed reports whether one of the calls returned the error.
func (l *life) failed(target error) bool { return errors.Is(errors.Join(l.errs...), target) }

// check holds what is on the disk against what the life was told: each appended record
// is there, none that was refused is, the chain is whole, what was committed was
// durable, and the job can be resumed.
func (o *outcome) check(t *testing.T) {
	t.Helper()
	want := bytes.Join(o.before, nil)
	committed := int64(len(want))
	for i, r := range o.appended {
		want = append(append(want, r.Line...), '\n')
		if i < o.commits {
			committed = int64(len(want))
		}
	}
	if o.commits > 0 && o.disk.durable < committed {
		t.Errorf("%d bytes were committed, and %d synced", committed, o.disk.durable)
	}
	checkStorage(t, o.s.dir, want)
}

// checkStorage opens the storage on a sound disk, appends to job1, and compares.
func checkStorage(t *testing.T, dir string, want []byte) {
	t.Helper()
	s := inMemory(New(dir, nil))
	var got []byte
	for r, err := range s.Read(t.Context(), "job1", 0) {
		damage := (*store.DamageError)(nil)
		if errors.Is(err, store.ErrNotFound) || errors.As(err, &damage) && damage.Torn {
			break // nothing was ever appended, or the torn end is as it was
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(append(got, r.Line...), '\n')
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("before it is opened again the journal holds\n%s\nwant\n%s", got, want)
	}
	j, err := s.Open(t.Context(), "job1")
	if err != nil {
		t.Fatalf("it cannot be opened again: %v", err)
	}
	r, err := j.Append(t.Context(), storetest.Note("job1", 1, "it goes on"))
	if err == nil {
		err = errors.Join(j.Commit(t.Context()), j.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	want = append(append(bytes.Clone(want), r.Line...), '\n')
	if got := readFile(t, s.path(journalName)); !bytes.Equal(got, want) {
		t.Fatalf("after it continued the journal holds\n%s\nwant\n%s", got, want)
	}
	report, err := store.Verify(t.Context(), s, "job1")
	if err != nil || report.Records != int64(bytes.Count(want, []byte("\n"))) || report.Recorded != report.Last {
		t.Errorf("Verify = %+v, %v", report, err)
	}
	var job event.Job
	for r, err := range s.Read(t.Context(), "job1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		job = job.Apply(r.Event)
	}
	if info, err := s.FindJob(t.Context(), "job1"); err != nil || info.Status != job.Status || info.TotalSteps != job.TotalSteps {
		t.Errorf("FindJob = %+v, %v, want %+v", info, err, job)
	}
	for _, left := range []string{lockName, lockName + ".tmp", summaryName + ".tmp"} {
		if _, err := os.Lstat(s.path(left)); err == nil {
			t.Errorf("%s is left", left)
		}
	}
}
