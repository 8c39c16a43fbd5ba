package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store"
)

var errPicky = errors.New("not this one")

// A refusingStore refuses some records.
type refusingStore struct {
	store.Store
	refuses func(event.Event) bool // called by one goroutine at a time
}

func (p *refusingStore) Open(ctx context.Context, id string) (store.Journal, error) {
	j, err := p.Store.Open(ctx, id)
	return &refusingJournal{j, p}, err
}

type refusingJournal struct {
	store.Journal
	p *refusingStore
}

func (j *refusingJournal) Append(ctx context.Context, e event.Event) (store.Record, error) {
	if j.p.refuses(e) {
		return store.Record{}, fmt.Errorf("append: %w", errPicky)
	}
	return j.Journal.Append(ctx, e)
}

// A full disk during delegation loses no work: when there is space again, all delegates
// resume.
func TestFullDiskDuringDelegation(t *testing.T) {
	const n = 50
	b := newTeam(t, map[string][]turn{"writer": {does(many(n, "helper")...), says("done")}, "helper": {does("read"), does("act"), says("helped")}})
	b.atOnce, b.maxSteps = n, 100*n
	inner, left := b.store, 300
	b.store = &refusingStore{inner, func(e event.Event) bool { // a store reserves space for terminal events
		left--
		return left < 0 && !e.IsTerminal()
	}}
	_, err := b.run(t.Context(), job.Input{Query: "go"})
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindStore || strings.Contains(err.Error(), "\n") {
		t.Fatalf("%v", err)
	}
	b.store = inner
	if r := b.must(job.Input{Continue: true}); r.Text != "done" {
		t.Errorf("%+v", r)
	}
	answers := b.answers(len(b.script.requests) - 1)
	for _, a := range answers {
		if !strings.HasSuffix(a, " helped") {
			t.Errorf("with space again: %s", a)
		}
	}
	if len(answers) != n {
		t.Errorf("%d answers, want %d", len(answers), n)
	}
	b.checkTree()
}

// When the listener is closed, delegates that wait for a slot are not started.
func TestClosedOutputWithAQueue(t *testing.T) {
	const seats = 2
	b := newTeam(t, map[string][]turn{"writer": {does(many(100, "helper")...), says("done")}, "helper": {says("helped")}})
	b.atOnce, b.maxSteps = seats, 1000
	ends := 0
	b.emit = func(e event.Event) error {
		if e.IsTerminal() {
			if ends++; ends == 3 {
				return errors.New("broken pipe")
			}
		}
		return nil
	}
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusStoppedByInterrupt || !strings.Contains(r.Reason, "broken pipe") {
		t.Errorf("%+v", r)
	}
	// The writer's, two that ended, and those that had a slot by then.
	if got := len(b.delegated); got > 1+2+2*seats {
		t.Errorf("skills were started %d times", got)
	}
	b.checkJournal()
}

// They are not started either when the user stops the job.
func TestInterruptWithAQueue(t *testing.T) {
	b := newTeam(t, map[string][]turn{"writer": {does(many(20, "helper")...), says("done")}, "helper": {does("wait"), says("helped")}})
	b.interrupted(job.Input{Query: "go"})
	if got := strings.Count(b.story(), "h:startRun@"); got != 1 {
		t.Errorf("%d helpers were begun with one seat", got)
	}
}

// A closed listener is not called any more, for events or for records.
func TestClosedListenerIsNotCalled(t *testing.T) {
	for name, closing := range map[string]event.Type{"emit": "callTools", "record": "startToolCall"} {
		b := newBench(t, does("act"), says("done"))
		closed, after := false, 0
		told := func(kind event.Type) error {
			if closed {
				after++
			}
			if closed = closed || kind == closing; closed {
				return errors.New("broken pipe")
			}
			return nil
		}
		if name == "emit" {
			b.emit = func(e event.Event) error { return told(e.Type()) }
			b.record = func(store.Record) error { return told("") }
		} else {
			b.record = func(r store.Record) error { return told(r.Event.Type()) }
			b.emit = func(event.Event) error { return told("") }
		}
		if r := b.must(job.Input{Query: "go"}); !closed || r.Status != event.StatusStoppedByInterrupt {
			t.Errorf("%s: %+v", name, r)
		}
		if after > 0 {
			t.Errorf("%s: %d calls after the listener had closed", name, after)
		}
	}
}

