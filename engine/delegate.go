package engine

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/skill"
)

// Delegation: a turn's calls of other Experts are recorded with the Runs that shall work on
// them (callDelegate), and the parent stops. Each child runs on its own goroutine, within
// the limits of the whole tree. When all have ended, the parent goes on with what came of
// them. Whoever resumes the parent finds the same children by their Run ids.

func reference(e *expert.Expert) event.ExpertRef {
	return event.ExpertRef{Key: e.Key, Name: e.Name, Version: e.Version}
}

// query is what a delegate is asked; empty when the arguments do not say.
func query(args jsontext.Value) string {
	var a struct {
		Query string `json:"query"`
	}
	if json.Unmarshal(args, &a) != nil {
		return ""
	}
	return a.Query
}

// handOver names the Runs that shall work on calls of other Experts; false when there is
// no such call. A call keeps the Run that was named for it before.
func (r *run) handOver(calls []Call) (event.CallDelegate, bool) {
	var b event.CallDelegate
	for _, c := range calls {
		if c.Result != nil || r.kind(c.ToolName) != skill.Delegate {
			continue
		}
		child := event.DelegateRun{ToolCallID: c.ID}
		if c.Child != nil {
			child = *c.Child
		} else {
			child.RunID = r.Source.NewID()
		}
		child.Expert = reference(r.member(c.SkillName))
		b.Delegates = append(b.Delegates, child)
	}
	return b, len(b.Delegates) > 0
}

// member returns the Expert of that name whom the Run can delegate to, or nil.
func (r *run) member(name string) *expert.Expert {
	for _, e := range r.team {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// handed returns the calls that other Experts work on.
func handed(calls []Call) []Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return c.Child == nil || c.Result != nil })
}

// delegate has other Experts work on what was handed to them and returns when all of them
// have ended. Meanwhile what the Run's own skills report is published.
func (r *run) delegate(ctx context.Context) error {
	return r.beside(func() error { return r.runChildren(ctx, handed(r.state.Step.Calls)) })
}

// runChildren starts the children in call order, as many at once as there are seats.
func (r *run) runChildren(ctx context.Context, calls []Call) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// While it waits, the Run lends its own seat to its children. So the deepest Runs can
	// always work, however few seats there are.
	lent := make(chan struct{}, 1)
	lent <- struct{}{}
	r.work(r.purse, -1)
	defer r.work(r.purse, 1)

	errs := make([]error, len(calls))
	var all sync.WaitGroup
	for i, c := range calls {
		// Those that could not ask anything need not begin, and start no skills.
		if r.exhausted(r.purse, 0, 0, r.price) != nil {
			break
		}
		back, ok := r.seat(ctx, lent)
		if !ok {
			break
		}
		all.Go(func() {
			defer back()
			if errs[i] = r.runChild(ctx, c); errs[i] != nil {
				cancel(errs[i]) // nothing can be recorded any more
			}
		})
	}
	all.Wait()
	return cmp.Or(errs...) // all of them say that nothing can be recorded
}

// seat waits until another Run may work, and returns how the seat is given back.
func (r *run) seat(ctx context.Context, lent chan struct{}) (back func(), ok bool) {
	if _, halted := r.halted(ctx); halted {
		return nil, false
	}
	giveBack := func() { lent <- struct{}{} }
	select {
	case <-lent:
		return giveBack, true
	default:
	}
	select {
	case <-lent:
		return giveBack, true
	case r.slots <- struct{}{}:
		return func() { <-r.slots }, true
	case <-ctx.Done():
		return nil, false
	}
}

// runChild runs the Expert that a call was handed to: from the beginning, where it was
// left, or on a branch.
func (r *run) runChild(ctx context.Context, c Call) (err error) {
	child := r.newRun(r.member(c.SkillName), r)
	defer func() {
		if p := recover(); p != nil {
			r.Log.Error("panic in a delegate", "expert", c.SkillName, "value", p, "stack", string(debug.Stack()))
			err = child.keep(event.StopRunByError{Error: event.Failure{
				Name: "RuntimeError", Message: fmt.Sprintf("it failed inside: %v; please report it", p),
			}})
		}
	}()
	child.task = query(c.Args)
	st := start{runID: c.Child.RunID, step: r.state.StepNumber + 1, query: child.task, parent: &event.Parent{
		Expert: reference(r.expert), ToolCallID: c.ID, ToolName: c.ToolName, CheckpointID: r.state.CheckpointID, RunID: r.runID,
	}}
	r.look(func(h *History) {
		from, known := h.runs[st.runID]
		switch {
		case known:
			point := h.points[from.CheckpointID]
			st.from, st.query = &point, ""
		case c.Child.From != nil:
			point := h.points[c.Child.From.CheckpointID]
			st.from, st.query, st.children = &point, c.Child.Query, c.Child.Delegates
		}
	})
	if st.from != nil {
		st.step = st.from.State.StepNumber + 1
	}
	r.work(child.purse, 1)
	defer r.work(child.purse, -1)
	_, err = child.execute(ctx, st)
	return err
}

// refuse says why a delegate must not begin: the path of Experts is too long, or goes in a
// circle.
func (r *run) refuse() *LimitError {
	if most := cmp.Or(r.job.MaxDepth, expert.DefaultMaxDepth); r.depth > most {
		return &LimitError{Limit: event.LimitDepth, Used: float64(r.depth), Max: float64(most)}
	}
	for p := r.parent; p != nil; p = p.parent {
		if p.expert.Key == r.expert.Key && p.task == r.task {
			return &LimitError{Limit: event.LimitLoop, Used: 2, Max: 1}
		}
	}
	return nil
}
