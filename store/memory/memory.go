// Package memory keeps journals in memory, for tests and for runs that leave nothing on disk.
//
// It behaves like store/file in everything but durability: records are encoded when
// they are appended and decoded when they are read, so what cannot be written to a
// disk fails here as well, and a job has one writer. It never runs full.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// A Store holds journals. The zero Store is empty and ready to use.
type Store struct {
	mu   sync.Mutex
	jobs map[string]*job
}

// A job is guarded by the mutex of its store.
type job struct {
	id    string
	chain store.Chain
	lines [][]byte
	sum   event.Job
	open  bool
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.JobFinder = (*Store)(nil)
	_ store.Follower  = (*Store)(nil)
)

// New returns an empty store.
func New() *Store { return &Store{} }

// Open implements [store.Store].
func (s *Store) Open(ctx context.Context, jobID string) (store.Journal, error) {
	if err := store.CheckID(jobID); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open job %s: %w", jobID, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j, ok := s.jobs[jobID]
	if !ok {
		if s.jobs == nil {
			s.jobs = make(map[string]*job)
		}
		j = &job{id: jobID, chain: store.Chain{JobID: jobID}}
		s.jobs[jobID] = j
	}
	if j.open {
		return nil, &store.LockedError{JobID: jobID, Holder: "this process already"}
	}
	j.open = true
	return &journal{store: s, job: j}, nil
}

// Read implements [store.Store]. It yields the records that were there when it began.
func (s *Store) Read(ctx context.Context, jobID string, after int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := store.CheckID(jobID); err != nil {
			yield(store.Record{}, err)
			return
		}
		s.mu.Lock()
		j, ok := s.jobs[jobID]
		var lines [][]byte
		if ok {
			lines = j.lines // only ever appended to
		}
		s.mu.Unlock()
		if !ok {
			yield(store.Record{}, store.NotFound(jobID))
			return
		}
		for _, line := range lines[min(max(after, 0), int64(len(lines))):] {
			if err := ctx.Err(); err != nil {
				yield(store.Record{}, fmt.Errorf("read job %s: %w", jobID, err))
				return
			}
			rec, err := store.DecodeRecord(line)
			if !yield(rec, err) || err != nil && !errors.Is(err, event.ErrUnknownType) {
				return
			}
		}
	}
}

// Follow implements [store.Follower].
func (s *Store) Follow(ctx context.Context, jobID string, wait func() error) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		last := int64(0)
		for {
			running := s.isOpen(jobID) // before reading: a writer can add its last records in between
			for r, err := range s.Read(ctx, jobID, last) {
				if !yield(r, err) || err != nil && !errors.Is(err, event.ErrUnknownType) {
					return
				}
				last = r.Seq
			}
			if !running {
				return
			}
			if err := wait(); err != nil {
				yield(store.Record{}, fmt.Errorf("follow job %s: %w", jobID, err))
				return
			}
		}
	}
}

func (s *Store) isOpen(jobID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[jobID]
	return j != nil && j.open
}

// Jobs implements [store.Store].
func (s *Store) Jobs(ctx context.Context) iter.Seq2[store.JobInfo, error] {
	return func(yield func(store.JobInfo, error) bool) {
		s.mu.Lock()
		var infos []store.JobInfo
		for _, j := range s.jobs {
			if len(j.lines) > 0 {
				infos = append(infos, j.info())
			}
		}
		s.mu.Unlock()
		slices.SortFunc(infos, func(a, b store.JobInfo) int {
			return cmp.Or(cmp.Compare(b.StartedAt, a.StartedAt), cmp.Compare(a.ID, b.ID))
		})
		for _, info := range infos {
			if err := ctx.Err(); err != nil {
				yield(store.JobInfo{}, fmt.Errorf("list jobs: %w", err))
				return
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

// FindJob implements [store.JobFinder].
func (s *Store) FindJob(_ context.Context, jobID string) (store.JobInfo, error) {
	if err := store.CheckID(jobID); err != nil {
		return store.JobInfo{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if j, ok := s.jobs[jobID]; ok && len(j.lines) > 0 {
		return j.info(), nil
	}
	return store.JobInfo{}, store.NotFound(jobID)
}

func (j *job) info() store.JobInfo {
	return store.JobInfo{Job: j.sum, Interrupted: j.sum.Status == event.JobRunning && !j.open}
}

// A journal is a job opened for writing.
type journal struct {
	store  *Store
	job    *job
	closed bool
}

// Append implements [store.Journal].
func (j *journal) Append(_ context.Context, e event.Event) (store.Record, error) {
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	if err := j.usable(); err != nil {
		return store.Record{}, err
	}
	rec, err := j.job.chain.Next(e)
	if err == nil {
		err = j.job.chain.Accept(rec)
	}
	if err != nil {
		return store.Record{}, fmt.Errorf("append to job %s: %w", j.job.id, err)
	}
	j.job.lines = append(j.job.lines, rec.Line)
	j.job.sum = j.job.sum.Apply(e)
	return rec, nil
}

// Head returns the last record's number and digest.
func (j *journal) Head() store.Head {
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	return j.job.chain.Head
}

// Commit implements [store.Journal]. Nothing survives a power cut.
func (j *journal) Commit(context.Context) error {
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	return j.usable()
}

// Close implements [store.Journal].
func (j *journal) Close() error {
	j.store.mu.Lock()
	defer j.store.mu.Unlock()
	if !j.closed {
		j.closed, j.job.open = true, false
	}
	return nil
}

func (j *journal) usable() error {
	if j.closed {
		return fmt.Errorf("job %s: %w", j.job.id, store.ErrClosed)
	}
	return nil
}
