package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// Jobs implements [store.Store]. It reads the summaries, and of each journal only the
// records that are newer.
//
// It reads as few jobs as it can before it yields one, because a list mostly shows the newest of
// thousands. A job cannot have started after something was last written to its journal. So no job
// is newer than one that started after all other journals were last written to.
func (s *Store) Jobs(ctx context.Context) iter.Seq2[store.JobInfo, error] {
	return func(yield func(store.JobInfo, error) bool) {
		names, err := s.jobNames(-1)
		if err != nil {
			yield(store.JobInfo{}, fmt.Errorf("list jobs: %w", err))
			return
		}
		unread := s.byLastWrite(names)
		var ready []*listed // that were read and not yielded, newest first
		odd := false        // the times of files say nothing
		for i, next := range unread {
			if err := ctx.Err(); err != nil {
				yield(store.JobInfo{}, fmt.Errorf("list jobs: %w", err))
				return
			}
			info, err := s.FindJob(ctx, next.name)
			if errors.Is(err, store.ErrNotFound) {
				continue // it was opened and nothing has been recorded yet
			}
			info.ID = next.name
			l := &listed{info, err}
			at, _ := slices.BinarySearchFunc(ready, l, newestFirst)
			ready = slices.Insert(ready, at, l)
			odd = odd || info.StartedAt > next.written
			for !odd && i+1 < len(unread) && len(ready) > 0 && ready[0].info.StartedAt > unread[i+1].written {
				if !yield(ready[0].info, ready[0].err) {
					return
				}
				ready = ready[1:]
			}
		}
		for _, l := range ready {
			if !yield(l.info, l.err) {
				return
			}
		}
	}
}

// A listed job is one that was read for a list.
type listed struct {
	info store.JobInfo
	err  error
}

func newestFirst(a, b *listed) int {
	return cmp.Or(cmp.Compare(b.info.StartedAt, a.info.StartedAt), cmp.Compare(a.info.ID, b.info.ID))
}

// A written job is a directory of jobs, and when its journal was last written to.
type written struct {
	name    string
	written int64 // milliseconds
}

// byLastWrite sorts jobs by the times of their journals, the newest first. A job of which no time is
// known comes before all others. The names are not resolved beneath the storage directory: a wrong
// time changes the order of a list, and nothing is read.
func (s *Store) byLastWrite(names []string) []written {
	all := make([]written, len(names))
	for i, name := range names {
		all[i] = written{name, math.MaxInt64}
		if info, err := os.Lstat(filepath.Join(s.dir, jobsName, name, journalName)); err == nil {
			all[i].written = info.ModTime().UnixMilli()
		}
	}
	slices.SortFunc(all, func(a, b written) int { return cmp.Compare(b.written, a.written) })
	return all
}

// JobIDs returns the ids of all jobs, in no order. It reads no journal, so there can be some for
// which nothing is recorded.
func (s *Store) JobIDs(context.Context) ([]string, error) {
	return s.jobIDs(-1)
}

func (s *Store) jobIDs(most int) ([]string, error) {
	names, err := s.jobNames(most)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return store.CheckID(name) != nil }), nil
}

// HasJobs reports whether there seems to be a job. It takes as long with many jobs as with one, and
// does not look into them.
func (s *Store) HasJobs() (bool, error) {
	const some = 64 // a few entries can be of other programs
	ids, err := s.jobIDs(some)
	return len(ids) > 0, err
}

// FindJob implements [store.JobFinder]. With an error about a damaged journal it returns
// what job.json says.
func (s *Store) FindJob(ctx context.Context, jobID string) (store.JobInfo, error) {
	dir, err := s.openJob(jobID)
	if err != nil {
		return store.JobInfo{}, err
	}
	defer dir.Close()
	p, err := readSummary(dir, jobID)
	if err != nil { // a reader does without it
		s.log.Warn("the summary of the job is not readable", "job", jobID, "error", err)
	}
	recorded := s.head(dir, jobID)
	info := store.JobInfo{Job: p.job}
	f, err := openRegular(dir, journalName)
	if err != nil {
		return info, noJournal(dir, jobID, err)
	}
	defer f.Close()
	if info.Job, err = fold(ctx, f, jobID, p, recorded); err != nil {
		return info, err
	}
	if info.Job.ID == "" {
		return info, store.NotFound(jobID)
	}
	if info.Status != event.JobRunning {
		return info, nil
	}
	alive, err := held(f)
	if err != nil {
		return info, fmt.Errorf("read job %s: look at its lock: %w", jobID, err)
	}
	if !alive {
		// Its writer may have finished just before the lock was checked.
		info.Job, err = fold(ctx, f, jobID, p, recorded)
		info.Interrupted = info.Status == event.JobRunning
	}
	return info, err
}

// fold brings a summary up to date with the journal. It reads the new records. If they do
// not fit, it reads the whole journal to find out which of the two is wrong. A torn end is
// ignored like an incomplete line: the next writer removes both.
func fold(ctx context.Context, f *os.File, jobID string, summary position, recorded mark) (event.Job, error) {
	stat, err := f.Stat()
	if err != nil {
		return summary.job, err
	}
	if stat.Size() == summary.length && summary.length > 0 {
		chain := store.Chain{JobID: jobID, Head: summary.head}
		if chain.CheckEnd(recorded.head) == nil {
			return summary.job, nil // there are no new records
		}
	}
	if stat.Size() >= summary.length {
		if job, err := foldFrom(ctx, f, jobID, summary, recorded); !damaged(err) {
			return job, err
		}
	}
	return foldFrom(ctx, f, jobID, position{}, recorded)
}

// foldFrom folds the records after p, and compares them with the recorded head.
func foldFrom(ctx context.Context, f *os.File, jobID string, p position, recorded mark) (event.Job, error) {
	r := reader{f: f, chain: store.Chain{JobID: jobID, Head: p.head}, end: p.length, fleeting: true}
	whole := p.length == 0 // otherwise job.json may be what is wrong
	for {
		if err := ctx.Err(); err != nil {
			return p.job, fmt.Errorf("read job %s: %w", jobID, err)
		}
		rec, err := r.next(0)
		switch {
		case errors.Is(err, io.EOF):
			return p.job, r.chain.CheckEnd(recorded.head)
		case errors.Is(err, event.ErrUnknownType):
			// Skip it: sums without unknown records are better than none.
		case err != nil:
			if whole {
				err = r.explain(err, recorded)
			}
			if damage, ok := errors.AsType[*store.DamageError](err); ok && damage.Torn {
				return p.job, nil
			}
			return p.job, err
		default:
			p.job = p.job.Apply(rec.Event)
		}
		if err := r.chain.CheckHead(recorded.head); err != nil {
			return p.job, err
		}
	}
}

// RecordedHead implements [store.HeadKeeper].
func (s *Store) RecordedHead(_ context.Context, jobID string) (store.Recorded, error) {
	dir, err := s.openJob(jobID)
	if err != nil {
		return store.Recorded{}, err
	}
	defer dir.Close()
	recorded := s.head(dir, jobID)
	return store.Recorded{Head: recorded.head, Seal: recorded.seal}, nil
}

// head returns the recorded head. If it cannot be read, a reader does without it.
func (s *Store) head(dir *os.Root, jobID string) mark {
	recorded, err := readHead(dir)
	if err != nil {
		s.log.Warn("the head of the journal is not readable", "job", jobID, "error", err)
	}
	return recorded
}
