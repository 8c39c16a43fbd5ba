package log

import (
	"slices"

	"github.com/perstack-go/perstack/event"
)

// results says which event brings which tool results. The journal has a record of its
// own for each; the events that people see come later, and one brings all results of
// its turn that no earlier one has brought. It must be told of every record, in order,
// in its lean form.
type results struct {
	asRecords bool             // show each result where its own record is
	turns     map[string]*turn // the current one of each Run
}

// A turn is the calls that a model made at once.
type turn struct {
	order   []string           // ids of the calls
	waiting []event.ToolResult // not brought yet
	known   map[string]bool    // calls that have a result
}

func newResults(o *Options) *results {
	return &results{asRecords: o.Records, turns: make(map[string]*turn)}
}

// of returns the results that e brings.
func (r *results) of(e event.Event) []event.ToolResult {
	switch b := e.Body.(type) {
	case event.StartRun:
		return append(r.settled(b), b.Answers...)
	case event.CallTools:
		t := &turn{known: make(map[string]bool)} // models may use an id again
		for _, c := range b.ToolCalls {
			t.order = append(t.order, c.ID)
		}
		r.turns[e.RunID] = t
	case event.EndToolCall:
		t := r.turn(e.RunID)
		t.known[b.ToolResult.ID] = true
		if r.asRecords {
			return []event.ToolResult{b.ToolResult}
		}
		t.waiting = append(t.waiting, b.ToolResult)
	default:
		if brings(e) {
			return r.turn(e.RunID).bring()
		}
	}
	return nil
}

// brings reports whether e closes a turn, so that it shows the results of the calls.
func brings(e event.Event) bool {
	switch e.Body.(type) {
	case event.ResolveToolResults, event.AttemptCompletion, event.ContinueToNextStep:
		return true
	}
	return e.IsTerminal()
}

func (r *results) turn(runID string) *turn {
	if r.turns[runID] == nil {
		r.turns[runID] = &turn{known: make(map[string]bool)}
	}
	return r.turns[runID]
}

// bring returns what is waiting, in the order of the calls.
func (t *turn) bring() []event.ToolResult {
	brought := t.waiting
	t.waiting = nil
	slices.SortStableFunc(brought, func(a, b event.ToolResult) int {
		return slices.Index(t.order, a.ID) - slices.Index(t.order, b.ID)
	})
	return brought
}

// settled returns the results that were made up for calls which a new query overtook:
// they stand in a message before it.
func (r *results) settled(b event.StartRun) []event.ToolResult {
	if b.From == nil {
		return nil
	}
	known := r.turn(b.From.RunID).known
	var settled []event.ToolResult
	for _, m := range b.InputMessages {
		for _, p := range m.Contents {
			if p.Type == event.ToolResultPart && !known[p.ToolCallID] {
				settled = append(settled, event.ToolResult{ID: p.ToolCallID, ToolName: p.ToolName, Result: p.Contents, IsError: p.IsError})
			}
		}
	}
	return settled
}

// anyFailed reports whether a tool failed.
func anyFailed(results []event.ToolResult) bool {
	return slices.ContainsFunc(results, func(r event.ToolResult) bool { return r.ErrorText() != "" })
}
