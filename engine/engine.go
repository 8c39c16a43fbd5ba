// Package engine runs Experts: a pure state machine, and the loop that drives it.
//
// A Run repeats four steps. decide looks at the [State] and does the work of its phase
// (asks the model, calls tools, stops), which yields an event. The recorder appends the
// event to the journal, apply folds it into the state, and only then is it published. All
// effects are in decide. [State.apply] is pure and total: it reads no clock, makes no ids
// and does no I/O. So the state of a Run is the fold of its events, and a crashed Run is
// resumed by folding its journal ([Load]).
//
// The engine imports no provider, no MCP library and no file system. It is given a model,
// a toolbox and a store, and a clock and ids as well. With the replay model, a fixed clock
// and fixed ids, two runs write the same bytes.
//
// A job is a tree of Runs: the coordinator's, and those of its delegates. Each Run has a
// goroutine of its own. They send their events to one recorder, so the events of a job have
// one order, and they draw from budgets that share one lock, so limits hold for the job as
// a whole.
//
// Read the files in this order:
//
//	engine.go      Execute, and the coordinator's Run
//	run.go         one Run: its skills, its loop, its delegates
//	decide.go      what happens in each phase; then tools.go and generate.go
//	apply.go       what each event does to the State
//	recorder.go    how events are written and published
//	approvals.go   which calls are carried out
//	delegate.go    how delegates run; then delegate_results.go and budget.go
//	plan.go        where a job starts, resumes or branches
package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/store"
)

// Execute runs a job until it completes, waits for the user or is stopped. The end is
// recorded and returned as the Result. An error means that nothing was started, or that
// the end could not be recorded.
//
// Cancelling ctx stops the job: the call in progress is cancelled, the state is saved, and
// the cause of the cancellation is recorded as the reason. If the cause is a [LimitError],
// the Run ends by that limit.
//
// The engine starts the skills of each Expert with open.
func Execute(ctx context.Context, spec job.Spec, parts Parts, open Opener) (result Result, err error) {
	parts.complete()
	if err := CheckExists(ctx, spec, parts.Store); err != nil {
		return Result{}, err
	}
	journal, err := parts.Store.Open(ctx, spec.JobID)
	if err != nil {
		return Result{}, StoreError(err)
	}
	defer func() { // also if a listener panics
		if closeErr := journal.Close(); closeErr != nil && err == nil {
			err = StoreError(closeErr)
		}
	}()
	specText, err := spec.Recorded()
	if err != nil {
		return Result{}, inputError("the Spec cannot be written: %v", err)
	}
	if parts.Container == nil { // else the host redacts it, and checks that it is the same
		specText = parts.redactSpec(specText)
	}
	history, err := openHistory(ctx, journal, spec, parts)
	if err != nil {
		return Result{}, err
	}
	return newExecution(spec, specText, parts, newRecorder(context.WithoutCancel(ctx), parts, journal, history), open).execute(ctx)
}

// execute runs the job. This goroutine becomes the recorder's; the Runs get goroutines of
// their own.
func (x *execution) execute(ctx context.Context) (result Result, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = x.coordinate(ctx)
		cancel()
		x.questions.all.Wait()
		x.snapshots.stop()
	}()
	defer func() {
		// If a listener panics, the panic passes through here. All goroutines of the job
		// must have ended before the caller sees it.
		cancel()
		x.recorder.stop()
		<-done
	}()
	x.recorder.serve(done)
	return result, err
}

// An execution is a job while one call of [Execute] runs it: what all its Runs share.
type execution struct {
	spec     job.Spec
	parts    Parts
	recorder *recorder
	open     Opener

	budget      *budget            // of the whole job
	spentBefore map[string]expense // by each Run in earlier executions, including its delegates
	slots       chan struct{}      // one token for each Run that is working
	snapshots   *snapshotter
	asking      chan struct{} // holds a token while a Run asks the user
	questions   openQuestions // about leaving the sandbox
	inbox       *Inbox

	specText rawjson.Value // for the coordinator's first start; nil once it is recorded
}

func newExecution(spec job.Spec, specText rawjson.Value, parts Parts, rec *recorder, open Opener) *execution {
	x := &execution{
		spec: spec, specText: specText, parts: parts, recorder: rec, open: open,
		asking: make(chan struct{}, 1), inbox: parts.Inbox,
		slots: make(chan struct{}, cmp.Or(spec.Limits.MaxParallel, expert.DefaultMaxParallel)),
	}
	x.budget = newBudget(nil, spec.Limits.Limits, parts.Source.Now(), 0)
	rec.view(func(h *History) {
		x.snapshots = newSnapshotter(&x.spec, &x.parts, h)
		own := make(map[string]expense, len(h.runs))
		for id, s := range h.runs {
			s.spent.cost = model.Cost(x.price(s.Provider, s.Model), s.spent.Usage)
			x.budget.add(s.spent)
			own[id] = s.spent
		}
		x.spentBefore = h.withDelegates(own)
	})
	return x
}

