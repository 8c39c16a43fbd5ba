package restore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/filelock"
	"github.com/perstack-go/perstack/internal/opendir"
	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/store"
)

// A Lock is that of a workspace: jobs that run there share it, and a restore has it alone. Workspaces
// above and below count as the same. Its file names the restore that is under way, so that a later
// process finds one that was interrupted.
type Lock struct {
	file      *os.File
	dir, name string // of the file
	workspace string
	path      string // the workspace without links
}

// A pending restore is the content of the file.
type pending struct {
	Place
	Job string `json:"job"`
}

// A BusyError says that a workspace is in use.
type BusyError struct {
	Workspace string
	Restore   bool // by a restore; else by a job
}

func (e *BusyError) Error() string {
	if e.Restore {
		return fmt.Sprintf("files are being restored in %s; wait until that has ended", e.Workspace)
	}
	return fmt.Sprintf("a job is running in %s; wait until it has ended, or stop it", e.Workspace)
}

const (
	patience   = 5 * time.Second // of a job, for a restore
	tryAgain   = 50 * time.Millisecond
	maxPending = 64 << 10
)

// Enter takes the lock of a workspace for a job that is about to run there, and first finishes a
// restore that was interrupted there. A nil Lock can be closed: without a state directory, there are
// no locks and no restores. The workspace is in use until the Lock is closed.
func Enter(ctx context.Context, stateDir, workspace string) (*Lock, error) {
	if stateDir == "" {
		return nil, nil
	}
	l, err := wait(ctx, state.Dir(stateDir), workspace, false)
	if err != nil || l.pending() == nil {
		return l, err
	}
	// The lock cannot be made exclusive in one step: two jobs would wait for each other.
	if err := l.Close(); err != nil {
		return nil, err
	}
	if l, err = wait(ctx, state.Dir(stateDir), workspace, true); err != nil {
		return nil, err
	}
	err = l.settle(ctx, stateDir, engine.SystemSource(), false)
	if err == nil {
		var shared bool
		if shared, err = filelock.Try(l.file, false); err == nil && !shared {
			err = &BusyError{Workspace: workspace, Restore: true}
		}
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Finish finishes a restore that was interrupted in a workspace, and returns its job; "" if there is
// none. A command that reads the journal of a job calls it first.
func Finish(ctx context.Context, stateDir, workspace string) (jobID string, err error) {
	if stateDir == "" {
		return "", nil
	}
	path, err := state.Dir(stateDir).WorkspaceLock(workspace)
	if err != nil {
		return "", fmt.Errorf("lock the workspace: %w", err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return "", nil
	}
	l, err := acquire(state.Dir(stateDir), workspace, true)
	if busy := (*BusyError)(nil); errors.As(err, &busy) {
		return "", nil // then none was interrupted, or the job itself will say so
	}
	if err != nil {
		return "", err
	}
	if p := l.pending(); p != nil {
		jobID = p.Job
		err = l.settle(ctx, stateDir, engine.SystemSource(), false)
	}
	return jobID, errors.Join(err, l.Close())
}

// wait is [acquire] with patience.
func wait(ctx context.Context, dir state.Dir, workspace string, exclusive bool) (*Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(tryAgain)
	defer again.Stop()
	for {
		l, err := acquire(dir, workspace, exclusive)
		if busy := (*BusyError)(nil); !errors.As(err, &busy) {
			return l, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// acquire takes the lock of a workspace at once, or not at all.
func acquire(dir state.Dir, workspace string, exclusive bool) (*Lock, error) {
	path, err := dir.WorkspaceLock(workspace)
	if err != nil {
		return nil, fmt.Errorf("lock the workspace: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("lock the workspace: %w", err)
	}
	in, err := opendir.Open(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("lock the workspace: %w", err)
	}
	defer in.Close()
	f, err := in.Update(filepath.Base(path), 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the workspace: %w", err)
	}
	switch locked, err := filelock.Try(f, exclusive); {
	case err != nil:
		return nil, errors.Join(fmt.Errorf("lock the workspace: %w", err), f.Close())
	case !locked:
		return nil, errors.Join(&BusyError{Workspace: workspace, Restore: !exclusive}, f.Close())
	}
	l := &Lock{file: f, dir: filepath.Dir(path), name: filepath.Base(path), workspace: workspace}
	if err = l.announce(in); err == nil {
		err = l.alone(in, exclusive)
	}
	if err == nil {
		return l, nil
	}
	if busy := (*BusyError)(nil); !errors.As(err, &busy) {
		err = fmt.Errorf("lock the workspace: %w", err)
	}
	return nil, errors.Join(err, l.Close())
}

// Close releases the lock.
func (l *Lock) Close() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.withdraw(), l.file.Close())
}

// pending returns the restore that was interrupted, nil if there is none. What cannot be read was
// not written to its end: then the restore had not begun.
func (l *Lock) pending() *pending {
	content, err := io.ReadAll(io.NewSectionReader(l.file, 0, maxPending))
	p := &pending{}
	if err != nil || json.Unmarshal(content, p) != nil || p.Job == "" {
		return nil
	}
	return p
}

// begin notes that a restore of a job is about to begin.
func (l *Lock) begin(place Place, jobID string) error {
	content, err := json.Marshal(pending{place, jobID}, json.Deterministic(true))
	if err == nil {
		err = l.file.Truncate(0) // what another process did not write to its end
	}
	if err == nil {
		_, err = l.file.WriteAt(content, 0)
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("note that a restore begins: %w", err)
	}
	return nil
}

// end notes that no restore is under way.
func (l *Lock) end() error {
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("note that a restore has ended: %w", err)
	}
	return nil
}

// settle finishes the restore that was interrupted, or takes it back. The lock must be exclusive.
func (l *Lock) settle(ctx context.Context, stateDir string, source engine.Source, abort bool) error {
	p := l.pending()
	if p == nil {
		return nil // another process has done it
	}
	_, err := loadHistory(ctx, p.store(state.Dir(stateDir)), p.Job)
	if errors.Is(err, store.ErrNotFound) {
		// Nothing can finish it. To say so once is all that is left to do.
		return errors.Join(fmt.Errorf("a restore of job %s was interrupted in %s, and the job is gone: some files are restored, others are not", p.Job, l.workspace), l.end())
	}
	var s *Session
	if err == nil {
		s, err = open(ctx, Options{State: stateDir, Place: p.Place, Job: p.Job, Source: source}, l)
	}
	if err == nil {
		err = errors.Join(s.finish(ctx, abort), s.close())
	}
	if err != nil {
		return &InterruptedError{l.workspace, p.Job, err}
	}
	return nil
}

// An InterruptedError says that a restore was interrupted, and why it could not be finished.
type InterruptedError struct {
	Workspace, Job string
	Err            error
}

func (e *InterruptedError) Error() string {
	return fmt.Sprintf("a restore of job %s was interrupted in %s, and cannot be finished: %v", e.Job, e.Workspace, e.Err)
}

func (e *InterruptedError) Unwrap() error { return e.Err }
