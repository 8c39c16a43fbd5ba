package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// Fork copies a job up to one of its records to a new job. A job has one writer, so a branch of a job
// that another process runs is a job of its own. Both have the same checkpoints up to there.
//
// What sealer has not sealed is not copied: the new job is sealed by it. A Sealer that trusts copies
// everything, and a nil one seals nothing.
func Fork(ctx context.Context, s *file.Store, sealer *store.Sealer, jobID, newID string, last int64) (err error) {
	if err := checkUpTo(ctx, s, sealer, jobID, last); err != nil {
		return err
	}
	journal, err := s.WithSeal(sealer).Open(ctx, newID)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, journal.Close()); err != nil {
			err = errors.Join(err, s.Delete(context.WithoutCancel(ctx), newID, time.Now())) // half a job is of no use
		}
	}()
	return upTo(ctx, s, jobID, last, func(r store.Record) error {
		e := r.Event
		e.JobID = newID
		_, err := journal.Append(ctx, e)
		return err
	})
}

// checkUpTo checks the seal of a record, which is about all before it, too.
func checkUpTo(ctx context.Context, s *file.Store, sealer *store.Sealer, jobID string, last int64) error {
	project, reached := "", store.Record{}
	err := upTo(ctx, s, jobID, last, func(r store.Record) error {
		if r.Project != "" {
			project = r.Project
		}
		reached = r
		return nil
	})
	if err == nil && reached.Seq != last {
		err = fmt.Errorf("job %s has %d records, and no record %d", jobID, reached.Seq, last)
	}
	if err != nil {
		return err
	}
	return sealer.Check(store.ChainAt(jobID, project, reached), nil)
}

// upTo calls f with the records of a job up to one of them.
func upTo(ctx context.Context, s store.Store, jobID string, last int64, f func(store.Record) error) error {
	for r, err := range s.Read(ctx, jobID, 0) {
		if errors.Is(err, event.ErrUnknownType) {
			err = fmt.Errorf("a newer perstack wrote record %d, so the job cannot be copied: %w", r.Seq, err)
		}
		if err == nil {
			err = f(r)
		}
		if err != nil || r.Seq == last {
			return err
		}
	}
	return nil
}
