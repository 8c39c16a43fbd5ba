package embed

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

// countingStore is a store of this program. It adds to another one.
type countingStore struct {
	store.Store
	records atomic.Int64
}

func (s *countingStore) Open(ctx context.Context, jobID string) (store.Journal, error) {
	j, err := s.Store.Open(ctx, jobID)
	if err != nil {
		return nil, err
	}
	return &countingJournal{j, s}, nil
}

type countingJournal struct {
	store.Journal
	store *countingStore
}

func (j *countingJournal) Append(ctx context.Context, e event.Event) (store.Record, error) {
	j.store.records.Add(1)
	return j.Journal.Append(ctx, e)
}

// Every event that is kept goes through the program's store, and can be read there.
func TestOwnStore(t *testing.T) {
	spec := newSpec(t, "go")
	play(t, &spec, "[[turn]]\ntext = 'Done.'\n")
	s := &countingStore{Store: memory.New()}
	_, result := answer(t, spec, perstack.Parts{Store: s})
	read := int64(0)
	for r, err := range s.Read(t.Context(), result.JobID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if read++; r.Seq != read {
			t.Errorf("record %d has the number %d", read, r.Seq)
		}
	}
	if read == 0 || s.records.Load() != read {
		t.Errorf("%d records appended, %d read", s.records.Load(), read)
	}
	if report, err := store.Verify(t.Context(), s, result.JobID); err != nil || report.Records != read {
		t.Errorf("%+v, %v", report, err)
	}
}
