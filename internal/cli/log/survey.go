package log

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store"
)

// A survey is a first look at a journal, from its beginning to its end or to the
// first record that cannot be read. The newest events are known only after it; a
// second look prints them. Two looks cost less than keeping what may be a long
// conversation in memory, in the fullness of each of its events.
type survey struct {
	opts    *Options
	store   store.Store
	jobID   string
	info    store.JobInfo
	history *engine.History
	runs    []*runHead // in the order of their first event
	last    int64      // number of the last sound record
	damage  error      // why nothing follows it
	unknown int        // records left out, since this version does not know their types
	total   int        // events that the filter selects
	counts  counts
	costs   costs
	tree    *tree // nil unless it is asked for
}

// A runHead is what there is to say about a Run before its events.
type runHead struct {
	id          string
	expert      event.ExpertRef
	model       string // with its provider
	version     string // of perstack
	isolation   []string
	started     int64
	origin      *event.Origin
	branches    bool // it went another way than the job was on
	delegatedBy *event.Parent
}

// counts are the numbers of the summary, of the whole job.
type counts struct {
	events, errors, calls int
	providerCalls         int // that the provider ran itself
	firstStep, lastStep   int
	delegates             map[string]bool // Runs that delegates were given
}

// look surveys a job. The error is about a job that is not there; damage is part of
// the survey.
func look(ctx context.Context, opts *Options, s store.Store, jobID string) (*survey, error) {
	v := &survey{opts: opts, store: s, jobID: jobID, history: engine.NewHistory(), costs: costs{prices: make(map[string]expert.Price)}}
	v.counts.delegates = make(map[string]bool)
	info, err := store.FindJob(ctx, s, jobID)
	damage := (*store.DamageError)(nil)
	if err != nil && !errors.As(err, &damage) {
		return nil, err
	}
	v.info = info
	if opts.Tree {
		v.tree = newTree()
	}
	heads := make(map[string]*runHead)
	results := newResults(opts)
	for r, err := range s.Read(ctx, jobID, 0) {
		if errors.Is(err, event.ErrUnknownType) {
			v.last = r.Seq
			if opts.showsUnknown() {
				v.total++
			} else {
				v.unknown++
			}
			continue
		}
		if err != nil {
			v.damage = err
			break
		}
		v.last = r.Seq
		newest, _ := v.history.Head() // before this record
		before, after := v.history.Apply(r)
		e := r.Event
		if v.tree != nil {
			v.tree.add(e, before, after, newest, v.history)
		}
		brought := results.of(e)
		if heads[e.RunID] == nil {
			heads[e.RunID] = &runHead{id: e.RunID, started: e.Timestamp}
			v.runs = append(v.runs, heads[e.RunID])
		}
		heads[e.RunID].learn(e, newest)
		v.counts.add(e, brought)
		v.costs.add(e)
		if opts.selects(e, brought) {
			v.total++
		}
	}
	if v.damage == nil && damage != nil {
		v.damage = damage // a journal that was cut: sound, but too short
	}
	if opts.Run != "" && heads[opts.Run] == nil && !v.counts.delegates[opts.Run] && v.damage == nil {
		return nil, host.Usagef("no run %s in job %s; %s log %s shows its runs", opts.Run, jobID, opts.command(), jobID)
	}
	return v, ctx.Err()
}

// learn takes what the first startRun of a Run says. Later ones resume it, maybe with
// another isolation. A delegate that continues from a checkpoint of another Run is part of a branch.
func (h *runHead) learn(e event.Event, newest engine.Point) {
	b, ok := e.Body.(event.StartRun)
	if ok && len(b.Spec) > 0 {
		if spec, err := job.ParseRecorded(b.Spec); err == nil {
			h.isolated(spec)
			h.version = cmp.Or(h.version, spec.Version)
		}
	}
	if !ok || h.expert.Key != "" {
		return
	}
	h.expert = b.Expert
	if h.expert.Key == "" {
		h.expert.Key = e.ExpertKey
	}
	h.model = modelName(b)
	h.origin, h.delegatedBy = b.From, b.DelegatedBy
	h.branches = branches(b, newest) || b.DelegatedBy != nil
}

// modelName says whose model it is: several providers run models of one name.
func modelName(b event.StartRun) string {
	if b.Model == "" || b.Provider == "" {
		return b.Model
	}
	return b.Model + " (" + b.Provider + ")"
}

// models returns the models of the job, in the order of their first Runs.
func (v *survey) models() []string {
	var names []string
	for _, head := range v.runs {
		if head.model != "" && !slices.Contains(names, head.model) {
			names = append(names, head.model)
		}
	}
	return names
}

// selects reports whether e, which brings those results, is one of those that the user
// asked for. What exists for the journal alone shows up among its records only.
func (o *Options) selects(e event.Event, brought []event.ToolResult) bool {
	if e.IsRecordOnly() && !o.Records || o.Run != "" && e.RunID != o.Run {
		return false
	}
	return o.Filter.match(e, brought)
}

// showsUnknown reports whether records of types that this version does not know are
// among those that the user asked for. Nothing can be said about them but their line.
func (o *Options) showsUnknown() bool {
	return o.Records && o.Run == "" && o.Filter.all()
}

func (c *counts) add(e event.Event, brought []event.ToolResult) {
	if e.IsRecordOnly() {
		return
	}
	c.events++
	if isError(e, brought) {
		c.errors++
	}
	c.providerCalls += len(e.ProviderCalls())
	switch b := e.Body.(type) {
	case event.CallTools:
		c.calls += len(b.ToolCalls)
	case event.CallDelegate:
		for _, d := range b.Delegates { // a Run that resumes names them again
			c.delegates[d.RunID] = true
		}
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
