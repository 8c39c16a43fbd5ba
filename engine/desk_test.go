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
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store"
)

var errPicky = errors.New("not this one")

// A picky store refuses some records.
type picky struct {
	store.Store
	refuses func(event.Event) bool // called by one goroutine at a time
}

func (p *picky) Open(ctx context.Context, id string) (store.Journal, error) {
	j, err := p.Store.Open(ctx, id)
	return &pickyJournal{j, p}, err
}

type pickyJournal struct {
	store.Journal
	p *picky
}

func (j *pickyJournal) Append(ctx context.Context, e event.Event) (store.Record, error) {
	if j.p.refuses(e) {
		return store.Record{}, fmt.Errorf("append: %w", errPicky)
	}
	return j.Journal.Append(ctx, e)
}

// A full disk while delegates are at work costs nothing of what they did: with room again,
// all of them go on.
func TestFullDiskBesideDelegates(t *testing.T) {
	const n = 50
	b := newTeam(t, map[string][]turn{"writer": {does(many(n, "helper")...), says("done")}, "helper": {does("read"), does("act"), says("helped")}})
	b.atOnce, b.maxSteps = n, 100*n
	inner, left := b.store, 300
	b.store = &picky{inner, func(e event.Event) bool { // a store keeps some room for ends
		left--
		return left < 0 && !e.IsTerminal()
	}}
	_, err := b.run(t.Context(), Input{Query: "go"})
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindStore || strings.Contains(err.Error(), "\n") {
		t.Fatalf("%v", err)
	}
	b.store = inner
	if r := b.must(Input{Continue: true}); r.Text != "done" {
		t.Errorf("%+v", r)
	}
	answers := b.answers(len(b.script.requests) - 1)
	for _, a := range answers {
		if !strings.HasSuffix(a, " helped") {
			t.Errorf("with room again: %s", a)
		}
	}
	if len(answers) != n {
		t.Errorf("%d answers, want %d", len(answers), n)
	}
	b.checkTree()
}

// When nobody listens any more, delegates that wait for their turn are not begun.
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
	if r := b.must(Input{Query: "go"}); r.Status != event.StatusStoppedByInterrupt || !strings.Contains(r.Reason, "broken pipe") {
		t.Errorf("%+v", r)
	}
	// The writer's, two that ended, and those that had their seats by then.
	if got := len(b.delegated); got > 1+2+2*seats {
		t.Errorf("skills were started %d times", got)
	}
	b.checkJournal()
}

// Nor are they when the user stops the job.
func TestInterruptWithAQueue(t *testing.T) {
	b := newTeam(t, map[string][]turn{"writer": {does(many(20, "helper")...), says("done")}, "helper": {does("wait"), says("helped")}})
	b.interrupted(Input{Query: "go"})
	if got := strings.Count(b.story(), "h:startRun@"); got != 1 {
		t.Errorf("%d helpers were begun with one seat", got)
	}
}

// Once nobody listens, nobody is called: not for records, either.
func TestNobodyIsToldAfterwards(t *testing.T) {
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
		if r := b.must(Input{Query: "go"}); !closed || r.Status != event.StatusStoppedByInterrupt {
			t.Errorf("%s: %+v", name, r)
		}
		if after > 0 {
			t.Errorf("%s: %d calls after the listener had closed", name, after)
		}
	}
}

// An end that is not durable is not told, and is an error.
func TestEndIsNotDurable(t *testing.T) {
	b := newBench(t, says("done"))
	s := &volatile{Store: b.store}
	b.store = s
	_, err := b.run(t.Context(), Input{Query: "go"})
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

// A volatile store cannot make the end of a Run durable.
type volatile struct{ store.Store }

func (v *volatile) Open(ctx context.Context, id string) (store.Journal, error) {
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

// The ends of Runs that a crash left open are written together: there may be a thousand,
// and nobody waits for each to be durable.
func TestClosingOldRunsWaitsOnce(t *testing.T) {
	const n = 8
	b := newTeam(t, map[string][]turn{"writer": {does(many(n, "helper")...), says("done")}, "helper": {says("helped")}})
	b.atOnce = n
	all, begun := make(chan struct{}), 0
	b.model = held{b.script, "helper", all}
	inner := b.store
	b.store = &mortal{Store: inner, left: -1, until: func(e event.Event) bool {
		if e.ExpertKey == "helper" && e.Type() == "startRun" {
			if begun++; begun == n {
				close(all)
			}
		}
		return begun == n
	}}
	if _, err := b.run(t.Context(), Input{Query: "go"}); !errors.Is(err, errDead) {
		t.Fatal(err)
	}
	d := &diary{Store: inner}
	b.store = d
	b.must(Input{Continue: true})
	if want := slices.Repeat([]string{"append stopRunByInterrupt"}, n); !slices.Equal(d.lines[:n], want) {
		t.Errorf("the job goes on with %q", d.lines[:n])
	}
}

// A listener that panics does not leave a model at work.
func TestListenerPanicsWhileTheModelThinks(t *testing.T) {
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
	b.must(Input{Query: "go"})
	t.Error("the panic was swallowed")
}

// Nothing of a job outlives it, whoever ended it: a bubble fails if a goroutine stays behind.
func TestNothingOutlivesAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTeam(t, map[string][]turn{"writer": {does(many(30, "helper")...), says("done")}, "helper": {does("wait"), says("helped")}})
		b.atOnce = 7
		b.interrupted(Input{Query: "go"})
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
		b.must(Input{Continue: true})
		t.Error("the panic was swallowed")
	})
}
