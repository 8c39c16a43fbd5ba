package hostlink

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// A hostStore is the history as the engine in the container sees it: what the host sent
// of the one job, and a journal that the host writes.
type hostStore Conn

// Open returns the journal of the job. That there is one writer is the host's to see to.
func (s *hostStore) Open(_ context.Context, jobID string) (store.Journal, error) {
	if err := s.check(jobID); err != nil {
		return nil, err
	}
	return (*hostJournal)(s), nil
}

// Read yields what the host sent before the job began.
func (s *hostStore) Read(_ context.Context, jobID string, after int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := s.check(jobID); err != nil {
			yield(store.Record{}, err)
			return
		}
		if len(s.history) == 0 {
			yield(store.Record{}, store.NotFound(jobID))
			return
		}
		chain := store.Chain{JobID: jobID}
		for _, line := range s.history {
			r, err := chain.Decode(line)
			if r.Seq > after || err != nil {
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// Jobs is not answered: a container knows of one job, and asks for no list.
func (s *hostStore) Jobs(context.Context) iter.Seq2[store.JobInfo, error] {
	return func(yield func(store.JobInfo, error) bool) {
		yield(store.JobInfo{}, errors.New("the jobs of the host cannot be listed from here"))
	}
}

func (s *hostStore) check(jobID string) error {
	if jobID != s.document.Spec.JobID {
		return fmt.Errorf("%w: the job here is %s", store.ErrBadID, s.document.Spec.JobID)
	}
	return nil
}

// A hostJournal is a journal that the host writes.
type hostJournal Conn

// Append hands an event to the host and waits until it is written there. The record has
// its number and the event; the line is the host's.
func (j *hostJournal) Append(_ context.Context, e event.Event) (store.Record, error) {
	body, err := event.Marshal(e)
	if err != nil {
		return store.Record{}, err
	}
	done, err := (*Conn)(j).ask(func(id int64) Up { return Up{Append: &Append{id, body}} })
	return store.Record{Seq: done.Seq, Event: e}, err
}

// Commit waits until the host's journal would survive a power cut.
func (j *hostJournal) Commit(context.Context) error { return j.commit() }

func (j *hostJournal) commit() error {
	_, err := (*Conn)(j).ask(func(id int64) Up { return Up{Commit: id} })
	return err
}

// Close commits. The host closes its journal when the container has ended.
func (j *hostJournal) Close() error {
	err := j.commit()
	if errors.Is(err, ErrGone) {
		return nil // it has closed it already
	}
	return err
}
