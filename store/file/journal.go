package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/filelock"
	"github.com/perstack-go/perstack/store"
)

// A journal is a job opened for writing. It has two mutexes, so that records can be
// appended during a sync: syncing is locked before mu where both are needed.
type journal struct {
	id      string
	path    string // of the journal
	dir     *os.Root
	parents []string // directories to sync with the first record of a new journal
	log     *slog.Logger
	disk    disk
	sealer  *store.Sealer

	f        *os.File
	headFile *os.File

	mu      sync.Mutex
	now     position // after the last record
	reserve reserve
	broken  error // why nothing can be written any more
	closed  bool
	summary bool // job.json is due with the next commit

	syncing sync.Mutex
	durable position   // survives a power cut
	written store.Head // of the job.json that this process wrote last
}

// Append implements [store.Journal].
func (j *journal) Append(_ context.Context, e event.Event) (store.Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return store.Record{}, err
	}
	chain := store.Chain{JobID: j.id, Head: j.now.head, Project: j.now.project, Sealer: j.sealer}
	rec, err := chain.Next(e)
	if err != nil {
		return store.Record{}, fmt.Errorf("append to job %s: %w", j.id, err)
	}
	info, err := j.f.Stat()
	if err == nil {
		err = j.resized(info.Size())
	}
	if err != nil {
		j.broken = err
		return store.Record{}, err
	}
	if err := j.write(rec.Line, e.IsTerminal()); err != nil {
		return store.Record{}, fmt.Errorf("append to job %s: %w", j.id, orFull(err, j.begun()))
	}
	if err := j.gap(); err != nil {
		j.broken = err
		return store.Record{}, err
	}
	if err := chain.Accept(rec); err != nil {
		j.broken = err
		return store.Record{}, err
	}
	j.now = position{chain.Head, j.now.length + int64(len(rec.Line)) + 1, j.now.job.Apply(e), chain.Project}
	// The end of a delegate is not the end of the job, and there may be thousands.
	j.summary = j.summary || e.IsTerminal() && e.RunID == j.now.job.CoordinatorRunID
	return rec, nil
}

// Head returns the last record's number and digest. The engine uses it to check that a history
// folded before Open is still complete.
func (j *journal) Head() store.Head {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.now.head
}

// write puts a line behind the last record, with one system call. If that fails, the
// file is as it was.
func (j *journal) write(line []byte, terminal bool) error {
	line = append(line, '\n') // its capacity includes this byte
	err := j.reserve.ensure(j.now.length + int64(len(line)))
	if err != nil && !(terminal && isFull(err)) {
		return err // an ordinary record must not use the reserve
	}
	if err = j.disk.writeAt(j.f, line, j.now.length); err == nil {
		return nil
	}
	if cut := j.reserve.cut(j.now.length); cut != nil {
		j.broken = fmt.Errorf("job %s: an incomplete record could not be taken back (%w); open the job again", j.id, cut)
		return errors.Join(err, j.broken)
	}
	// Truncating freed the reserve as well. The journal is valid without it.
	if again := j.reserve.ensure(j.now.length); again != nil {
		j.log.Warn("no space is reserved for the end of the journal", "error", again)
	}
	return err
}

// Commit implements [store.Journal].
func (j *journal) Commit(context.Context) error {
	j.mu.Lock()
	target, err := j.now.length, j.usable()
	j.mu.Unlock()
	if err != nil {
		return err
	}
	j.syncing.Lock()
	defer j.syncing.Unlock()
	return j.commit(target)
}

// commit makes the journal durable up to target at least. A call that waited for another
// commit often finds its records durable already. The caller holds syncing.
func (j *journal) commit(target int64) error {
	if j.durable.length >= target {
		return nil
	}
	j.mu.Lock()
	upTo, due, err := j.now, j.summary, j.broken
	j.mu.Unlock()
	if err != nil {
		return err
	}
	if err := j.makeDurable(upTo, due); err != nil {
		j.mu.Lock()
		j.broken = err
		j.mu.Unlock()
		return err
	}
	j.durable = upTo
	if due {
		j.writeSummary()
	}
	return nil
}

// makeDurable makes the journal durable, and records how far it is.
func (j *journal) makeDurable(upTo position, due bool) error {
	first := j.durable.length == 0
	err := j.disk.sync(j.f)
	if err == nil {
		if err := j.lost(upTo); err != nil {
			return err
		}
		j.writeHead(upTo, due || first)
		if first {
			err = j.syncParents()
		}
	}
	if err != nil {
		// After a failed sync the kernel forgets which pages it could not write, and
		// the next sync succeeds without them. Only a new reading of the file, in a
		// new Open, tells what is there.
		return fmt.Errorf("job %s: the journal could not be made durable (%w); check the disk, then continue the job", j.id, orFull(err, true))
	}
	return nil
}

// syncParents makes a new journal findable after a power cut.
func (j *journal) syncParents() error {
	for i, name := range j.parents {
		err := j.disk.syncDir(name)
		if i > 2 && errors.Is(err, fs.ErrPermission) {
			err = nil // above the storage there are directories that we may not read
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeSummary updates job.json. It is a cache: a failure, on a full disk for
// instance, leaves an older one, which is true as well. The caller holds syncing.
func (j *journal) writeSummary() {
	if j.durable.head == j.written {
		return // there is no job yet, or nothing new
	}
	if err := j.disk.writeSummary(j.dir, j.durable); err != nil {
		j.log.Warn("the summary of the job could not be written; it will be rebuilt when needed", "error", err)
		return
	}
	j.written = j.durable.head
	j.mu.Lock()
	j.summary = j.now.head != j.durable.head && j.summary
	j.mu.Unlock()
}

// Close implements [store.Journal].
func (j *journal) Close() error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	target := j.now.length
	j.summary = false // written below
	j.mu.Unlock()

	err := j.commit(target)
	if err == nil && j.durable.length > 0 {
		if err = j.lost(j.durable); err == nil { // since the last commit
			j.writeHead(j.durable, false)
			err = j.lost(j.durable) // meanwhile
		}
	}
	if errors.As(err, new(*store.LostError)) {
		return errors.Join(err, j.abandon()) // there is nothing to complete
	}
	if err == nil && j.reserve.end > target {
		if cut := j.reserve.cut(target); cut != nil {
			j.log.Warn("the space reserved for the journal could not be freed", "error", cut)
		}
	}
	j.writeSummary()
	if gone := j.disk.remove(j.dir, lockName, lockName); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		j.log.Warn("the lock file could not be removed", "error", gone)
	}
	return errors.Join(err, j.abandon())
}

// abandon releases the files and the lock, without changing the disk.
func (j *journal) abandon() error {
	var err error
	if j.headFile != nil {
		err = j.headFile.Close()
	}
	if j.f != nil {
		// A process that another goroutine is starting inherits this file, and with it the
		// lock, for a moment. If unlocking fails, closing releases it later.
		_ = filelock.Release(j.f)
		err = errors.Join(err, j.f.Close())
	}
	return errors.Join(err, j.dir.Close())
}

// usable returns why nothing can be written, or nil. The caller holds mu.
func (j *journal) usable() error {
	if j.closed {
		return fmt.Errorf("job %s: %w", j.id, store.ErrClosed)
	}
	return j.broken
}
