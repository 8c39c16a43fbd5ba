package restore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// Name returns the name that users have for a state of the workspace.
func Name(s engine.FileState) string { return "s" + strconv.FormatInt(s.Seq, 10) }

// A TargetError says that a job has no checkpoint or snapshot of a name.
type TargetError struct{ Job, Name string }

func (e *TargetError) Error() string {
	return fmt.Sprintf("job %s has no checkpoint or snapshot %s", e.Job, e.Name)
}

// Find returns the state of the workspace that has a name: that of a snapshot, or of a checkpoint by
// a unique beginning of its id.
func Find(h *engine.History, name string) (engine.FileState, error) {
	if seq, err := strconv.ParseInt(strings.TrimPrefix(name, "s"), 10, 64); err == nil && strings.HasPrefix(name, "s") {
		for _, s := range h.Files() {
			if s.Seq == seq {
				return s, nil
			}
		}
	}
	id, err := history.CheckpointIn(h, name)
	if wrong, ok := errors.AsType[*history.IDError](err); ok && wrong.None() {
		err = &TargetError{h.Job.ID, name}
	}
	if err != nil {
		return engine.FileState{}, err
	}
	point, _ := h.At(id)
	return at(h, point.Seq)
}

// at returns the files that belong to a record. Before the first state, no call had changed a file.
func at(h *engine.History, seq int64) (engine.FileState, error) {
	if s, ok := h.FilesBefore(seq); ok {
		return s, nil
	}
	if all := h.Files(); len(all) > 0 {
		return all[0], nil
	}
	return engine.FileState{}, ErrNoFiles
}

// BeforeRun returns the files as they were before a Run. What others changed between its start and
// its first call was there before the job changed anything, and stays.
func BeforeRun(h *engine.History, start engine.RunStart) (engine.FileState, error) {
	before, err := at(h, start.Seq)
	if err != nil {
		return before, err
	}
	for _, s := range h.Files() {
		switch {
		case s.Seq <= before.Seq || s.Seq < start.Seq:
		case s.By != engine.OtherAuthor:
			return before, nil
		default:
			before = s
		}
	}
	return before, nil
}

// parse reads the id of a tree.
func parse(tree string) (snapshot.ID, error) {
	id, err := snapshot.ParseID(tree)
	if err != nil {
		return id, fmt.Errorf("the journal names a state %q: %w", tree, err)
	}
	return id, nil
}

// stored returns an error for a state that is not stored any more.
func stored(files *snapshot.Store, s engine.FileState, id snapshot.ID) error {
	has, err := files.Has(id)
	if err == nil && !has {
		err = fmt.Errorf("the files of snapshot %s are not stored any more", Name(s))
	}
	return err
}

// statesFrom returns the states of a job from one on. Those that are not stored any more are left
// out: then it is not known who made what changed up to the next.
func statesFrom(files *snapshot.Store, all []engine.FileState, first engine.FileState) (states []rewind.State, err error) {
	var missing rewind.State
	for _, s := range all {
		if s.Seq < first.Seq {
			continue
		}
		r := rewind.State{Job: s.By != engine.OtherAuthor, Others: s.By != engine.JobAuthor}
		if r.Tree, err = parse(s.Tree); err != nil {
			return nil, err
		}
		if s.Restored != "" {
			if r.Restored, err = parse(s.Restored); err != nil {
				return nil, err
			}
		}
		r.Job, r.Others = r.Job || missing.Job, r.Others || missing.Others
		has, err := files.Has(r.Tree)
		if err != nil {
			return nil, err
		}
		if !has {
			missing = r
			continue
		}
		missing = rewind.State{}
		states = append(states, r)
	}
	return states, nil
}

// keepSafety is how long the states before a restore are kept.
const keepSafety = 30 * 24 * time.Hour
