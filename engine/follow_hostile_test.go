package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

// A follower of a new job, in a store of its own.
func newFollower(t *testing.T, b *bench, s store.Store, in job.Input, emit func(event.Event) error) *Follower {
	t.Helper()
	spec := b.spec(in)
	spec.RunID = "run"
	f, err := Follow(t.Context(), spec, Parts{Store: s, Source: FixedSource(time.UnixMilli(0)), Lean: true, Emit: emit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // a test may have closed it
	return f
}

func (b *bench) startOf(runID string, by *event.Parent, from *event.Origin) event.Event {
	var spec []byte
	if runID == "run" {
		var err error
		if spec, err = b.spec(job.Input{}).Recorded(); err != nil {
			b.t.Fatal(err)
		}
	}
	return event.Event{ID: "s-" + runID, JobID: "job", RunID: runID, ExpertKey: b.expert.Key, StepNumber: 1, Body: event.StartRun{
		CheckpointID: "c-" + runID, InputMessages: []*event.Message{}, DelegatedBy: by, From: from, Spec: spec,
		Expert: event.ExpertRef{Key: b.expert.Key, Name: b.expert.Name, Version: b.expert.Version},
	}}
}

// Shown events must belong to the job, and must not be of a recorded kind.
func TestFollowerShowsOnlyItsOwn(t *testing.T) {
	b := newBench(t)
	told := 0
	f := newFollower(t, b, memory.New(), job.Input{Query: "go"}, func(event.Event) error { told++; return nil })
	piece := func(job, run string, body event.Body) event.Event {
		return event.Event{ID: "e", JobID: job, RunID: run, ExpertKey: b.expert.Key, Body: body}
	}
	for name, e := range map[string]event.Event{
		"another job": piece("other", "run", event.StreamRunResult{}),
		"another Run": piece("job", "other", event.StreamRunResult{}),
		"a record":    piece("job", "run", event.CompleteRun{}),
		"a decision":  piece("job", "run", event.ProxyAccess{}),
	} {
		if err := f.Show(e); !errors.Is(err, ErrForged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := f.Show(piece("job", "run", event.StreamRunResult{})); err != nil || told != 1 {
		t.Errorf("told %d, %v", told, err)
	}
}

// Only Runs that a crash left open are closed, each once, before the first Run starts.
func TestFollowerClosesCrashedRuns(t *testing.T) {
	b := newBench(t, does("act"), says("done"))
	b.killedAfter("writer", "callTools", job.Input{Query: "go"})
	before := b.written()
	crashed := before[0].Event.RunID
	end := func(id, run string) event.Event {
		return event.Event{ID: id, JobID: "job", RunID: run, ExpertKey: b.expert.Key, StepNumber: 1, Body: event.StopRunByInterrupt{Reason: "x"}}
	}
	s := memory.New()
	copyRecords(t, s, before)
	f := newFollower(t, b, s, job.Input{Query: "more", Continue: true}, nil)
	if _, err := f.Append(end("e1", "other")); !errors.Is(err, ErrForged) {
		t.Errorf("the end of a Run that is not open: %v", err)
	}
	if _, err := f.Append(end("e2", crashed)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Append(end("e3", crashed)); !errors.Is(err, ErrForged) {
		t.Errorf("it was closed twice: %v", err)
	}
	if f.Begun() || f.Ended() {
		t.Error("the end of an earlier stretch began or ended this one")
	}
}

// After the first record of an execution, a Run that a crash left open cannot be closed.
func TestFollowerClosesNothingLater(t *testing.T) {
	b := newBench(t, does("act"), says("done"))
	b.killedAfter("writer", "callTools", job.Input{Query: "go"})
	before := b.written()
	s := memory.New()
	copyRecords(t, s, before)
	f := newFollower(t, b, s, job.Input{Query: "more", Continue: true}, nil)
	if _, err := f.Append(b.startOf(f.RunID(), nil, nil)); err != nil {
		t.Fatal(err)
	}
	late := event.Event{ID: "late", JobID: "job", RunID: before[0].Event.RunID, ExpertKey: b.expert.Key, StepNumber: 1, Body: event.StopRunByInterrupt{}}
	if _, err := f.Append(late); !errors.Is(err, ErrForged) {
		t.Errorf("%v", err)
	}
}

// Run ids that could be used as a path are refused.
func TestFollowerRefusesRunIDs(t *testing.T) {
	b := newBench(t)
	f := newFollower(t, b, memory.New(), job.Input{Query: "go"}, nil)
	if _, err := f.Append(b.startOf("run", nil, nil)); err != nil {
		t.Fatal(err)
	}
	f.expected["../../x"] = b.expert.Key // as a forged call would
	below := b.startOf("below", &event.Parent{RunID: "run"}, nil)
	below.RunID = "../../x"
	if _, err := f.Append(below); !errors.Is(err, ErrForged) {
		t.Errorf("%v", err)
	}
}

// If another process has created the job meanwhile, nothing is added to it, however often the
// remote engine tries.
func TestFollowerOfAJobCreatedMeanwhile(t *testing.T) {
	b := newBench(t, says("done"))
	b.must(job.Input{Query: "go"})
	s := memory.New()
	f := newFollower(t, b, s, job.Input{Query: "go"}, nil)
	copyRecords(t, s, b.written())
	count := len(b.written())
	for range 2 {
		if _, err := f.Append(b.startOf("run", nil, nil)); err == nil {
			t.Error("it was written")
		}
	}
	if now := len((&bench{t: t, store: s}).written()); now != count {
		t.Errorf("%d records became %d", count, now)
	}
}

// The ends of delegates are recorded before the end of the Run that delegated.
func TestFollowerAbandonsDelegatesFirst(t *testing.T) {
	b := newBench(t)
	var ends []string
	f := newFollower(t, b, memory.New(), job.Input{Query: "go"}, func(e event.Event) error {
		if e.IsTerminal() {
			ends = append(ends, e.RunID)
		}
		return nil
	})
	f.expected["below"] = b.expert.Key // as a call of the Run would
	parent := &event.Parent{RunID: "run", ToolCallID: "t1", Expert: event.ExpertRef{Key: b.expert.Key, Name: b.expert.Name, Version: b.expert.Version}}
	for _, e := range []event.Event{b.startOf("run", nil, nil), b.startOf("below", parent, nil)} {
		if _, err := f.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Abandon("gone"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(ends, " "); got != "below run" {
		t.Errorf("ended: %s", got)
	}
}

// If the disk is full while early events are recorded, they are still recorded only once.
func TestFollowerRecordsNotesOnce(t *testing.T) {
	b := newBench(t)
	s := &tightStore{Store: memory.New(), full: 3}
	f := newFollower(t, b, s, job.Input{Query: "go"}, nil)
	for range 3 {
		if err := f.Note(event.DockerBuildProgress{Stage: "building"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Append(b.startOf("run", nil, nil)); !errors.Is(err, store.ErrFull) {
		t.Fatalf("the disk is full, and it says %v", err)
	}
	if _, err := f.Append(event.Event{ID: "g", JobID: "job", RunID: "run", ExpertKey: b.expert.Key, StepNumber: 1, Body: event.StartGeneration{}}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, r := range (&bench{t: t, store: s}).written() {
		if seen[r.Event.ID]++; seen[r.Event.ID] > 1 {
			t.Errorf("%s %s is recorded twice", r.Event.Type(), r.Event.ID)
		}
	}
	if len(seen) != 5 {
		t.Errorf("%d records, want 5", len(seen))
	}
}

// A tightStore refuses one record and accepts the next.
type tightStore struct {
	store.Store
	full  int // number of the append that fails
	count int
}

func (s *tightStore) Open(ctx context.Context, jobID string) (store.Journal, error) {
	j, err := s.Store.Open(ctx, jobID)
	return &tightJournal{j, s}, err
}

type tightJournal struct {
	store.Journal
	store *tightStore
}

func (j *tightJournal) Append(ctx context.Context, e event.Event) (store.Record, error) {
	if j.store.count++; j.store.count == j.store.full {
		return store.Record{}, store.ErrFull
	}
	return j.Journal.Append(ctx, e)
}

// A remote engine that resumes a job cannot change its past: neither an earlier Run nor a
// checkpoint that the user can continue from.
func TestFollowerKeepsHistory(t *testing.T) {
	b := newBench(t, says("an honest answer"))
	b.must(job.Input{Query: "go"})
	before := b.written()
	old := before[0].Event.RunID
	s := memory.New()
	copyRecords(t, s, before)
	f := newFollower(t, b, s, job.Input{Query: "more", Continue: true}, nil)
	head, _ := f.recorder.history.Head()
	point := head.State.CheckpointID

	taken := b.startOf(f.RunID(), nil, nil)
	body := taken.Body.(event.StartRun)
	body.CheckpointID = point
	taken.Body = body
	if _, err := f.Append(taken); !errors.Is(err, ErrForged) {
		t.Errorf("it begins at a checkpoint of earlier: %v", err)
	}
	if _, err := f.Append(b.startOf(f.RunID(), nil, nil)); err != nil {
		t.Fatal(err)
	}
	f.expected[old] = b.expert.Key // as a forged call would
	if _, err := f.Append(b.startOf(old, &event.Parent{RunID: f.RunID()}, nil)); !errors.Is(err, ErrForged) {
		t.Errorf("it starts an earlier Run again: %v", err)
	}
	next := event.Event{ID: "next", JobID: "job", RunID: f.RunID(), ExpertKey: b.expert.Key, StepNumber: 1, Body: event.ContinueToNextStep{NextCheckpointID: point}}
	if _, err := f.Append(next); !errors.Is(err, ErrForged) {
		t.Errorf("it steps to a checkpoint of earlier: %v", err)
	}
}
