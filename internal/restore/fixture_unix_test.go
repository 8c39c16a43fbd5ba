//go:build unix

package restore_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// A fixture is a workspace, and a job that works there. It records what the engine would.
type fixture struct {
	t        testing.TB
	dir      string // the workspace
	stateDir string
	place    restore.Place
	job      string
	source   engine.Source
	spec     job.Spec

	runs  int
	from  *event.Origin
	last  string // the newest state
	calls int
}

const jobID = "j1"

func newFixture(t testing.TB) *fixture {
	t.Helper()
	testkit.Need(t, "git", "sh", "sed", "cp")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	stateDir := filepath.Join(t.TempDir(), "state")
	project, err := state.Dir(stateDir).Project(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{
		t: t, dir: dir, stateDir: stateDir, job: jobID, source: engine.FixedSource(time.UnixMilli(1_767_000_000_000)),
		place: restore.Place{Storage: project.State, Project: project.ID()},
	}
	f.spec.Workspace.Dir = dir
	return f
}

func (f *fixture) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) path(name string) string { return filepath.Join(f.dir, name) }

// sh runs a script in the workspace.
func (f *fixture) sh(script string) {
	f.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), "HOME="+f.stateDir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_TERMINAL_PROMPT=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func (f *fixture) output(script string) string {
	f.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), "HOME="+f.stateDir, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// journals are opened as the commands do it.
func (f *fixture) journals() store.Store {
	sealer := store.NewLazySealer(f.place.Project, func() (all []store.SealKey, err error) {
		keys, err := state.Dir(f.stateDir).Keys()
		for _, k := range keys {
			all = append(all, k.Secret)
		}
		return all, err
	})
	return file.New(f.place.Storage, nil).WithSeal(sealer)
}

// A work is a Run while it is recorded.
type work struct {
	f       *fixture
	journal store.Journal
	files   *snapshot.Store
	taker   *snapshot.Taker
}

// run records a Run of the coordinator. do does the work.
func (f *fixture) run(task string, do func(w *work)) {
	f.t.Helper()
	w := f.start(task)
	do(w)
	w.add(event.CompleteRun{NewMessage: &event.Message{ID: "m", Type: event.ExpertMessage}})
	f.from = &event.Origin{CheckpointID: w.checkpoint()}
	w.close()
}

func (f *fixture) start(task string) *work {
	f.t.Helper()
	f.runs++
	w := &work{f: f}
	var err error
	w.journal, err = f.journals().Open(f.t.Context(), f.job)
	f.check(err)
	w.files, err = snapshot.Open(f.t.Context(), f.place.Files())
	f.check(err)
	w.taker = w.files.Taker(f.dir, runtimes.SnapshotOptions(f.spec, true))
	spec, err := f.spec.Recorded()
	f.check(err)
	w.add(event.StartRun{
		CheckpointID: w.checkpoint(), Expert: event.ExpertRef{Key: "coder", Name: "coder"}, From: f.from, Spec: spec,
		InputMessages: []*event.Message{{ID: "m", Type: event.UserMessage, Contents: []event.Part{{ID: "p", Type: event.TextPart, Text: task}}}},
	})
	return w
}

func (w *work) checkpoint() string { return fmt.Sprintf("cp%d", w.f.runs) }

func (w *work) close() {
	w.f.t.Helper()
	w.f.check(errors.Join(w.taker.Close(), w.files.Close(), w.journal.Close()))
}

func (w *work) add(body event.Body) {
	w.f.t.Helper()
	e := event.Event{ID: w.f.source.NewID(), Timestamp: w.f.source.Now().UnixMilli(), JobID: w.f.job, RunID: fmt.Sprint("run", w.f.runs), Body: body}
	if !e.IsRuntime() {
		e.ExpertKey, e.StepNumber = "coder", w.f.runs
	}
	_, err := w.journal.Append(w.f.t.Context(), e)
	w.f.check(err)
}

func (w *work) take(reason string, outside bool) {
	w.f.t.Helper()
	s, err := w.taker.Take(w.f.t.Context())
	w.f.check(err)
	if tree := s.Tree.String(); tree != w.f.last {
		w.f.last = tree
		w.add(event.WorkspaceSnapshot{Tree: tree, Reason: reason, Outside: outside})
	}
}

// call does what a tool call does.
func (w *work) call(do func()) {
	w.f.t.Helper()
	w.begin()
	do()
	w.end()
	w.take(event.SnapshotCheckpoint, false)
}

