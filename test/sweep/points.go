package sweep

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// Names in the directory of a trial.
const (
	workspaceName = "workspace"
	storageName   = "perstack"
	markName      = "killed-at" // the failpoint that the process died at
	pointsName    = "points"    // all failpoints of a process that came to its end
	durableName   = "durable"   // how many records would survive a power cut
)

func journalPath(dir string) string {
	return filepath.Join(dir, storageName, "jobs", jobID, "journal.jsonl")
}

// points are the failpoints of one process, in the order in which it reaches them.
type points struct {
	dir       string
	killAt    int         // 0 for never; the failpoint -killAt interrupts instead
	interrupt func()      // tells the job to stop
	take      func() bool // takes the journal away, instead of the kill

	mu     sync.Mutex
	names  []string
	paused bool
}

// pause makes failpoints inactive, or active again.
func (p *points) pause(paused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = paused
}

// reach passes a failpoint, or dies there. Its name begins with its kind.
func (p *points) reach(name string) { p.reachIn(name, func() {}) }

// reachIn is reach for the middle of something: half is done only if the process dies there.
// A dying goroutine holds the mutex, so that no other passes a failpoint any more.
func (p *points) reachIn(name string, half func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused {
		return
	}
	p.names = append(p.names, name)
	switch len(p.names) {
	default:
		return
	case -p.killAt:
		p.mark(name)
		p.interrupt()
		return
	case p.killAt:
	}
	if p.take != nil {
		if p.take() {
			p.mark(name)
		}
		return
	}
	half()
	p.mark(name)
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // until the signal has arrived
}

// mark tells the sweep where it was.
func (p *points) mark(name string) {
	if err := os.WriteFile(filepath.Join(p.dir, markName), []byte(name), 0o600); err != nil {
		panic(err)
	}
}

// save writes all names, for a process that ends by itself.
func (p *points) save() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return os.WriteFile(filepath.Join(p.dir, pointsName), []byte(strings.Join(p.names, "\n")), 0o600)
}

func (t trial) points() ([]string, error) {
	data, err := os.ReadFile(filepath.Join(t.dir, pointsName))
	return strings.Split(string(data), "\n"), err
}

// watchedDisk has a failpoint after every operation of the store, and in the middle of
// every write.
type watchedDisk struct{ points *points }

// Do implements [file.Disk]. Nothing is really flushed: what a process wrote survives its
// death without that. It is written down how far a flush would have gone.
func (d watchedDisk) Do(op, name string, size int, run func(size int) error) error {
	var err error
	switch {
	case op == file.OpWrite && name != "head": // a system does not stop in the middle of one sector
		d.points.reachIn("tear "+name, func() { _ = run(size / 2) }) // the process dies next
		err = run(size)
	case op == file.OpSync && name == "journal.jsonl":
		err = d.points.flush()
	case op != file.OpSync:
		err = run(size)
	}
	d.points.reach(op + " " + name)
	return err
}

// flush notes how many records the journal has.
func (p *points) flush() error {
	data, err := os.ReadFile(journalPath(p.dir))
	if err != nil {
		return err
	}
	e, err := openEvidence(p.dir, durableName)
	if err != nil {
		return err
	}
	defer e.f.Close()
	return e.note("%d", bytes.Count(data, []byte("\n")))
}

// cutPower takes away the records of a killed process that were never flushed.
func (t trial) cutPower() error {
	durable := 0
	notes, err := lines(t.dir, durableName)
	if err == nil && len(notes) > 0 {
		durable, err = strconv.Atoi(notes[len(notes)-1])
	}
	if err != nil {
		return err
	}
	data, err := os.ReadFile(journalPath(t.dir))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	kept := 0
	for line := range bytes.Lines(data) {
		if durable == 0 {
			break
		}
		durable--
		kept += len(line)
	}
	return os.Truncate(journalPath(t.dir), int64(kept))
}

// watchedStore has a failpoint after everything that changes a journal.
type watchedStore struct {
	store.Store
	points *points
	lazy   bool
}

func (s *watchedStore) Open(ctx context.Context, jobID string) (store.Journal, error) {
	j, err := s.Store.Open(ctx, jobID)
	s.points.reach("open")
	if err != nil {
		return nil, err
	}
	return &watchedJournal{j, s.points, s.lazy}, nil
}

type watchedJournal struct {
	store.Journal
	points *points
	lazy   bool // it only says that it commits
}

func (j *watchedJournal) Append(ctx context.Context, e event.Event) (store.Record, error) {
	r, err := j.Journal.Append(ctx, e)
	j.points.reach("append " + string(e.Type()))
	return r, err
}

func (j *watchedJournal) Commit(ctx context.Context) error {
	var err error
	if !j.lazy {
		err = j.Journal.Commit(ctx)
	}
	j.points.reach("commit")
	return err
}

func (j *watchedJournal) Close() error {
	err := j.Journal.Close()
	j.points.reach("close")
	return err
}

// watchedSkill has a failpoint before and after every call.
type watchedSkill struct {
	skill.Skill
	points *points
}

func (s *watchedSkill) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	s.points.reach("call " + call.ToolName)
	result, err := s.Skill.Call(ctx, call)
	s.points.reach("called " + call.ToolName)
	return result, err
}

func (s *watchedSkill) Unwrap() skill.Skill { return s.Skill }
