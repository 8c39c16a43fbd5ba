package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
)

// A tree is a job while it runs: its Runs from the coordinator down, each on a goroutine
// of its own, and what they share.
type tree struct {
	job Job
	Parts
	*desk
	*ledger

	whole *purse           // of the job
	slots chan struct{}    // has room for as many Runs as may be at work at once
	past  map[string]Spent // by Runs of earlier stretches, with all that they delegated to
}

func newTree(job Job, parts Parts, d *desk) *tree {
	t := &tree{
		job: job, Parts: parts, desk: d, ledger: newLedger(job),
		whole: &purse{limits: job.Limits, since: parts.Source.Now()},
		slots: make(chan struct{}, cmp.Or(job.MaxParallel, expert.DefaultMaxParallel)),
	}
	d.look(func(h *History) {
		for _, s := range h.runs {
			t.whole.add(s.Spent, t.priceOf(s.Provider, s.Model))
		}
		t.past = h.spent()
	})
	return t
}

// coordinate runs the job from the coordinator down.
func (t *tree) coordinate(ctx context.Context) (Result, error) {
	start, err := t.plan()
	if err != nil {
		return Result{}, err
	}
	if err := t.closeCrashed(); err != nil {
		return Result{}, storeError(err)
	}
	ctx, cancel := t.limitTime(ctx, t.job.Limits.MaxDuration)
	defer cancel(nil)
	r := t.newRun(t.job.Expert, nil)
	if r.task = t.job.Input.Query; r.task == "" && start.from != nil {
		r.task = start.from.State.Task
	}
	t.slots <- struct{}{}
	t.work(r.purse, 1)
	return r.execute(ctx, start)
}

// limitTime returns a context that is cancelled, with the limit as its cause, when the
// time is over; and the function that cancels it.
func (t *tree) limitTime(ctx context.Context, most time.Duration) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if most > 0 {
		timer := time.AfterFunc(most, func() {
			cancel(&LimitError{Limit: event.LimitDuration, Used: most.Seconds(), Max: most.Seconds()})
		})
		context.AfterFunc(ctx, func() { timer.Stop() })
	}
	return ctx, cancel
}

// newRun returns a Run of an Expert, below its parent; nil for the coordinator.
func (t *tree) newRun(e *expert.Expert, parent *run) *run {
	r := &run{tree: t, expert: e, parent: parent, depth: 1}
	around := t.whole
	if parent != nil {
		r.depth, around = parent.depth+1, parent.purse
	}
	r.purse = &purse{within: around, limits: e.Limits, since: t.Source.Now()}
	r.price = t.priceOf(t.job.Provider, t.job.ModelName)
	if t.job.Lookup == nil {
		return r
	}
	for _, key := range e.Delegates {
		if d, ok := t.job.Lookup(key); ok {
			r.team = append(r.team, d)
		}
	}
	return r
}

// priceOf returns the price of a model. One of an earlier stretch that is not known counts
// as much as the one in use: nothing would be too little.
func (t *tree) priceOf(provider, model string) expert.Price {
	price, ok := t.prices(provider, model)
	if !ok {
		price, _ = t.prices(t.job.Provider, t.job.ModelName)
	}
	return price
}

// closeCrashed records the end of Runs that a crash left open.
func (t *tree) closeCrashed() error {
	var open []State
	t.look(func(h *History) { open = h.Open() })
	for _, s := range open {
		e := event.Event{
			ID: t.Source.NewID(), Timestamp: t.Source.Now().UnixMilli(), JobID: t.job.ID, RunID: s.RunID,
			ExpertKey: s.Expert.Key, StepNumber: s.StepNumber, Body: event.StopRunByInterrupt{Reason: crashed},
		}
		if _, err := t.record(e, earlier); err != nil {
			return err
		}
	}
	return nil
}
