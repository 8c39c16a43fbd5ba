package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// open takes the lock, reads the journal, writes the file "lock", and repairs a torn end.
// The caller abandons j if it fails.
func (j *journal) open(ctx context.Context) error {
	if err := j.openFile(); err != nil {
		return err
	}
	ok, err := acquire(ctx, j.f)
	if err != nil {
		return fmt.Errorf("open job %s: lock the journal: %w", j.id, err)
	}
	if !ok {
		return locked(j.dir, j.id)
	}
	rest, err := j.load(ctx)
	if err != nil {
		return err
	}
	if err := j.begin(rest); err != nil {
		_ = j.disk.remove(j.dir, lockName, lockName) // best effort: the file alone is not a lock
		return err
	}
	return nil
}

// openFile opens the journal, and creates it for a new job. If the job has begun, a missing
// journal is not created again: its loss must be noticed.
func (j *journal) openFile() error {
	_, err := j.dir.Lstat(journalName)
	if errors.Is(err, fs.ErrNotExist) {
		if err := noJournal(j.dir, j.id, err); !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("open job: %w", err)
		}
	}
	if j.f, err = j.disk.openFile(j.dir, journalName, os.O_RDWR|os.O_CREATE); err != nil {
		return fmt.Errorf("open job %s: %w", j.id, orFull(err, false))
	}
	return nil
}

// noJournal explains why the journal of a job cannot be opened.
func noJournal(dir *os.Root, jobID string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read job %s: %w", jobID, err)
	}
	for _, name := range []string{"checkpoints", "runs"} {
		if info, err := dir.Lstat(name); err == nil && info.IsDir() {
			return &store.VersionError{JobID: jobID, Original: true}
		}
	}
	_, err = dir.Lstat(summaryName)
	if recorded, _ := readHead(dir); recorded.length == 0 && errors.Is(err, fs.ErrNotExist) {
		return store.NotFound(jobID)
	}
	return (&store.Chain{JobID: jobID}).Damage("the journal is missing; restore it from a backup")
}

// begin makes the journal ready for the first record of this process. The file "lock" is
// written first: if it may not be written, nothing may.
func (j *journal) begin(rest tail) error {
	if err := j.disk.announce(j.dir, thisProcess()); errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("open job %s: %w", j.id, unwritable(j.dir.Name(), err))
	} else if err != nil {
		j.log.Warn("the lock file could not be written", "error", err)
	}
	if err := j.openHead(); err != nil {
		return fmt.Errorf("open job %s: %w", j.id, orFull(err, j.begun()))
	}
	j.reserve = reserve{disk: j.disk, f: j.f, end: j.now.length, limit: sizeLimit()}
	if err := j.cutTail(rest); err != nil {
		return fmt.Errorf("open job %s: %w", j.id, orFull(err, j.begun()))
	}
	// A job that cannot record its end must not begin.
	if err := j.reserve.ensure(j.now.length); err != nil {
		return fmt.Errorf("open job %s: %w", j.id, orFull(err, j.begun()))
	}
	if j.now.length == 0 {
		return nil // the first commit does the rest
	}
	// A process may have been killed before it committed its records.
	j.syncing.Lock()
	defer j.syncing.Unlock()
	return j.commit(j.now.length)
}

// begun reports whether there is a record. The caller holds mu, or is alone.
func (j *journal) begun() bool { return j.now.head.Seq > 0 }

// load folds the journal, and compares it with the recorded head and its seal. It changes
// nothing, and returns what follows the last valid record.
func (j *journal) load(ctx context.Context) (tail, error) {
	recorded, err := readHead(j.dir)
	if err != nil {
		j.log.Warn("the head of the journal is not readable and will be written again", "error", err)
	}
	var unknown error
	var rest tail
	r := reader{f: j.f, chain: store.Chain{JobID: j.id}, fleeting: true}
	for {
		if err := ctx.Err(); err != nil {
			return tail{}, fmt.Errorf("open job %s: %w", j.id, err)
		}
		rec, err := r.next(0)
		if errors.Is(err, io.EOF) {
			rest.bytes = r.torn
			break
		}
		if damaged(err) {
			if rest, err = r.tornTail(err, recorded); err != nil {
				return tail{}, fmt.Errorf("open job: %w", err)
			}
			break
		}
		if errors.Is(err, event.ErrUnknownType) {
			// Read on: if a byte of the type was changed, the next record shows it, and a
			// newer version would not help.
			unknown = cmp.Or(unknown, err)
		} else if err != nil {
			return tail{}, fmt.Errorf("open job: %w", err)
		}
		if err := r.chain.CheckHead(recorded.head); err != nil {
			return tail{}, err
		}
		if unknown == nil {
			j.now.job = j.now.job.Apply(rec.Event)
		}
	}
	// Before anything is cut off: an incomplete line that was complete once is damage.
	if err := r.chain.CheckEnd(recorded.head); err != nil {
		return tail{}, err
	}
	if unknown != nil {
		return tail{}, fmt.Errorf("open job: %w", unknown)
	}
	if err := j.sealer.Check(r.chain, &store.Recorded{Head: recorded.head, Seal: recorded.seal}); err != nil {
		return tail{}, err
	}
	j.now.head, j.now.length, j.now.project = r.chain.Head, r.end, r.chain.Project
	return rest, nil
}
