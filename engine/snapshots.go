package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/skill"
)

// A snapshotter stores the states of the workspace for all Runs of a job, and knows whose changes
// they show. What differs while a call runs that can change files is the job's; everything else is
// the work of others. Requests of several Runs at the same time share one look at the workspace.
type snapshotter struct {
	source   Snapshots // nil: nothing is stored
	required bool
	log      *slog.Logger
	// unwatched says that the job can change files when no call is reported: it runs in a container,
	// whose engine is not believed.
	unwatched bool

	scanning chan struct{} // holds a token while the workspace is looked at
	warming  sync.WaitGroup
	warm     sync.Once

	mu     sync.Mutex
	tree   string           // of the newest state in the journal
	busy   map[callKey]bool // calls that are running and can change files
	during map[callKey]bool // those that ran at any time of the present look
	worked bool             // such a call ran since the last look
	unsure bool             // who changed what is not known since the last look
	told   bool             // the user knows that a state could not be stored
	next   *sharedSnapshot
}

// A callKey names a call of a job. Two Runs can have calls of the same id.
type callKey struct{ runID, callID string }

// A sharedSnapshot is a look at the workspace that has not begun. Requests wait for it.
type sharedSnapshot struct {
	done chan struct{}
	err  error
}

func newSnapshotter(spec *job.Spec, parts *Parts, h *History) *snapshotter {
	s := &snapshotter{
		source: parts.Snapshots, required: spec.Snapshots.Mode == job.SnapshotsRequired, log: parts.Log,
		scanning: make(chan struct{}, 1), busy: make(map[callKey]bool),
	}
	if states := h.Files(); len(states) > 0 {
		s.tree = states[len(states)-1].Tree
	}
	return s
}

// take stores the present state. If it differs from the state before, record is called with it.
// Requests that come before it begins wait for the same look. A job that is being stopped does not
// wait: it is then not known who changed what.
func (s *snapshotter) take(ctx context.Context, reason string, record func(event.WorkspaceSnapshot) error) error {
	if s.source == nil {
		return nil
	}
	for {
		shared, first := s.join()
		if first {
			shared.err = s.lead(ctx, reason, record)
			close(shared.done)
		}
		select {
		case <-shared.done:
		case <-ctx.Done():
		}
		switch {
		case ctx.Err() != nil && (!first || errors.Is(shared.err, errLookStopped)):
			s.doubt()
			return nil
		case !errors.Is(shared.err, errLookStopped):
			return shared.err
		}
		// Another Run was stopped before it could look.
	}
}

// errLookStopped says that the Run which looked at the workspace for others was stopped.
var errLookStopped = errors.New("the job is being stopped")

// lead takes a look for all requests that joined.
func (s *snapshotter) lead(ctx context.Context, reason string, record func(event.WorkspaceSnapshot) error) error {
	select {
	case s.scanning <- struct{}{}:
		defer func() { <-s.scanning }()
		s.separate()
		return s.look(ctx, reason, record)
	case <-ctx.Done():
		s.separate()
		return errLookStopped
	}
}

// join returns the look that the request is part of, and whether the caller has to take it.
func (s *snapshotter) join() (shared *sharedSnapshot, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		return s.next, false
	}
	s.next = &sharedSnapshot{done: make(chan struct{})}
	return s.next, true
}

// separate makes later requests wait for another look.
func (s *snapshotter) separate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = nil
}

// look stores the present state. The workspace is looked at by one goroutine at a time, which
// records what it saw before the next one looks.
func (s *snapshotter) look(ctx context.Context, reason string, record func(event.WorkspaceSnapshot) error) error {
	s.mu.Lock()
	worked := s.worked
	s.worked, s.during = len(s.busy) > 0, maps.Clone(s.busy)
	s.mu.Unlock()

	state, err := s.source.Take(ctx)
	if err == nil && s.required && (state.SkippedAll > 0 || state.Incomplete != "") {
		err = errors.New(whatIsMissing(state))
	}

	s.mu.Lock()
	worked = worked || s.worked // a call can have started meanwhile
	if err != nil {
		s.worked, s.unsure = worked, true
		s.mu.Unlock()
		return s.failed(ctx, err)
	}
	state.Reason, state.Busy = reason, sortedIDs(s.during)
	state.Unsure = s.unsure || s.unwatched && !worked
	state.Outside = !worked && !state.Unsure
	changed := state.Tree != s.tree
	s.tree, s.unsure, s.during = state.Tree, false, nil
	s.mu.Unlock()
	s.tellMissing(state)
	if !changed && reason != event.SnapshotResume { // which says that nothing is unknown any more
		return nil
	}
	return record(state)
}

func sortedIDs(calls map[callKey]bool) (ids []string) {
	for key := range calls {
		ids = append(ids, key.callID)
	}
	slices.Sort(ids)
	return ids
}

// whatIsMissing says what a state does not contain.
func whatIsMissing(state event.WorkspaceSnapshot) string {
	if state.Incomplete != "" {
		return fmt.Sprintf("the workspace exceeds the limit on %s of snapshots", state.Incomplete)
	}
	return fmt.Sprintf("%s is not stored: %s", state.Skipped[0].Path, state.Skipped[0].Why)
}

