package log

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store"
)

// A survey is a first look at a journal, from its beginning to its end or to the
// first record that cannot be read. The newest events are known only after it; a
// second look prints them. Two looks cost less than keeping what may be a long
// conversation in memory, in the fullness of each of its events.
type survey struct {
	opts     *Options
	out      *bufio.Writer
	store    store.Store
	jobID    string
	info     store.JobInfo
	history  *engine.History
	tree     *tree
	runs     []string         // in the order of their first event
	started  map[string]int64 // time of that event
	selected []int64          // numbers of the records that the filter selects
	matches  int              // rows of the transcript that it selects, or events, or records
	last     int64            // number of the last record that was read
	damage   error            // why nothing follows the last sound record
	seal     error            // what is wrong with the seals
	unknown  int              // records left out, since this version does not know their types
	failed   int              // events for which the expression of the user has no result
	failure  error            // of the first of them
	counts   counts
	teller   *teller
	picker   *picker

	tracker     history.Tracker
	checkpoints []string // ids, sorted
}

// counts are the numbers of the summary, of the whole job.
type counts struct {
	events, errors, calls int
	providerCalls         int // that the provider ran itself
	firstStep, lastStep   int
}

// look surveys a job. The error is about a job that does not exist; damage is part of
// the survey.
func look(ctx context.Context, opts *Options, s store.Store, jobID string) (*survey, error) {
	v := &survey{
		opts: opts, store: s, jobID: jobID, history: engine.NewHistory(), tree: newTree(),
		started: make(map[string]int64), teller: newTeller(), picker: newPicker(opts),
	}
	var damage *store.DamageError
	var err error
	if v.info, err = store.FindJob(ctx, s, jobID); err != nil && !errors.As(err, &damage) {
		return nil, err
	}
	for r, err := range s.Read(ctx, jobID, 0) {
		known := !errors.Is(err, event.ErrUnknownType)
		if known && err != nil {
			v.damage = err // which ends the sequence
			break
		}
		if err := v.add(ctx, r, known); err != nil {
			return nil, err
		}
	}
	if v.damage == nil && damage != nil {
		v.damage = damage // a journal that was cut: sound, but too short
	}
	if sealer, err := opts.verifier(); err == nil && v.damage == nil { // without a key nothing is known
		v.seal = history.Entry{Info: v.info, Source: history.Source{Store: s}}.CheckSeal(ctx, sealer)
	}
	if _, acted := v.started[opts.Run]; opts.Run != "" && !acted && v.tree.runs[opts.Run] == nil && v.damage == nil {
		return nil, host.Usagef("no run %s in job %s; %s log %s shows its runs", opts.Run, jobID, opts.command(), jobID)
	}
	return v, ctx.Err()
}

// add takes in a record, of a type that this version knows or does not know. The error is about the
// expression of the user.
func (v *survey) add(ctx context.Context, r store.Record, known bool) error {
	v.last = r.Seq
	if !known {
		if v.opts.showsUnknown() {
			v.selected, v.matches = append(v.selected, r.Seq), v.matches+1
		} else {
			v.unknown++
		}
		return nil
	}
	e, told := r.Event, v.teller.tell(r.Event)
	newest, _ := v.history.Head() // before this record
	before, after := v.history.Apply(r)
	v.tree.add(e, told.listed, before, after, newest, v.history)
	if _, seen := v.started[e.RunID]; !seen {
		v.started[e.RunID] = e.Timestamp
		v.runs = append(v.runs, e.RunID)
	}
	v.counts.add(e, told.listed)
	if id := v.tracker.Reached(e); id != "" {
		at, _ := slices.BinarySearch(v.checkpoints, id)
		v.checkpoints = slices.Insert(v.checkpoints, at, id)
	}
	selected := v.opts.selects(e, told)
	if selected && v.opts.Filter.Expr != nil {
		var err error
		if selected, err = v.keeps(ctx, r); err != nil {
			return err
		}
	}
	if selected {
		v.selected = append(v.selected, r.Seq)
	}
	if v.opts.mode() != showTranscript {
		v.matches = len(v.selected)
		return nil
	}
	for _, selected := range v.picker.pick(told.own, selected) {
		if selected {
			v.matches++
		}
	}
	return nil
}

// models returns the models of the job, in the order of their first Runs.
func (v *survey) models() []string {
	var names []string
	for _, id := range v.runs {
		if n := v.tree.runs[id]; n != nil && n.model != "" && !slices.Contains(names, n.model) {
			names = append(names, n.model)
		}
	}
	return names
}

// selects reports whether e is one of the events that the user asked for. What exists for the
// journal alone is not in lists of events.
func (o *Options) selects(e event.Event, told told) bool {
	if m := o.mode(); m == showTranscript || m == printRecords {
		return o.in(e) && o.Filter.match(e, told.own)
	}
	return o.lists(e) && o.Filter.match(e, told.listed)
}

// lists reports whether e can be in a list of events.
func (o *Options) lists(e event.Event) bool { return o.in(e) && !e.IsRecordOnly() }

// in reports whether e belongs to what the user asked for: a Run, or the whole job.
func (o *Options) in(e event.Event) bool { return o.Run == "" || e.RunID == o.Run }

// showsUnknown reports whether records of types that this version does not know are
// among those that the user asked for. Nothing can be said about them but their line.
func (o *Options) showsUnknown() bool {
	return o.Records && o.Run == "" && o.Filter.all()
}

func (c *counts) add(e event.Event, rows []narrate.Row) {
	if e.IsRecordOnly() {
		return
	}
	c.events++
	if isError(e, rows) {
		c.errors++
	}
	c.providerCalls += len(e.ProviderCalls())
	if b, ok := e.Body.(event.CallTools); ok {
		c.calls += len(b.ToolCalls)
	}
	if !e.IsRuntime() {
		if c.firstStep == 0 {
			c.firstStep = e.StepNumber
		}
		c.firstStep, c.lastStep = min(c.firstStep, e.StepNumber), max(c.lastStep, e.StepNumber)
	}
}

// status is how the job is. A damaged journal does not say.
func (v *survey) status() string {
	if v.damage != nil {
		return "damaged"
	}
	info := store.JobInfo{Job: v.history.Job}
	info.Interrupted = v.info.Interrupted && info.Status == event.JobRunning
	return string(info.CurrentStatus())
}

// end says what kept the command from showing everything.
func (v *survey) end() error {
	if v.unknown > 0 {
		fmt.Fprintf(v.opts.Host.Stderr, "%d records have types that this version of perstack does not know; they are left out\n", v.unknown)
	}
	v.tellFailures()
	return v.damage
}

// cost says what the job cost, by the prices that are known; nothing if some are not, or if it was
// nothing. List prices can be out of date, so it is about right at best.
func cost(t narrate.Totals) string {
	if t.Unpriced || t.Cost == 0 {
		return ""
	}
	return fmt.Sprintf("about $%.4f, by the prices of the job and the list prices of %s", t.Cost, model.PricesDate())
}
