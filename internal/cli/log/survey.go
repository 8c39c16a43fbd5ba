package log

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
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
	store    store.Store
	jobID    string
	info     store.JobInfo
	history  *engine.History
	tree     *tree
	runs     []string         // in the order of their first event
	started  map[string]int64 // time of that event
	selected []int64          // numbers of the records that the filter selects
	damage   error            // why nothing follows the last sound record
	unknown  int              // records left out, since this version does not know their types
	counts   counts
	costs    costs
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
		started: make(map[string]int64), costs: costs{prices: make(map[string]expert.Price)},
	}
	var damage *store.DamageError
	var err error
	if v.info, err = store.FindJob(ctx, s, jobID); err != nil && !errors.As(err, &damage) {
		return nil, err
	}
	teller := newTeller(opts)
	for r, err := range s.Read(ctx, jobID, 0) {
		switch known := !errors.Is(err, event.ErrUnknownType); {
		case known && err != nil:
			v.damage = err // which ends the sequence
		case known:
			v.add(r, teller.tell(r.Event))
		case opts.showsUnknown():
			v.selected = append(v.selected, r.Seq)
		default:
			v.unknown++
		}
	}
	if v.damage == nil && damage != nil {
		v.damage = damage // a journal that was cut: sound, but too short
	}
	if _, acted := v.started[opts.Run]; opts.Run != "" && !acted && v.tree.runs[opts.Run] == nil && v.damage == nil {
		return nil, host.Usagef("no run %s in job %s; %s log %s shows its runs", opts.Run, jobID, opts.command(), jobID)
	}
	return v, ctx.Err()
}

// add takes in a record, which comes with those rows.
func (v *survey) add(r store.Record, rows []narrate.Row) {
	e := r.Event
	newest, _ := v.history.Head() // before this record
	before, after := v.history.Apply(r)
	v.tree.add(e, rows, before, after, newest, v.history)
	if _, seen := v.started[e.RunID]; !seen {
		v.started[e.RunID] = e.Timestamp
		v.runs = append(v.runs, e.RunID)
	}
	v.counts.add(e, rows)
	v.costs.add(e)
	if v.opts.selects(e, rows) {
		v.selected = append(v.selected, r.Seq)
	}
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

// selects reports whether e, which comes with those rows, is one of those that the user
// asked for. What exists for the journal alone shows up among its records only.
func (o *Options) selects(e event.Event, rows []narrate.Row) bool {
	if e.IsRecordOnly() && !o.Records || o.Run != "" && e.RunID != o.Run {
		return false
	}
	return o.Filter.match(e, rows)
}

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
	return v.damage
}

// costs add up what a job cost, by the list prices that are known. What perstack.toml said
// about prices is not recorded, so the sum is about right at best.
type costs struct {
	prices  map[string]expert.Price // of the model that each Run has, if it is known
	dollars float64
	unknown bool // some of it has no price, so the sum would be wrong
}

// add counts as the limits on cost do: what was not read from the provider's cache can have
// been written to it.
func (c *costs) add(e event.Event) {
	if b, ok := e.Body.(event.StartRun); ok {
		delete(c.prices, e.RunID) // a resumed Run can have another model
		if p, known := model.PriceOf(b.Provider, b.Model); known {
			c.prices[e.RunID] = p
		}
	}
	u := e.Usage()
	if p, known := c.prices[e.RunID]; known {
		c.dollars += model.Cost(p, u)
	} else if u.InputTokens > 0 || u.OutputTokens > 0 {
		c.unknown = true
	}
}

// line says what it cost; nothing if that is not known, or was nothing.
func (c *costs) line() string {
	if c.unknown || c.dollars == 0 {
		return ""
	}
	return fmt.Sprintf("about $%.4f, by the list prices of %s", c.dollars, model.PricesDate())
}