// failed says what a state means that could not be stored: the end of the job if it is required,
// else a message to the user, once.
func (s *snapshotter) failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return errLookStopped
	case s.required:
		return &LimitError{Limit: event.LimitSnapshot, Why: err.Error()}
	}
	s.tell("the files of the workspace cannot be stored, so what this job changes cannot be undone", "error", err)
	return nil
}

// tellMissing tells the user that not everything can be restored.
func (s *snapshotter) tellMissing(state event.WorkspaceSnapshot) {
	if state.SkippedAll > 0 || state.Incomplete != "" {
		s.tell("not all files of the workspace can be restored", "why", whatIsMissing(state), "files", state.SkippedAll)
	}
}

func (s *snapshotter) tell(message string, args ...any) {
	s.mu.Lock()
	told := s.told
	s.told = true
	s.mu.Unlock()
	if !told {
		s.log.Warn(message, args...)
	}
}

// begin notes that a call starts which can change files.
func (s *snapshotter) begin(call callKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[call], s.worked = true, true
	if s.during != nil {
		s.during[call] = true
	}
}

// end notes that a call has ended.
func (s *snapshotter) end(call callKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, call)
}

// doubt notes that calls were cut off: what differs now can be their work or that of others.
func (s *snapshotter) doubt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsure = true
}

// maxWaitForLook is how long a call waits while the workspace is looked at, so that its changes are
// in one state and not in the next.
const maxWaitForLook = 250 * time.Millisecond

// await waits while the workspace is looked at, but not long.
func (s *snapshotter) await(ctx context.Context) {
	if s.source == nil {
		return
	}
	select {
	case s.scanning <- struct{}{}:
		<-s.scanning
		return
	default:
	}
	timeout := time.NewTimer(maxWaitForLook)
	defer timeout.Stop()
	select {
	case s.scanning <- struct{}{}:
		<-s.scanning
	case <-timeout.C:
	case <-ctx.Done():
	}
}

// start looks at the workspace beside the first request to the model: reading all files for the
// first time takes longer than to notice later what has changed.
func (s *snapshotter) start(ctx context.Context) {
	if s.source == nil {
		return
	}
	s.warm.Do(func() {
		select {
		case s.scanning <- struct{}{}:
		default: // a state is being stored already
			return
		}
		s.warming.Go(func() {
			defer func() { <-s.scanning }()
			if _, err := s.source.Take(ctx); err != nil && ctx.Err() == nil {
				s.log.Debug("the files of the workspace could not be stored ahead of time", "error", err)
			}
		})
	})
}

// stop waits until the look that start began has ended.
func (s *snapshotter) stop() { s.warming.Wait() }

// changesFiles reports whether a call of a tool can change files. What servers say of their tools
// does not count.
func changesFiles(t skill.Tool) bool { return t.Kind == skill.Plain && !t.ReadOnly && !t.MemoryOnly }

// snapshotBefore stores the state before the first call of a step that can change files.
func (r *run) snapshotBefore(ctx context.Context, calls []Call) error {
	if r.changesFiles || !slices.ContainsFunc(calls, r.callChangesFiles) {
		return nil
	}
	r.changesFiles = true
	return r.snapshot(ctx, event.SnapshotBefore)
}

func (r *run) callChangesFiles(c Call) bool {
	t, _, _ := r.toolbox.Lookup(c.ToolName)
	return changesFiles(t)
}

// snapshotAfter stores the state after a step in which calls could change files, before body is
// recorded, which ends the step.
func (r *run) snapshotAfter(ctx context.Context, body event.Body) error {
	e := event.Event{Body: body}
	_, continues := body.(event.ContinueToNextStep)
	if !r.changesFiles || !continues && !e.IsTerminal() {
		return nil
	}
	r.changesFiles = false
	reason := event.SnapshotCheckpoint
	if status, _ := e.EndStatus(); e.IsTerminal() && status != event.StatusStoppedByDelegate && r.parent == nil {
		reason = event.SnapshotEnd
	}
	if ctx.Err() == nil {
		if err := r.snapshot(ctx, reason); ctx.Err() == nil {
			return err
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxLastLook)
	defer cancel()
	return r.snapshot(last, reason)
}

// maxLastLook is how long a job that was told to stop looks at the workspace.
const maxLastLook = 2 * time.Second

func (r *run) snapshot(ctx context.Context, reason string) error {
	if r.exec.snapshots.source == nil {
		return nil
	}
	return r.publishDuring(func() error {
		return r.exec.snapshots.take(ctx, reason, func(state event.WorkspaceSnapshot) error {
			_, err := r.recorder.record(r.newEvent(state), recordAndPublish)
			return err
		})
	})
}

// snapshotResume stores the state in which a crash left the workspace.
func (x *execution) snapshotResume(ctx context.Context, runID string) error {
	crashed := false
	x.recorder.view(func(h *History) { crashed = h.files.crashed })
	if !crashed || x.snapshots.source == nil {
		return nil
	}
	x.snapshots.doubt()
	return x.snapshots.take(ctx, event.SnapshotResume, func(state event.WorkspaceSnapshot) error {
		_, err := x.recorder.record(event.Event{
			ID: x.parts.Source.NewID(), Timestamp: x.parts.Source.Now().UnixMilli(), JobID: x.spec.JobID, RunID: runID, Body: state,
		}, recordAndPublish)
		return err
	})
}
