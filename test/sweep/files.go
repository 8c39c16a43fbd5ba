package sweep

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
	"github.com/perstack-go/perstack/job"
)

// filesName is the directory of a trial with the stored states of its workspace.
const filesName = "files"

// watchedFiles has a failpoint before and after every look at the workspace.
type watchedFiles struct {
	snapshots *runtimes.Snapshots
	points    *points
}

func (f *watchedFiles) Take(ctx context.Context) (event.WorkspaceSnapshot, error) {
	f.points.reach("store files")
	state, err := f.snapshots.Take(ctx)
	f.points.reach("stored files")
	return state, err
}

// storeFiles makes a job store the states of its workspace.
func (v *victim) storeFiles(spec job.Spec, parts *engine.Parts) {
	if !v.job.Files {
		return
	}
	parts.SnapshotDir = filepath.Join(v.points.dir, filesName)
	parts.Snapshots = &watchedFiles{runtimes.NewSnapshots(spec, *parts, false), v.points}
}

// checkFiles finds states of the journal that are not stored, calls that change files without a
// state before them, and changes after the last state of a job that has ended.
func (t trial) checkFiles(ctx context.Context, a *account, events []event.Event) error {
	s, err := snapshot.Open(ctx, filepath.Join(t.dir, filesName))
	if err != nil {
		return err
	}
	defer s.Close()
	last, ended := "", false
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.StartToolCall:
			if last == "" {
				a.invalid = append(a.invalid, fmt.Sprintf("call %s starts before a state of the files is stored", b.ToolCallID))
			}
		case event.WorkspaceSnapshot:
			last = b.Tree
			id, err := snapshot.ParseID(b.Tree)
			if err == nil {
				err = s.Verify(id)
			}
			if err != nil {
				a.invalid = append(a.invalid, fmt.Sprintf("a recorded state is not stored: %v", err))
			}
		case event.StartRun:
			ended = false
		default:
			ended = e.IsTerminal()
		}
	}
	if !ended || last == "" || a.job.Status != event.JobCompleted {
		return nil
	}
	taker := s.Taker(filepath.Join(t.dir, workspaceName), snapshot.Defaults())
	now, err := taker.Take(ctx)
	if err == nil && now.Tree.String() != last {
		a.invalid = append(a.invalid, "the files changed after the last recorded state")
	}
	return err
}
