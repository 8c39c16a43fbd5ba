package engine

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// Delegation: a turn's calls of delegates are recorded together with the ids of the Runs
// that will work on them (callDelegate), and the parent stops. Each delegate runs on a
// goroutine of its own. When all have ended, the parent resumes with their results. If the
// parent is resumed in another process, it finds the same delegates by their Run ids.

func reference(e *expert.Expert) event.ExpertRef {
	return event.ExpertRef{Key: e.Key, Name: e.Name, Version: e.Version}
}

// query returns the query in the arguments of a call; empty if there is none.
func query(args rawjson.Value) string {
	var a struct {
		Query string `json:"query"`
	}
	if json.Unmarshal(args, &a) != nil {
		return ""
	}
	return a.Query
}

// callDelegates assigns a Run to each call of a delegate; false if there is no such call. A
// call keeps a Run that it already has.
func (r *run) callDelegates(calls []Call) (event.CallDelegate, bool) {
	var b event.CallDelegate
	for _, c := range calls {
		if c.Result != nil || r.toolKind(c.ToolName) != skill.Delegate {
			continue
		}
		child := event.DelegateRun{ToolCallID: c.ID}
		if c.Child != nil {
			child = *c.Child
		} else {
			child.RunID = r.newID()
		}
		child.Expert = reference(r.delegate(c.SkillName))
		b.Delegates = append(b.Delegates, child)
	}
	return b, len(b.Delegates) > 0
}

// delegate returns the Expert of that name which this Run can delegate to, or nil.
func (r *run) delegate(name string) *expert.Expert {
	for _, e := range r.delegates {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// runDelegates runs the delegates of the current step until all have ended. It starts a Run
// for each call, in call order, as many at the same time as there are slots.
func (r *run) runDelegates(ctx context.Context) error {
	calls := delegatedCalls(r.state.Step.Calls)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// While the Run waits, its children can use its own slot. So the deepest Runs can always
	// work, however few slots there are.
	ownSlot := make(chan struct{}, 1)
	ownSlot <- struct{}{}
	r.budget.addWorking(-1)
	defer r.budget.addWorking(1)

	errs := make([]error, len(calls))
	var all sync.WaitGroup
	for i, c := range calls {
		// A delegate that could not ask the model is not started, nor are its skills.
		if r.budget.exhausted(0, 0, r.price) != nil {
			break
		}
		release, ok := r.acquireSlot(ctx, ownSlot)
		if !ok {
			break
		}
		all.Go(func() {
			defer release()
			if errs[i] = r.runChild(ctx, c); errs[i] != nil {
				cancel(errs[i]) // the journal accepts no more records
			}
		})
	}
	all.Wait()
	return cmp.Or(errs...) // all of them have the same cause: the journal
}

// acquireSlot waits until another Run can work. It prefers the Run's own slot. It is false
// if the Run must stop.
func (r *run) acquireSlot(ctx context.Context, ownSlot chan struct{}) (release func(), ok bool) {
	if r.stopRequested(ctx) != nil {
		return nil, false
	}
	releaseOwn := func() { ownSlot <- struct{}{} }
	select {
	case <-ownSlot:
		return releaseOwn, true
	default:
	}
	slots := r.exec.slots
	select {
	case <-ownSlot:
		return releaseOwn, true
	case slots <- struct{}{}:
		return func() { <-slots }, true
	case <-ctx.Done():
		return nil, false
	}
}

// runChild runs the delegate for a call: from the beginning, from where it stopped, or on a
// branch.
func (r *run) runChild(ctx context.Context, c Call) (err error) {
	child := r.exec.newRun(r.delegate(c.SkillName), r)
	defer func() {
		if p := recover(); p != nil {
			r.parts.Log.Error("panic in a delegate", "expert", c.SkillName, "value", p, "stack", string(debug.Stack()))
			err = child.record(event.StopRunByError{Error: event.Failure{
				Name: "RuntimeError", Message: fmt.Sprintf("internal error: %v; please report it", p),
			}})
		}
	}()
	child.task = query(c.Args)
	st := start{runID: c.Child.RunID, step: r.state.StepNumber + 1, query: child.task, parent: &event.Parent{
		Expert: reference(r.expert), ToolCallID: c.ID, ToolName: c.ToolName, CheckpointID: r.state.CheckpointID, RunID: r.runID,
	}}
	if s, started := r.recorder.state(st.runID); started {
		st.from, st.query = r.recorder.point(s.CheckpointID), ""
	} else if c.Child.From != nil {
		st.from, st.query, st.children = r.recorder.point(c.Child.From.CheckpointID), c.Child.Query, c.Child.Delegates
	}
	if st.from != nil {
		st.step = st.from.State.StepNumber + 1
	}
	child.budget.addWorking(1)
	defer child.budget.addWorking(-1)
	_, err = child.execute(ctx, st)
	return err
}

// checkPath returns the limit that forbids a delegate to start: the path of Experts is too
// long, or an Expert on it already has the same task.
func (r *run) checkPath() *LimitError {
	if limit := cmp.Or(r.spec.Limits.MaxDepth, expert.DefaultMaxDepth); r.depth > limit {
		return &LimitError{Limit: event.LimitDepth, Used: float64(r.depth), Max: float64(limit)}
	}
	for p := r.parent; p != nil; p = p.parent {
		if p.expert.Key == r.expert.Key && p.task == r.task {
			return &LimitError{Limit: event.LimitLoop, Used: 2, Max: 1}
		}
	}
	return nil
}