// An end that is not durable is not published, and Execute returns an error.
func TestEndThatIsNotDurable(t *testing.T) {
	b := newBench(t, says("done"))
	s := &volatileStore{Store: b.store}
	b.store = s
	_, err := b.run(t.Context(), job.Input{Query: "go"})
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindStore || !errors.Is(err, errVolatile) {
		t.Errorf("%v", err)
	}
	for _, e := range b.events {
		if e.IsTerminal() {
			t.Errorf("%s was told", e.Type())
		}
	}
}

var errVolatile = errors.New("the disk does not answer")

// A volatileStore cannot make the end of a Run durable.
type volatileStore struct{ store.Store }

func (v *volatileStore) Open(ctx context.Context, id string) (store.Journal, error) {
	j, err := v.Store.Open(ctx, id)
	return &volatileJournal{Journal: j, ended: make(chan struct{}, 10)}, err
}

type volatileJournal struct {
	store.Journal
	ended chan struct{} // holds one for each end that was appended
}

func (j *volatileJournal) Append(ctx context.Context, e event.Event) (store.Record, error) {
	if e.IsTerminal() {
		j.ended <- struct{}{}
	}
	return j.Journal.Append(ctx, e)
}

func (j *volatileJournal) Commit(ctx context.Context) error {
	if len(j.ended) > 0 {
		return errVolatile
	}
	return j.Journal.Commit(ctx)
}

// The ends of Runs that a crash left open are written together, without a flush to disk for
// each: there can be a thousand.
func TestCrashedRunsAreClosedTogether(t *testing.T) {
	const n = 8
	b := newTeam(t, map[string][]turn{"writer": {does(many(n, "helper")...), says("done")}, "helper": {says("helped")}})
	b.atOnce = n
	all, begun := make(chan struct{}), 0
	b.model = held{b.script, "helper", all}
	inner := b.store
	b.store = &killedStore{Store: inner, left: -1, until: func(e event.Event) bool {
		if e.ExpertKey == "helper" && e.Type() == "startRun" {
			if begun++; begun == n {
				close(all)
			}
		}
		return begun == n
	}}
	if _, err := b.run(t.Context(), job.Input{Query: "go"}); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	d := &orderLog{Store: inner}
	b.store = d
	b.must(job.Input{Continue: true})
	if want := slices.Repeat([]string{"append stopRunByInterrupt"}, n); !slices.Equal(d.lines[:n], want) {
		t.Errorf("the job continues with %q", d.lines[:n])
	}
}

// After a panic in the listener, no model call keeps running.
func TestListenerPanicsDuringAGeneration(t *testing.T) {
	b := newBench(t, turn{block: true, chunks: []model.Chunk{{Reasoning: "hm"}}})
	b.emit = func(e event.Event) error {
		if e.Type() == "streamReasoning" {
			panic("the listener's own")
		}
		return nil
	}
	defer func() {
		if p := recover(); p != "the listener's own" {
			t.Errorf("recovered %v", p)
		}
	}()
	b.must(job.Input{Query: "go"})
	t.Error("the panic was swallowed")
}

// No goroutine outlives its job, however the job ended. The synctest bubble fails if one does.
func TestNothingOutlivesAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTeam(t, map[string][]turn{"writer": {does(many(30, "helper")...), says("done")}, "helper": {does("wait"), says("helped")}})
		b.atOnce = 7
		b.interrupted(job.Input{Query: "go"})
		told := 0
		b.emit = func(event.Event) error {
			if told++; told == 12 {
				panic("the listener's own")
			}
			return nil
		}
		defer func() {
			if p := recover(); p != "the listener's own" {
				t.Errorf("recovered %v", p)
			}
		}()
		b.must(job.Input{Continue: true})
		t.Error("the panic was swallowed")
	})
}