// begin records that a call is about to start.
func (w *work) begin() {
	w.f.t.Helper()
	w.take(event.SnapshotBefore, true)
	w.f.calls++
	id := fmt.Sprint("call", w.f.calls)
	w.add(event.CallTools{NewMessage: &event.Message{ID: "m", Type: event.ExpertMessage}, ToolCalls: []event.ToolCall{{ID: id, SkillName: event.BaseSkill, ToolName: "exec"}}})
	w.add(event.StartToolCall{ToolCallID: id})
}

// end records that the call has ended.
func (w *work) end() {
	w.f.t.Helper()
	w.add(event.EndToolCall{ToolResult: event.ToolResult{ID: fmt.Sprint("call", w.f.calls), SkillName: event.BaseSkill, ToolName: "exec"}})
}

func (f *fixture) open() *restore.Session {
	f.t.Helper()
	s, err := restore.Open(f.t.Context(), f.options())
	f.check(err)
	return s
}

func (f *fixture) options() restore.Options {
	return restore.Options{State: f.stateDir, Place: f.place, Job: f.job, Source: f.source}
}

// undo goes back to the time before the newest Run.
func (f *fixture) undo(o rewind.Options) (restore.Result, error) {
	f.t.Helper()
	s := f.open()
	defer func() { f.check(s.Close()) }()
	start, ok := s.History.LastRun()
	if !ok {
		f.t.Fatal("there is nothing to undo")
	}
	target, err := restore.BeforeRun(s.History, start)
	f.check(err)
	result, err := f.apply(s, target, o)
	if err == nil {
		head := ""
		if start.From != nil {
			head = start.From.CheckpointID
		}
		f.check(s.Rewind(f.t.Context(), head))
	}
	return result, err
}

// restore goes back to a state.
func (f *fixture) restore(name string, o rewind.Options) (restore.Result, error) {
	f.t.Helper()
	s := f.open()
	defer func() { f.check(s.Close()) }()
	target, err := restore.Find(s.History, name)
	f.check(err)
	return f.apply(s, target, o)
}

func (f *fixture) apply(s *restore.Session, target engine.FileState, o rewind.Options) (restore.Result, error) {
	f.t.Helper()
	plan, err := s.Plan(f.t.Context(), target, o)
	f.check(err)
	result, err := s.Apply(f.t.Context(), plan)
	if all := s.History.Files(); err == nil {
		f.last = all[len(all)-1].Tree
	}
	return result, err
}

// copy makes a copy of the workspace with another program than the one that is tested.
func (f *fixture) copy() string {
	f.t.Helper()
	to := filepath.Join(f.t.TempDir(), "copy")
	if out, err := exec.Command("cp", "-a", f.dir, to).CombinedOutput(); err != nil {
		f.t.Fatalf("%v: %s", err, out)
	}
	f.t.Cleanup(func() { _ = os.Chmod(filepath.Join(to, "closed"), 0o755) })
	return to
}

// list returns everything in a directory but what is not captured, and the names that restores give to
// commits: bytes, modes, links, and directories.
func (f *fixture) list(dir string) map[string]string {
	f.t.Helper()
	all := map[string]string{}
	f.check(filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if e.IsDir() && (name == ".git/objects" || name == ".git/logs" || name == ".git/refs/perstack") {
			return filepath.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		all[name] = info.Mode().String()
		switch {
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			all[name] += " " + target
			return err
		case e.Type().IsRegular():
			content, err := os.ReadFile(path)
			all[name] += " " + string(content)
			return err
		}
		return nil
	}))
	return all
}

// modes returns the modes of everything in the workspace, including what cannot be read.
func (f *fixture) modes() map[string]string {
	f.t.Helper()
	all := map[string]string{}
	var walk func(dir string)
	walk = func(dir string) {
		info, err := os.Lstat(dir)
		f.check(err)
		all[dir] = info.Mode().String()
		if info.IsDir() {
			f.check(os.Chmod(dir, 0o700))
			names, err := os.ReadDir(dir)
			f.check(err)
			for _, e := range names {
				walk(filepath.Join(dir, e.Name()))
			}
			f.check(os.Chmod(dir, info.Mode()))
		}
	}
	walk(f.dir)
	return all
}

// same compares the workspace with a copy of it.
func (f *fixture) same(copied, when string) {
	f.t.Helper()
	if diff := cmp.Diff(f.list(copied), f.list(f.dir)); diff != "" {
		f.t.Fatalf("%s (- wanted, + is):\n%s", when, diff)
	}
}

func (f *fixture) write(name, content string) {
	f.t.Helper()
	f.check(os.MkdirAll(filepath.Dir(f.path(name)), 0o755))
	f.check(os.WriteFile(f.path(name), []byte(content), 0o644))
}

func (f *fixture) read(name string) string {
	f.t.Helper()
	content, err := os.ReadFile(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "(none)"
	}
	f.check(err)
	return string(bytes.TrimSpace(content))
}
