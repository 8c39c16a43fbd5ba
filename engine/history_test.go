package engine

import (
	"context"
	"iter"
	"log/slog"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
)

// countingStore counts the records that are read, and can hide that its journals know their
// last record.
type countingStore struct {
	store.Store
	read     int
	hideHead bool
}

func (s *countingStore) Open(ctx context.Context, jobID string) (store.Journal, error) {
	j, err := s.Store.Open(ctx, jobID)
	if s.hideHead {
		j = struct{ store.Journal }{j}
	}
	return j, err
}

func (s *countingStore) Read(ctx context.Context, jobID string, after int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for r, err := range s.Store.Read(ctx, jobID, after) {
			s.read++
			if !yield(r, err) {
				return
			}
		}
	}
}

// resume continues the job of b with a history that the caller has folded.
func (b *bench) resume(s store.Store, h *History, follow bool) error {
	spec := b.spec(job.Input{Query: "more", Continue: true})
	parts := Parts{Model: b.script, Store: s, Source: b.source, Log: slog.New(slog.DiscardHandler), History: h}
	if follow {
		f, err := Follow(b.t.Context(), spec, parts)
		if err == nil {
			err = f.Close()
		}
		return err
	}
	_, err := Execute(b.t.Context(), spec, parts, b.skillsOf)
	return err
}

// A history that the caller has folded is not folded again.
func TestHistoryIsFoldedOnce(t *testing.T) {
	for _, follow := range []bool{false, true} {
		b := newBench(t, does("read"), says("one"), says("two"))
		b.must(job.Input{Query: "go"})
		s := &countingStore{Store: b.store}
		h := b.load(s)
		s.read = 0
		if err := b.resume(s, h, follow); err != nil {
			t.Fatal(err)
		}
		if s.read != 1 { // the first record, which says that the job exists
			t.Errorf("follow %t: %d records were read again", follow, s.read)
		}
		if !follow {
			b.checkJournal()
			b.checkFold()
		}
	}
}

// A history that is not what the locked journal has is refused, and nothing is recorded: the
// caller has made decisions with it.
func TestStaleHistory(t *testing.T) {
	for _, follow := range []bool{false, true} {
		for _, hideHead := range []bool{false, true} {
			b := newBench(t, says("one"), says("two"), says("three"))
			b.must(job.Input{Query: "go"})
			stale := b.load(b.store)
			b.must(job.Input{Query: "again", Continue: true})
			other := newBench(t, says("another job"), says("two"))
			other.must(job.Input{Query: "go elsewhere"})
			other.must(job.Input{Query: "again", Continue: true})
			foreign := b.load(other.store)
			if current := b.load(b.store); current.last.Seq != foreign.last.Seq {
				t.Fatalf("the journals have %d and %d records; they must be equally long", current.last.Seq, foreign.last.Seq)
			}
			before := len(b.written())
			for name, h := range map[string]*History{"stale": stale, "foreign": foreign, "empty": NewHistory()} {
				err := b.resume(&countingStore{Store: b.store, hideHead: hideHead}, h, follow)
				if !isInput(err) || !strings.Contains(err.Error(), "job job was changed by another process") {
					t.Errorf("%s, follow %t, hideHead %t: %v", name, follow, hideHead, err)
				}
			}
			if after := len(b.written()); after != before {
				t.Errorf("follow %t, hideHead %t: %d records became %d", follow, hideHead, before, after)
			}
			if err := b.resume(b.store, nil, follow); err != nil {
				t.Errorf("the job is still locked: %v", err)
			}
		}
	}
}

// A store whose journals do not know their last record works, too.
func TestHistoryOfAStoreWithoutHead(t *testing.T) {
	b := newBench(t, says("one"), says("two"))
	b.must(job.Input{Query: "go"})
	h := b.load(b.store)
	if err := b.resume(&countingStore{Store: b.store, hideHead: true}, h, false); err != nil {
		t.Fatal(err)
	}
	b.checkJournal()
	b.checkFold()
}
