package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// open takes the lock, reads what there is, repairs a torn end, and says in job.json
// who writes. The caller abandons j if it fails.
func (j *journal) open(ctx context.Context) error {
	var err error
	if j.f, err = openFile(j.dir, journalName, os.O_RDWR|os.O_CREATE); err != nil {
		return fmt.Errorf("open job %s: %w", j.id, orFull(err))
	}
	ok, err := acquire(ctx, j.f)
	if err != nil {
		return fmt.Errorf("open job %s: lock the journal: %w", j.id, err)
	}
	if !ok {
		return locked(j.dir, j.id)
	}
	torn, err := j.load(ctx)
	if err != nil {
		return err
	}
	j.room = newReserve(j.f, j.now.length)
	if torn > 0 {
		if err := j.room.cut(j.now.length); err != nil {
			return fmt.Errorf("open job %s: cut off an incomplete record: %w", j.id, err)
		}
		j.log.Info("cut off a record that was not written to its end", "after", j.now.head.Seq, "bytes", torn)
	}
	// A job that cannot record its end must not begin.
	if err := j.room.ensure(j.now.length); err != nil {
		return fmt.Errorf("open job %s: %w", j.id, orFull(err))
	}
	j.owner = thisProcess()
	if err := announce(j.dir, j.owner); err != nil {
		j.log.Warn("the owner's note could not be written", "error", err)
	}
	j.summary = true
	if j.now.length == 0 {
		return nil // the first commit does the rest
	}
	// The records may be those of a process that was killed before it committed.
	j.syncing.Lock()
	defer j.syncing.Unlock()
	return j.commit(j.now.length)
}

// load folds the journal and compares it with the head on record. It changes nothing,
// and returns the number of bytes behind the last complete record.
func (j *journal) load(ctx context.Context) (torn int64, err error) {
	recorded, err := readSummary(j.dir, j.id)
	if err != nil {
		j.log.Warn("the summary of the job is not readable and will be rebuilt", "error", err)
	}
	var unknown error
	r := reader{f: j.f, chain: store.Chain{JobID: j.id}}
	for {
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("open job %s: %w", j.id, err)
		}
		rec, err := r.next(0)
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, event.ErrUnknownType) {
			// Read on: if a byte of the type has changed, the next record tells, and
			// a newer version would not help.
			unknown = cmp.Or(unknown, err)
		} else if err != nil {
			return 0, fmt.Errorf("open job: %w", err)
		}
		if err := r.chain.CheckHead(recorded.head); err != nil {
			return 0, err
		}
		if unknown == nil {
			j.now.job = j.now.job.Apply(rec.Event)
		}
	}
	// Before anything is cut: a torn line that was complete once is damage.
	if err := r.chain.CheckEnd(recorded.head); err != nil {
		return 0, err
	}
	if unknown != nil {
		return 0, fmt.Errorf("open job: %w", unknown)
	}
	j.now.head, j.now.length = r.chain.Head, r.end
	return r.torn, nil
}
