package engine

import (
	"errors"

	"github.com/perstack-go/perstack/event"
)

// This file stores the states of the workspace for a job that an engine runs elsewhere. The host
// does that itself, whatever the remote engine says about a tool: before the first call of a step is
// acknowledged, when a step ends, and around the whole job. What changes when no call is reported is
// the work of the remote engine or of others.

// StoreFiles stores the state of the workspace before the remote engine starts.
func (f *Follower) StoreFiles() error {
	reason, files := event.SnapshotBefore, f.recorder.history.files
	if files.crashed || files.called && len(f.crashed) > 0 { // the remote engine closes the Runs
		reason = event.SnapshotResume
		f.snapshots.doubt()
	}
	err := f.takeSnapshot(reason)
	f.snapshots.unwatched = true
	return err
}

// StoreLastFiles stores the state of the workspace after the remote engine has ended.
func (f *Follower) StoreLastFiles() error {
	if !f.Begun() {
		return nil
	}
	return f.takeSnapshot(event.SnapshotEnd)
}

// Limit returns the limit that the host met while it followed the job; nil if there is none. The
// remote engine must be told to stop.
func (f *Follower) Limit() *LimitError { return f.limit }

// storeFiles stores the state of the workspace if an event asks for it, before the event is recorded.
func (f *Follower) storeFiles(e event.Event) error {
	switch b := e.Body.(type) {
	case event.StartToolCall:
		var err error
		if !f.touched[e.RunID] {
			f.touched[e.RunID] = true
			err = f.takeSnapshot(event.SnapshotBefore)
		}
		f.snapshots.begin(callKey{e.RunID, b.ToolCallID})
		return err
	case event.EndToolCall:
		f.snapshots.end(callKey{e.RunID, b.ToolResult.ID})
		return nil
	case event.ContinueToNextStep:
	default:
		if !e.IsTerminal() {
			return nil
		}
	}
	if !f.touched[e.RunID] {
		return nil
	}
	delete(f.touched, e.RunID)
	return f.takeSnapshot(event.SnapshotCheckpoint)
}

func (f *Follower) takeSnapshot(reason string) error {
	err := f.snapshots.take(f.recorder.ctx, reason, func(state event.WorkspaceSnapshot) error { return f.Note(state) })
	if limit, ok := errors.AsType[*LimitError](err); ok {
		f.limit = limit
		return nil
	}
	return err
}
