package restore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// Deleted says what [Delete] did.
type Deleted struct {
	Jobs    []string // that are gone
	Running []string // that stay, because a process works on them
	Free    int64    // bytes of stored files that were removed
}

// Delete deletes jobs of a history, and the stored files that only they need. files is the directory
// of the stored files. Jobs that are running stay. The files of the workspace stay, too.
//
// While another job runs, stored files are not removed; a later call does that.
func Delete(ctx context.Context, journals *file.Store, files string, now time.Time, jobIDs ...string) (d Deleted, err error) {
	for _, id := range jobIDs {
		if err = ctx.Err(); err != nil {
			break
		}
		err = journals.Delete(ctx, id, now)
		if errors.Is(err, store.ErrLocked) {
			d.Running = append(d.Running, id)
			err = nil
			continue
		}
		if err != nil {
			err = fmt.Errorf("delete job %s: %w", id, err)
			break
		}
		d.Jobs = append(d.Jobs, id)
	}
	if len(d.Jobs) == 0 {
		return d, err
	}
	free, failed := Collect(context.WithoutCancel(ctx), journals, files, now)
	d.Free = free
	return d, errors.Join(err, failed)
}
