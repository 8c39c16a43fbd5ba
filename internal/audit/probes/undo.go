package probes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// An UndoJob is a job whose changes are undone, after others changed files as well.
type UndoJob struct {
	Workspace, Store string
	Job, Others      func() error
}

// undo does what the commands do, apart from the journal. It returns the files that both changed: then
// nothing is restored.
func undo(ctx context.Context, j UndoJob) (conflicts []string, err error) {
	store, err := snapshot.Open(ctx, j.Store)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	taker := store.Taker(j.Workspace, snapshot.Defaults())
	var states []rewind.State
	for _, s := range []struct {
		change func() error
		state  rewind.State
	}{{func() error { return nil }, rewind.State{}}, {j.Job, rewind.State{Job: true}}, {j.Others, rewind.State{Others: true}}} {
		if err := s.change(); err != nil {
			return nil, err
		}
		taken, err := taker.Take(ctx)
		if err != nil {
			return nil, err
		}
		s.state.Tree = taken.Tree
		states = append(states, s.state)
	}
	work, err := rewind.WorkOf(store, states)
	if err != nil {
		return nil, err
	}
	before, err := store.Load(states[0].Tree)
	if err != nil {
		return nil, err
	}
	now, err := store.Load(states[2].Tree)
	if err != nil {
		return nil, err
	}
	plan := rewind.Make(before, now, work, rewind.Options{})
	if len(plan.Conflicts) > 0 {
		return plan.Conflicts, nil
	}
	_, err = rewind.Apply(ctx, j.Workspace, jobID, store, taker, plan.Changes)
	return nil, err
}

// undone attacks W7: it lets a job destroy files, and expects them back, with the edits of the user.
func (m *Machine) undone(ctx context.Context) audit.Result {
	top, err := m.dir("undo")
	if err != nil {
		return noStart(err)
	}
	ws := filepath.Join(top, "ws")
	at := func(name string) string { return filepath.Join(ws, name) }
	write := func(name, text string) error { return os.WriteFile(at(name), []byte(text), 0o600) }
	has := func(name, text string) bool {
		data, err := userfile.Read(at(name), 1<<10)
		return err == nil && string(data) == text
	}
	if err := errors.Join(os.MkdirAll(at("dir"), 0o700), write("a", "old"), write("dir/b", "old"), write("mine", "old")); err != nil {
		return noStart(err)
	}
	j := UndoJob{
		Workspace: ws, Store: filepath.Join(top, "files"),
		Job:    func() error { return errors.Join(write("a", "job"), os.RemoveAll(at("dir")), write("new", "job")) },
		Others: func() error { return write("mine", "user") },
	}
	conflicts, err := m.Parts.Undo(ctx, j)
	switch {
	case err != nil:
		return noControl(err.Error())
	case len(conflicts) > 0:
		return noControl("files that only the job changed are taken for conflicts")
	case !has("a", "old") || !has("dir/b", "old"):
		return audit.Break(audit.BuiltIn, "what a job changed or removed did not come back")
	case has("new", "job"):
		return audit.Break(audit.BuiltIn, "what a job made is still there")
	case !has("mine", "user"):
		return audit.Break(audit.BuiltIn, "an edit of the user is lost")
	}
	j.Job, j.Others = func() error { return write("a", "job") }, func() error { return write("a", "user") }
	conflicts, err = m.Parts.Undo(ctx, j)
	if err != nil {
		return noControl(err.Error())
	}
	if !slices.Contains(conflicts, "a") || !has("a", "user") {
		return audit.Break(audit.BuiltIn, "an edit of a file that the job changed is lost")
	}
	return audit.Hold(audit.BuiltIn, "files that a job changed, removed and made were put back; an edit of another file stayed, and one of the same file stopped the undo")
}
