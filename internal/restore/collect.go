package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
	"github.com/perstack-go/perstack/store"
)

// Collect removes stored files that no job of a history needs any more, and returns how many bytes
// became free. It is for the time after jobs were deleted. Of the states before a restore, it keeps
// those of the last 30 days. If the files are in use, it does nothing.
func Collect(ctx context.Context, journals store.Store, files string, now time.Time) (free int64, err error) {
	free, _, err = collect(ctx, journals, files, now, 0)
	return free, err
}

// Limit is [Collect] if the stored files take more than most bytes. If that does not help, it removes
// the states between the first and the last of the oldest jobs. It is for the end of a job.
func Limit(ctx context.Context, journals store.Store, files string, most int64, now time.Time) error {
	for oldest := 0; ; oldest = max(2*oldest, 1) {
		size, err := snapshot.Size(files)
		if err != nil || most <= 0 || size <= most {
			return err
		}
		_, jobs, err := collect(ctx, journals, files, now, oldest)
		if err != nil || oldest >= jobs {
			return err
		}
	}
}

// collect removes what no job needs, and returns how many jobs there are. Of the oldest, only the first
// and the last state are needed.
func collect(ctx context.Context, journals store.Store, files string, now time.Time, oldest int) (free int64, jobs int, err error) {
	free, err = snapshot.Collect(files, func() (all []snapshot.ID, err error) {
		found, err := readRoots(ctx, journals, now)
		jobs = len(found)
		for i, j := range found {
			if i < oldest && len(j.states) > 2 {
				j.states = []snapshot.ID{j.states[0], j.states[len(j.states)-1]}
			}
			all = append(append(all, j.states...), j.restore...)
		}
		return all, err
	})
	if errors.Is(err, snapshot.ErrInUse) {
		return 0, 0, nil // a job is running, and its end is another opportunity
	}
	return free, jobs, err
}

// roots are the states that a job needs.
type roots struct {
	started int64
	states  []snapshot.ID // in their order
	restore []snapshot.ID // of a restore that has not ended
}

// readRoots reads all journals, the oldest job first. If one of them cannot be read, nothing may be
// removed.
func readRoots(ctx context.Context, journals store.Store, now time.Time) ([]roots, error) {
	var all []roots
	for info, err := range journals.Jobs(ctx) {
		var old *store.VersionError
		if errors.As(err, &old) && old.Version < store.Version || errors.Is(err, store.ErrBadID) {
			continue // it has no snapshots, or is no job
		}
		var r roots
		if err == nil {
			r, err = rootsOf(ctx, journals, info.ID, now)
		}
		if err != nil {
			return nil, fmt.Errorf("find out which stored files are needed: %w", err)
		}
		r.started = info.StartedAt
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b roots) int { return int(min(max(a.started-b.started, -1), 1)) })
	return all, nil
}

func rootsOf(ctx context.Context, journals store.Store, jobID string, now time.Time) (r roots, err error) {
	goal := ""
	for record, err := range journals.Read(ctx, jobID, 0) {
		if err != nil {
			return r, err
		}
		trees, into := []string(nil), &r.states
		switch b := record.Event.Body.(type) {
		case event.WorkspaceSnapshot:
			if b.Reason != event.SnapshotSafety || now.UnixMilli()-record.Event.Timestamp < keepSafety.Milliseconds() {
				trees = []string{b.Tree}
			}
		case event.FilesRestoreStarted:
			r.restore, goal = nil, b.Goal
			trees, into = []string{b.Target, b.Safety, b.Goal}, &r.restore
		case event.FilesRestored:
			r.restore = nil
			trees = []string{goal}
		}
		for _, tree := range trees {
			id, err := parse(tree)
			if err != nil {
				return r, err
			}
			*into = append(*into, id)
		}
	}
	return r, nil
}

// Trees returns the states of the workspace that a job names, each once, in their order.
func Trees(ctx context.Context, journals store.Store, jobID string) (all []snapshot.ID, err error) {
	seen := map[snapshot.ID]bool{}
	for record, err := range journals.Read(ctx, jobID, 0) {
		if errors.Is(err, event.ErrUnknownType) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var trees []string
		switch b := record.Event.Body.(type) {
		case event.WorkspaceSnapshot:
			trees = []string{b.Tree}
		case event.FilesRestoreStarted:
			trees = []string{b.Target, b.Safety, b.Goal}
		}
		for _, tree := range trees {
			id, err := parse(tree)
			if err != nil {
				return nil, fmt.Errorf("record %d: %w", record.Seq, err)
			}
			if !seen[id] {
				seen[id] = true
				all = append(all, id)
			}
		}
	}
	return all, nil
}
