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
// Fork seals the copy with sealer, and refuses records that sealer has not sealed: else another
// program could have its records sealed by the user. If trusted is set, it copies such records and
// leaves the copy without a seal, so that the user has to trust it again to continue it.
func Fork(ctx context.Context, s *file.Store, sealer *store.Sealer, trusted bool, jobID, newID string, last int64) (err error) {
	records, err := upTo(ctx, s, jobID, last) // in one reading: what is checked is what is copied
	if err != nil {
		return err
	}
	if err := checkSeal(sealer, jobID, records); err != nil {
		if !trusted {
			return err
		}
		sealer = nil
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
	for _, r := range records {
		e := r.Event
		e.JobID = newID
		if _, err := journal.Append(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// checkSeal checks the seal of the last record. The chain of digests covers the records before it.
func checkSeal(sealer *store.Sealer, jobID string, records []store.Record) error {
	project := ""
	for _, r := range records {
		if r.Project != "" {
			project = r.Project
		}
	}
	return sealer.Check(store.ChainAt(jobID, project, records[len(records)-1]), nil)
}

// upTo returns the records of a job up to one of them.
func upTo(ctx context.Context, s store.Store, jobID string, last int64) (records []store.Record, err error) {
	for r, err := range s.Read(ctx, jobID, 0) {
		if errors.Is(err, event.ErrUnknownType) {
			err = fmt.Errorf("a newer perstack wrote record %d, so the job cannot be copied: %w", r.Seq, err)
		}
		if err != nil {
			return nil, err
		}
		if records = append(records, r); r.Seq == last {
			return records, nil
		}
	}
	return nil, fmt.Errorf("job %s has %d records, and no record %d", jobID, len(records), last)
}
