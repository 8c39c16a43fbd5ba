package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
)

// A start says how a Run begins, or goes on.
type start struct {
	runID    string
	from     *Point              // where it goes on from; nil for a new conversation
	step     int                 // number of its first step
	query    string              // what is asked now
	answer   *event.ToolAnswer   // to a question that waits
	parent   *event.Parent       // who delegated; nil for the coordinator
	children []event.DelegateRun // of a new branch: who shall work on calls that are open
	ended    bool                // delegates that were stopped from outside do not go on, either
}

// continues reports whether the Run itself goes on, rather than another that takes over
// its conversation.
func (s start) continues() bool { return s.from != nil && s.from.State.RunID == s.runID }

// plan works out how the job starts: afresh, with a new query on top of a conversation,
// with an answer, where it was left, or on a new branch. Nothing is written yet.
func (t *tree) plan() (st start, err error) {
	in := t.job.Input
	st = start{runID: cmp.Or(t.job.RunID, t.Source.NewID()), step: 1, query: in.Query, answer: in.Answer}
	if !in.Continue {
		return st, nil
	}
	t.look(func(h *History) { err = t.goOn(&st, h) })
	return st, err
}

// goOn finds where the job goes on.
func (t *tree) goOn(st *start, h *History) error {
	point, err := h.origin(t.job)
	if err != nil {
		return err
	}
	path := h.path(point)
	if len(path) > 1 {
		if st.query != "" || !h.waitsFor(path) {
			return t.branch(st, path)
		}
		// It is waited for: it goes on when its parents do.
		path[0] = h.newest(path[0].State.RunID)
	}
	st.from = &path[0]
	s := path[0].State
	st.step = s.StepNumber + 1
	if st.query != "" {
		if s.Status == event.StatusStoppedByInteractiveTool {
			return &WaitingError{t.job.ID, s.Pending()}
		}
		return nil
	}
	// The Run goes on. It keeps its id, unless it has gone on from here before.
	if newest := h.runs[s.RunID]; newest.CheckpointID == s.CheckpointID {
		st.runID = s.RunID
	}
	return t.checkAnswer(st, s)
}

// checkAnswer says why a conversation cannot go on without, or with, an answer of the
// user, and completes the answer with the names of its question.
func (t *tree) checkAnswer(st *start, s State) error {
	waits := s.Status == event.StatusStoppedByInteractiveTool
	switch {
	case st.answer == nil && waits:
		return &WaitingError{t.job.ID, s.Pending()}
	case st.answer == nil && s.Status == event.StatusCompleted:
		return inputError("job %s is completed; give a query to continue it", t.job.ID)
	case st.answer == nil:
		return nil
	case !waits:
		return inputError("job %s does not wait for an answer; leave out -i and the answer to resume it, or -i to continue it with a query", t.job.ID)
	}
	pending := s.Pending()
	i := 0
	if st.answer.ToolCallID != "" {
		i = slices.IndexFunc(pending, func(c event.ToolCall) bool { return c.ID == st.answer.ToolCallID })
	}
	if i < 0 {
		return inputError("no tool call %q waits for an answer in job %s; these do: %s", st.answer.ToolCallID, t.job.ID, callList(pending))
	}
	call := pending[i]
	st.answer = &event.ToolAnswer{ToolCallID: call.ID, ToolName: call.ToolName, SkillName: call.SkillName, Text: st.answer.Text}
	return nil
}

// branch goes on from a checkpoint of a delegate. Its parents, up to the coordinator, get
// new Runs that stand where the old ones waited for it; so it returns to its parent, and
// all that was recorded stays as it is.
func (t *tree) branch(st *start, path []Point) error {
	last := path[len(path)-1].State
	switch {
	case st.answer != nil:
		return inputError("checkpoint %s is one of the delegate %s, which cannot ask the user anything; leave out -i", last.CheckpointID, last.Expert.Key)
	case last.Status == event.StatusCompleted && st.query == "":
		return inputError("the delegate %s is completed at checkpoint %s; give a query to go on from there", last.Expert.Key, last.CheckpointID)
	}
	var below []event.DelegateRun
	for i := len(path) - 1; i > 0; i-- {
		s, parent := path[i].State, path[i-1].State.Expert.Key
		if !t.delegates(parent, s.Expert.Name) {
			return inputError("checkpoint %s belongs to the delegate %s, which %s cannot ask any more", last.CheckpointID, s.Expert.Key, parent)
		}
		child := event.DelegateRun{
			ToolCallID: s.DelegatedBy.ToolCallID, RunID: t.Source.NewID(), Expert: s.Expert, From: path[i].address(), Delegates: below,
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

// delegates reports whether an Expert can ask another, as they are defined now.
func (t *tree) delegates(key, name string) bool {
	if t.job.Lookup == nil {
		return false
	}
	e, ok := t.job.Expert, true
	if key != e.Key {
		e, ok = t.job.Lookup(key)
	}
	return ok && slices.ContainsFunc(e.Delegates, func(k string) bool {
		d, ok := t.job.Lookup(k)
		return ok && d.Name == name
	})
}

// A WaitingError says that a job cannot go on before a question is answered.
type WaitingError struct {
	JobID   string
	Pending []event.ToolCall
}

func (e *WaitingError) Error() string {
	return "job " + e.JobID + " waits for an answer to " + callList(e.Pending)
}

func callList(calls []event.ToolCall) string {
	var names []string
	for _, c := range calls {
		names = append(names, c.ToolName+" ("+c.ID+")")
	}
	return strings.Join(names, ", ")
}
