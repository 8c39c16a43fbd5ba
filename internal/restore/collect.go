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
	jobs, err := readRoots(ctx, journals, now)
	if err != nil {
		return 0, err
	}
	return collect(files, jobs, 0)
}

// Limit is [Collect] if the stored files take more than most bytes. If that does not help, it removes
// the states between the first and the last of the oldest jobs. It is for the end of a job.
func Limit(ctx context.Context, journals store.Store, files string, most int64, now time.Time) error {
	size, err := snapshot.Size(files)
	if err != nil || most <= 0 || size <= most {
		return err
	}
	jobs, err := readRoots(ctx, journals, now)
	if err != nil {
		return err
	}
	for oldest := 0; ; oldest = max(2*oldest, 1) {
		_, err := collect(files, jobs, min(oldest, len(jobs)))
		if err != nil || oldest >= len(jobs) {
			return err
		}
		if size, err = snapshot.Size(files); err != nil || size <= most {
			return err
		}
	}
}

// collect removes what the jobs do not need. Of the oldest, only the ends are needed.
func collect(files string, jobs []roots, oldest int) (int64, error) {
	var all []snapshot.ID
	for i, j := range jobs {
		if i < oldest && len(j.states) > 2 {
			j.states = []snapshot.ID{j.states[0], j.states[len(j.states)-1]}
		}
		all = append(append(all, j.states...), j.restore...)
	}
	free, err := snapshot.Collect(files, all)
	if errors.Is(err, snapshot.ErrInUse) {
		return 0, nil // a job is running, and its end is another opportunity
	}
	return free, err
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
