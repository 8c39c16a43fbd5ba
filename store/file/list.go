package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// Jobs implements [store.Store]. It reads the summaries, and of each journal only the
// records that are newer.
func (s *Store) Jobs(ctx context.Context) iter.Seq2[store.JobInfo, error] {
	return func(yield func(store.JobInfo, error) bool) {
		type entry struct {
			info store.JobInfo
			err  error
		}
		names, err := s.jobNames()
		if err != nil {
			yield(store.JobInfo{}, fmt.Errorf("list jobs: %w", err))
			return
		}
		var entries []entry
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				yield(store.JobInfo{}, fmt.Errorf("list jobs: %w", err))
				return
			}
			info, err := s.FindJob(ctx, name)
			if errors.Is(err, store.ErrNotFound) {
				continue // it was opened and nothing has been recorded yet
			}
			info.ID = name
			entries = append(entries, entry{info, err})
		}
		slices.SortStableFunc(entries, func(a, b entry) int {
			return cmp.Or(cmp.Compare(b.info.StartedAt, a.info.StartedAt), cmp.Compare(a.info.ID, b.info.ID))
		})
		for _, e := range entries {
			if !yield(e.info, e.err) {
				return
			}
		}
	}
}

// JobIDs returns the ids of all jobs, in no order. It reads no journal, so there can be some for
// which nothing is recorded.
func (s *Store) JobIDs(context.Context) ([]string, error) {
	names, err := s.jobNames()
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return store.CheckID(name) != nil }), nil
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
