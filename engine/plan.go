package engine

import (
	"cmp"
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
)

// plan decides how the coordinator starts: with a new conversation, with a new query in a
// recorded one, with an answer of the user, where the job stopped, or on a new branch. It
// writes nothing.
func plan(spec job.Spec, source Source, h *History) (start, error) {
	st, err := planStart(spec, source, h)
	if err == nil {
		err = checkRunID(spec, st, h)
	}
	return st, err
}

// checkRunID refuses the id that a Spec gives to the coordinator's Run if another Run has it, or
// if no Run starts that could take it.
func checkRunID(spec job.Spec, st start, h *History) error {
	id := spec.RunID
	if id == "" {
		return nil
	}
	if err := store.CheckID(id); err != nil {
		return &Error{KindInput, err}
	}
	if st.runID != id {
		return inputError("job %s resumes its run %s, which keeps its id, so it cannot be %s", spec.JobID, st.runID, id)
	}
	resumes := st.from != nil && st.from.State.RunID == id && st.query == ""
	if _, taken := h.runs[id]; taken && !resumes {
		return inputError("job %s has a run %s already; choose another id", spec.JobID, id)
	}
	return nil
}

func planStart(spec job.Spec, source Source, h *History) (start, error) {
	in := spec.Input
	st := start{runID: cmp.Or(spec.RunID, source.NewID()), step: 1, query: in.Query, attached: in.Attachments, answer: in.Answer}
	if !in.Continue || in.From == "" && in.Query != "" && h.AtBeginning() {
		st.plans = h.PlansAtBeginning()
		return st, nil
	}
	point, err := h.startingPoint(spec)
	if err != nil {
		return st, err
	}
	path := h.path(point)
	if len(path) > 1 {
		if st.query != "" || !h.isCurrent(path) {
			err := planBranch(&st, spec, source, path)
			return st, err
		}
		// The delegate is still waited for, so it resumes when its parents do.
		path[0] = h.latest(path[0].State.RunID)
	}
	st.from = &path[0]
	s := path[0].State
	st.step = s.StepNumber + 1
	if st.query != "" {
		if s.Status == event.StatusStoppedByInteractiveTool {
			return st, &WaitingError{spec.JobID, s.Pending()}
		}
		return st, nil
	}
	// The Run resumes. It keeps its id, unless it was resumed from here before.
	if h.runs[s.RunID].CheckpointID == s.CheckpointID {
		st.runID = s.RunID
	}
	err = checkAnswer(&st, spec, s)
	return st, err
}

// checkAnswer returns an error if an answer of the user is missing or not expected. It
// completes the answer with the names of the call.
func checkAnswer(st *start, spec job.Spec, s State) error {
	waits := s.Status == event.StatusStoppedByInteractiveTool
	switch {
	case st.answer == nil && waits:
		return &WaitingError{spec.JobID, s.Pending()}
	case st.answer == nil && s.Status == event.StatusCompleted:
		return jobError(JobCompleted, spec.JobID)
	case st.answer == nil:
		return nil
	case !waits:
		return jobError(NotWaiting, spec.JobID)
	}
	pending := s.Pending()
	i := 0
	if st.answer.ToolCallID != "" {
		i = slices.IndexFunc(pending, func(c event.ToolCall) bool { return c.ID == st.answer.ToolCallID })
	}
	if i < 0 {
		return inputError("no tool call %q waits for an answer in job %s; these do: %s", st.answer.ToolCallID, spec.JobID, callList(pending))
	}
	call := pending[i]
	st.answer = &event.ToolAnswer{ToolCallID: call.ID, ToolName: call.ToolName, SkillName: call.SkillName, Text: st.answer.Text}
	return nil
}

