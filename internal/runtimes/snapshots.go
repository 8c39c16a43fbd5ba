package runtimes

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
	"github.com/perstack-go/perstack/job"
)

// Snapshots stores the states of the workspace of one job. The store is opened when the first state
// is stored: most jobs that only read need none.
type Snapshots struct {
	dir, workspace string
	options        snapshot.Options
	maxStore       int64 // bytes that all stored files of the project can take

	mu    sync.Mutex
	store *snapshot.Store
	taker *snapshot.Taker
}

// NewSnapshots returns what stores the states of the workspace of a job, and nil if nothing is to be
// stored. envFiles says that programs of the job can change env files, so that these are stored, too.
func NewSnapshots(spec job.Spec, parts engine.Parts, envFiles bool) *Snapshots {
	if parts.SnapshotDir == "" || spec.Snapshots.Mode == job.SnapshotsOff {
		return nil
	}
	return &Snapshots{
		dir: parts.SnapshotDir, workspace: spec.Workspace.Dir, options: SnapshotOptions(spec, envFiles),
		maxStore: spec.Snapshots.Or(job.DefaultSnapshots()).MaxStoreBytes,
	}
}

// SnapshotOptions returns what the snapshots of a job capture. What tools cannot reach is perstack's
// own, apart from env files, which have a rule of their own.
func SnapshotOptions(spec job.Spec, envFiles bool) snapshot.Options {
	said := spec.Snapshots.Or(job.DefaultSnapshots())
	o := snapshot.Defaults()
	o.EnvFiles, o.MaxFileBytes, o.MaxBytes, o.MaxEntries = envFiles, said.MaxFileBytes, said.MaxSnapshotBytes, said.MaxEntries
	hidden := make(map[string]bool)
	hide := func(dir, path string) {
		if rest, ok := userfile.Below(dir, path); ok && !workspace.IsEnvFile(filepath.Base(path)) {
			hidden[filepath.ToSlash(rest)] = true
		}
	}
	real, dirErr := filepath.EvalSymlinks(spec.Workspace.Dir)
	for _, path := range spec.Workspace.Hidden {
		hide(spec.Workspace.Dir, path)
		if resolved, err := filepath.EvalSymlinks(path); err == nil && dirErr == nil {
			hide(real, resolved) // one of them can be named by way of a link
		}
	}
	if len(hidden)+len(said.Exclude) > 0 {
		o.Exclude = func(path string) bool { return hidden[path] || said.Excludes(path) }
	}
	return o
}

// Take implements [engine.Snapshots].
func (s *Snapshots) Take(ctx context.Context) (event.WorkspaceSnapshot, error) {
	taker, err := s.open(ctx)
	if err != nil {
		return event.WorkspaceSnapshot{}, err
	}
	state, err := taker.Take(ctx)
	if err != nil {
		return event.WorkspaceSnapshot{}, err
	}
	return Describe(state), nil
}

// Describe returns a snapshot as it is recorded.
func Describe(s snapshot.Snapshot) event.WorkspaceSnapshot {
	e := event.WorkspaceSnapshot{
		Tree: s.Tree.String(), SkippedAll: s.SkippedAll, Incomplete: s.Incomplete, HardLinks: s.HardLinks, GitOutside: s.GitOutside,
	}
	for _, skipped := range s.Skipped {
		e.Skipped = append(e.Skipped, event.SkippedFile{Path: valid(skipped.Path), Why: skipped.Why})
	}
	for _, path := range s.Torn {
		e.Torn = append(e.Torn, valid(path))
	}
	return e
}

// valid makes a path valid for the journal: names of files can be any bytes.
func valid(path string) string { return strings.ToValidUTF8(path, "\uFFFD") }

func (s *Snapshots) open(ctx context.Context) (*snapshot.Taker, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taker != nil {
		return s.taker, nil
	}
	store, err := snapshot.Open(ctx, s.dir)
	if err != nil {
		return nil, err
	}
	// What a job leaves too much is removed when it ends. Until then, it must not fill the disk.
	size, err := snapshot.Size(s.dir)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	s.options.MaxGrowth = max(s.maxStore-size, 1)
	s.store, s.taker = store, store.Taker(s.workspace, s.options)
	return s.taker, nil
}

// CloseSnapshots saves what is known of the workspace, and releases the store.
func CloseSnapshots(s *Snapshots, log *slog.Logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taker == nil {
		return
	}
	if err := errors.Join(s.taker.Close(), s.store.Close()); err != nil {
		log.Warn("the next job reads all files of the workspace again", "error", err)
	}
}
