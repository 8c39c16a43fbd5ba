package restore

import (
	"context"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// A Result says what a restore did.
type Result struct {
	Changed int                // paths
	Skipped []snapshot.Skipped // what was left alone, and why
	Safety  engine.FileState   // the state before, which can be restored
}

// Apply carries a plan out.
func (s *Session) Apply(ctx context.Context, p *Plan) (Result, error) {
	if err := p.Check(); err != nil {
		return Result{}, err
	}
	if len(p.Changes) == 0 {
		return Result{Skipped: p.Left}, nil
	}
	if err := s.verify(p.Changes); err != nil {
		return Result{}, err
	}
	goal, err := s.files.Save(p.Goal)
	if err != nil {
		return Result{}, err
	}
	safety, err := s.recordSafety(ctx, p)
	if err != nil {
		return Result{}, err
	}
	// The marker comes first: a restore that the journal knows of, and that no command finds, would
	// never be finished.
	if err := s.lock.begin(s.place, s.History.Job.ID); err != nil {
		return Result{}, err
	}
	started := event.FilesRestoreStarted{Target: p.Target.Tree, Safety: safety.Tree, Goal: goal.String()}
	if err := s.append(ctx, started); err != nil {
		return Result{}, err
	}
	if err := s.journal.Commit(ctx); err != nil {
		return Result{}, err
	}
	result, err := s.carryOut(ctx, p.taker, p.Changes, p.Left)
	result.Safety = safety
	return result, err
}

// recordSafety records the state before, unless the journal has it as its newest state.
func (s *Session) recordSafety(ctx context.Context, p *Plan) (engine.FileState, error) {
	newest := func() engine.FileState {
		all := s.History.Files()
		return all[len(all)-1] // the target is one of them
	}
	if newest().Tree == p.now.Tree.String() {
		return newest(), nil
	}
	body := runtimes.Describe(p.now)
	body.Reason, body.Outside, body.Unsure = event.SnapshotSafety, !s.unsure, s.unsure
	err := s.append(ctx, body)
	return newest(), err
}

// maxNamed bounds how many paths an event names.
const maxNamed = 100

// named returns what was skipped as it is recorded. Names of files can be any bytes.
func named(all []snapshot.Skipped) (files []event.SkippedFile) {
	for _, s := range all[:min(len(all), maxNamed)] {
		files = append(files, event.SkippedFile{Path: strings.ToValidUTF8(s.Path, "\uFFFD"), Why: s.Why})
	}
	return files
}

// carryOut changes files, and records that.
func (s *Session) carryOut(ctx context.Context, taker *snapshot.Taker, changes []snapshot.Change, left []snapshot.Skipped) (Result, error) {
	done, err := rewind.Apply(ctx, s.Workspace, s.History.Job.ID, s.files, taker, changes)
	if err != nil {
		return Result{}, err
	}
	result := Result{Changed: done.Changed, Skipped: append(left, done.Skipped...)}
	if err := s.append(ctx, event.FilesRestored{Changed: done.Changed, Skipped: named(result.Skipped)}); err != nil {
		return result, err
	}
	if err := s.journal.Commit(ctx); err != nil {
		return result, err
	}
	return result, s.lock.end()
}

// finish carries out the rest of a restore that was interrupted, or takes it back.
func (s *Session) finish(ctx context.Context, abort bool) error {
	open := s.History.OpenRestore()
	if open == nil { // it had not begun, or had ended
		return s.lock.end()
	}
	if abort && !open.Back { // to take that back would be to carry the first one out
		// This is a restore of its own, which can be interrupted as well. What it finds is partly
		// one state and partly the other.
		back := event.FilesRestoreStarted{Target: open.Safety, Safety: open.Goal, Goal: open.Safety}
		if err := s.append(ctx, back); err != nil {
			return err
		}
		if err := s.journal.Commit(ctx); err != nil {
			return err
		}
		open = s.History.OpenRestore()
	}
	var trees [2]snapshot.Tree
	for i, text := range []string{open.Safety, open.Goal} {
		id, err := parse(text)
		if err == nil {
			trees[i], err = s.files.Load(id)
		}
		if err != nil {
			return err
		}
	}
	var p Plan
	if err := s.look(ctx, &p, trees[1]); err != nil {
		return err
	}
	rest := rewind.Rest(trees[0], trees[1], p.tree)
	if _, err := s.carryOut(ctx, p.taker, rest.Changes, rest.Left); err != nil {
		return fmt.Errorf("finish it: %w", err)
	}
	return nil
}