// coordinate runs the coordinator, which runs everything else.
func (x *execution) coordinate(ctx context.Context) (Result, error) {
	var st start
	var err error
	x.recorder.view(func(h *History) { st, err = plan(x.spec, x.parts.Source, h) })
	if err != nil {
		return Result{}, err
	}
	if err := x.closeCrashed(); err != nil {
		return Result{}, StoreError(err)
	}
	if err := x.snapshotResume(ctx, st.runID); err != nil {
		return Result{}, err
	}
	ctx, limit, cancel := withTimeLimit(ctx, x.spec.Limits.MaxDuration)
	defer cancel(nil)
	x.budget.time = limit
	defer x.inbox.Attach(x.takeAnswer)()
	r := x.newRun(x.spec.Coordinator(), nil)
	if r.task = x.spec.Input.Query; r.task == "" && st.from != nil {
		r.task = st.from.State.Task
	}
	x.slots <- struct{}{}
	r.budget.addWorking(1)
	return r.execute(ctx, st)
}

// newRun returns a Run of an Expert below its parent, which is nil for the coordinator.
func (x *execution) newRun(e *expert.Expert, parent *run) *run {
	r := &run{exec: x, spec: &x.spec, parts: &x.parts, recorder: x.recorder, expert: e, model: x.spec.ModelOf(e), parent: parent, depth: 1}
	r.reports.ready = make(chan struct{}, 1)
	outer := x.budget
	if parent != nil {
		r.depth, outer = parent.depth+1, parent.budget
	}
	r.budget = newBudget(outer, e.Limits, x.parts.Source.Now(), r.known().MaxOutputTokens)
	r.price = x.price(r.model.Provider, r.model.Model)
	for _, key := range e.Delegates {
		if d, ok := x.spec.Lookup(key); ok {
			r.delegates = append(r.delegates, d)
		}
	}
	return r
}

// price returns what a model costs. The price of an earlier, unknown model is taken to be
// that of the job's current one; zero would undercount.
func (x *execution) price(provider, name string) expert.Price {
	if !x.spec.LimitsCost() {
		return expert.Price{}
	}
	price, ok := x.spec.Price(provider, name, model.PriceOf)
	if !ok {
		price, _ = x.spec.Price(x.spec.Provider, x.spec.Model, model.PriceOf)
	}
	return price
}

// known is what is known of the model of a Run. The Spec goes before the catalogue.
func (r *run) known() model.Known {
	k, _ := model.Lookup(r.model.Provider, r.model.Model)
	return k.With(r.spec.Models[r.model.Model])
}

// crashed is the reason recorded for a Run whose process died.
const crashed = "the process ended before it could save"

// closeCrashed records the end of Runs that a crash left open.
func (x *execution) closeCrashed() error {
	var ends []event.Event
	x.recorder.view(func(h *History) { ends = h.Interrupts(x.parts.Source) })
	for _, e := range ends {
		if _, err := x.recorder.record(e, recordOnly); err != nil {
			return err
		}
	}
	return nil
}

// interruptEvent returns the event that ends the Run of s from outside.
func (s State) interruptEvent(source Source, jobID, reason string) event.Event {
	return event.Event{
		ID: source.NewID(), Timestamp: source.Now().UnixMilli(), JobID: jobID, RunID: s.RunID,
		ExpertKey: s.Expert.Key, StepNumber: s.StepNumber, Body: event.StopRunByInterrupt{Reason: reason},
	}
}

// CheckExists reports a job that must exist and does not, or the opposite. It runs before
// anything is made: opening the journal would create an unknown job.
func CheckExists(ctx context.Context, spec job.Spec, s store.Store) error {
	known, err := exists(ctx, s, spec.JobID)
	switch {
	case err != nil:
		return err
	case spec.Input.Continue && !known:
		return jobError(JobNotFound, spec.JobID)
	case !spec.Input.Continue && known:
		return jobError(JobExists, spec.JobID)
	}
	return nil
}

// exists reports whether a job has any record.
func exists(ctx context.Context, s store.Store, jobID string) (bool, error) {
	for _, err := range s.Read(ctx, jobID, 0) {
		damage, damaged := errors.AsType[*store.DamageError](err)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, store.ErrNotFound), damaged && damage.Torn && damage.Seq == 1: // a power cut left nothing of it
			return false, nil
		}
		return false, StoreError(err)
	}
	return false, nil
}