// planBranch plans a branch from a checkpoint of a delegate. Its parents, up to the
// coordinator, get new Runs that start where the old ones waited for it. So the delegate
// returns to its parent, and everything recorded is kept.
func planBranch(st *start, spec job.Spec, source Source, path []Point) error {
	last := path[len(path)-1].State
	switch {
	case st.answer != nil:
		return &Error{KindInput, &JobError{DelegateAnswered, spec.JobID, last.CheckpointID, last.Expert.Key}}
	case len(st.attached) > 0:
		// They would have to be recorded with the coordinator's start, and be in two conversations.
		return inputError("checkpoint %s is of the delegate %s, and files can be attached only to a query for the coordinator; have the delegate read them", last.CheckpointID, last.Expert.Key)
	case last.Status == event.StatusCompleted && st.query == "":
		return inputError("the delegate %s is completed at checkpoint %s; give a query to continue from there", last.Expert.Key, last.CheckpointID)
	}
	var below []event.DelegateRun
	for i := len(path) - 1; i > 0; i-- {
		s, parent := path[i].State, path[i-1].State.Expert.Key
		if !canDelegate(spec, parent, s.Expert.Name) {
			return inputError("checkpoint %s belongs to the delegate %s, but %s can no longer delegate to it", last.CheckpointID, s.Expert.Key, parent)
		}
		child := event.DelegateRun{
			ToolCallID: s.DelegatedBy.ToolCallID, RunID: source.NewID(), Expert: s.Expert, From: path[i].address(), Delegates: below,
		}
		if below == nil {
			child.Query = st.query
		}
		below = []event.DelegateRun{child}
	}
	st.from, st.query, st.children = &path[0], "", below
	st.step = path[0].State.StepNumber + 1
	return nil
}

// canDelegate reports whether an Expert can delegate to another, as they are defined now.
func canDelegate(spec job.Spec, key, delegateName string) bool {
	e, ok := spec.Lookup(key)
	return ok && slices.ContainsFunc(e.Delegates, func(k string) bool {
		d, ok := spec.Lookup(k)
		return ok && d.Name == delegateName
	})
}

// startingPoint finds the checkpoint that the job continues from. A Run that a crash left
// open counts as stopped at the end of its journal.
func (h *History) startingPoint(spec job.Spec) (Point, error) {
	from := spec.Input.From
	point, ok := h.Origin(from)
	switch {
	case !ok && from != "":
		return Point{}, &Error{KindInput, &JobError{Problem: CheckpointNotFound, JobID: spec.JobID, CheckpointID: from}}
	case !ok && h.AtBeginning():
		return Point{}, inputError("all runs of job %s were undone, so it needs a new query", spec.JobID)
	case !ok:
		return Point{}, inputError("job %s has no checkpoint to continue from", spec.JobID)
	}
	root := h.Root(point).State
	if root.DelegatedBy != nil {
		return Point{}, inputError("checkpoint %s belongs to the delegate %s, and the journal does not say which Expert delegated to it; choose a checkpoint of another Expert", point.State.CheckpointID, root.Expert.Key)
	}
	if key := root.Expert.Key; key != spec.Expert {
		return Point{}, inputError("checkpoint expert key %s does not match input expert key %s; use %s, or name no Expert", key, spec.Expert, key)
	}
	return point, nil
}

// path returns the checkpoints at which the parents of a delegate waited for it, the
// coordinator's first, and then p itself.
func (h *History) path(p Point) []Point {
	path := []Point{p}
	seen := map[string]bool{p.State.RunID: true} // a damaged journal can have a cycle
	for s := p.State; s.DelegatedBy != nil; s = path[len(path)-1].State {
		parent, ok := h.points[s.DelegatedBy.CheckpointID]
		if !ok || seen[parent.State.RunID] {
			break
		}
		seen[parent.State.RunID] = true
		path = append(path, parent)
	}
	slices.Reverse(path)
	return path
}

// Root returns the coordinator's checkpoint that p belongs to: p itself, or the one at which
// the coordinator waited for the delegate.
func (h *History) Root(p Point) Point { return h.path(p)[0] }

// isCurrent reports whether the Runs of a path are still at their checkpoints and wait for
// one another, so that the job can resume there without a branch.
func (h *History) isCurrent(path []Point) bool {
	for i, p := range path {
		s := h.runs[p.State.RunID]
		if i == len(path)-1 {
			return s.CheckpointID == p.State.CheckpointID
		}
		child := path[i+1].State.RunID
		if !slices.ContainsFunc(s.open(), func(c Call) bool { return c.Result == nil && c.Child != nil && c.Child.RunID == child }) {
			return false
		}
	}
	return false
}

func (p Point) address() *event.Origin {
	return &event.Origin{RunID: p.State.RunID, CheckpointID: p.State.CheckpointID, Seq: p.Seq}
}
