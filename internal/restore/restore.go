// Package restore brings the files of a workspace back to a state that the journal of a job names,
// and records that.
//
// A [Session] has everything locked that a restore needs: the workspace, the journal and the stored
// files. [Session.Plan] says what a restore would do, [Session.Apply] does it. The present state is
// stored before, so that a restore can be undone, and the journal says what is about to happen. If
// the process dies, [Enter] or the next Session finishes the restore.
//
// What is stored is the work of internal/workspace/snapshot. What changes is decided, and changed, by
// internal/workspace/rewind. Start reading at [Open].
package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// A Place says where the history of a project is.
type Place struct {
	Storage string `json:"storage"`       // directory of the journals
	Link    bool   `json:"link,omitzero"` // it can be a symbolic link, because the user chose it
	// Project seals the records. Jobs of the projects in Adopted are its own, too.
	Project string   `json:"project"`
	Adopted []string `json:"adopted,omitempty"`
	// Trust accepts jobs whose seal is missing or wrong.
	Trust bool `json:"trust,omitzero"`
}

// Files returns the directory of the stored files, which lies beside the journals.
func (p Place) Files() string { return filepath.Join(p.Storage, "files") }

// hidden returns what is perstack's own: this history, those of other runs, and the state of the user.
// If it is in a workspace, it is never stored or changed. Journals do not name it.
func (p Place) hidden(dir state.Dir) ([]string, error) {
	others, err := dir.Storages()
	return append(others, p.Storage, string(dir)), err
}

// store returns the journals. They are sealed with the keys in a state directory.
func (p Place) store(dir state.Dir) store.Store {
	sealer := store.NewLazySealer(p.Project, func() (all []store.SealKey, err error) {
		keys, err := dir.Keys()
		for _, key := range keys {
			all = append(all, key.Secret)
		}
		return all, err
	}).Adopt(p.Adopted...)
	if p.Trust {
		sealer = sealer.Trusting()
	}
	return file.New(p.Storage, &file.Options{AllowLink: p.Link}).WithSeal(sealer)
}

// A Session is a job whose files can be restored. It must be closed.
type Session struct {
	History   *engine.History
	Workspace string
	Finished  string // the job whose restore was interrupted there, and is finished now; "" if there was none

	place   Place
	source  engine.Source
	spec    job.Spec
	lock    *Lock
	journal store.Journal
	files   *snapshot.Store
	runID   string // of the newest record
	unsure  bool   // who changed files since the newest state is not known
}

// Options say whose files are restored.
type Options struct {
	State  string // the state directory of the user
	Place  Place
	Job    string
	Source engine.Source
	// Abort takes an interrupted restore of the job back instead of finishing it.
	Abort bool
}

// ErrNoFiles says that no state of the workspace is stored.
var ErrNoFiles = errors.New("the job has stored no files")

// ErrNoRestore says that no restore was interrupted.
var ErrNoRestore = errors.New("no restore was interrupted")

// A GoneError says that the workspace of a job does not exist.
type GoneError struct{ Job, Workspace string }

func (e *GoneError) Error() string {
	return fmt.Sprintf("the workspace of job %s does not exist: %s", e.Job, e.Workspace)
}

// Open locks the workspace of a job, its journal and the stored files. If a restore was interrupted
// in the workspace, it is finished first. A [*BusyError] says that a job is running there.
func Open(ctx context.Context, o Options) (s *Session, err error) {
	h, err := loadHistory(ctx, o.Place.store(state.Dir(o.State)), o.Job)
	if err != nil {
		return nil, err
	}
	spec, err := h.NewestSpec()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(spec.Workspace.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, &GoneError{o.Job, spec.Workspace.Dir}
	}
	lock, err := acquire(state.Dir(o.State), spec.Workspace.Dir, true)
	if err != nil {
		return nil, err
	}
	defer func() {
		if s == nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	finished := ""
	switch p := lock.pending(); {
	case p == nil && o.Abort:
		return nil, ErrNoRestore
	case p == nil:
	case o.Abort && p.Job != o.Job:
		return nil, fmt.Errorf("the restore that was interrupted in %s is of job %s", spec.Workspace.Dir, p.Job)
	default:
		finished = p.Job
		if err := lock.settle(ctx, o.State, o.Source, o.Abort); err != nil {
			return nil, err
		}
	}
	if s, err = open(ctx, o, lock); err == nil {
		s.Finished = finished
	}
	return s, err
}

// open opens a job whose workspace is locked.
func open(ctx context.Context, o Options, lock *Lock) (_ *Session, err error) {
	s := &Session{place: o.Place, source: o.Source, lock: lock}
	journals := o.Place.store(state.Dir(o.State))
	if s.journal, err = journals.Open(ctx, o.Job); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	s.History = engine.NewHistory()
	for r, err := range journals.Read(ctx, o.Job, 0) {
		if err != nil {
			return nil, err
		}
		s.apply(r)
	}
	if s.History.Job.Imported != nil {
		return nil, ErrNoFiles
	}
	if s.spec, err = s.History.NewestSpec(); err != nil {
		return nil, err
	}
	s.Workspace = s.spec.Workspace.Dir
	s.unsure = s.History.FilesUnsure()
	if s.spec.Workspace.Hidden, err = o.Place.hidden(state.Dir(o.State)); err != nil {
		return nil, err
	}
	if s.files, err = snapshot.Open(ctx, o.Place.Files()); err != nil {
		return nil, err
	}
	return s, nil
}

// loadHistory folds the journal of a job. Unlike opening it for writing, this creates nothing.
func loadHistory(ctx context.Context, journals store.Store, jobID string) (*engine.History, error) {
	if err := store.CheckID(jobID); err != nil {
		return nil, err
	}
	return engine.Load(ctx, journals, jobID)
}

// Close releases everything.
func (s *Session) Close() error { return errors.Join(s.close(), s.lock.Close()) }

func (s *Session) close() (err error) {
	if s.files != nil {
		err = s.files.Close()
	}
	return errors.Join(err, s.journal.Close())
}

func (s *Session) apply(r store.Record) {
	s.History.Apply(r)
	s.runID = r.Event.RunID
}

// append records what happened.
func (s *Session) append(ctx context.Context, body event.Body) error {
	return s.record(ctx, event.Event{
		ID: s.source.NewID(), Timestamp: s.source.Now().UnixMilli(), JobID: s.History.Job.ID, RunID: s.runID, Body: body,
	})
}

func (s *Session) record(ctx context.Context, e event.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r, err := s.journal.Append(ctx, e)
	if err == nil {
		s.apply(r)
	}
	return err
}

// Rewind records that the conversation goes back to a checkpoint, or with "" to its beginning. Runs
// that a crash left open are closed: they would count as the newest.
func (s *Session) Rewind(ctx context.Context, head string) error {
	for _, e := range s.History.Interrupts(s.source) {
		if err := s.record(ctx, e); err != nil {
			return err
		}
	}
	if err := s.append(ctx, event.Rewound{Head: head}); err != nil {
		return err
	}
	return s.journal.Commit(ctx)
}
