package log

import "github.com/perstack-go/perstack/event"

// results remembers, by Run, the calls of the current turn whose results have been
// shown. A turn that also asks the user or a delegate has no event that lists its
// results; they come with the one that ends the step, beside others.
type results map[string]map[string]bool

// of returns the results that e is the first to bring. It must see every event.
func (r results) of(e event.Event) []event.ToolResult {
	switch b := e.Body.(type) {
	case event.StartRun:
		// What was answered before this stretch is not news, even in a new Run.
		var earlier []event.ToolResult
		if b.InitialCheckpoint != nil {
			earlier = b.InitialCheckpoint.PartialToolResults
		}
		r[e.RunID] = make(map[string]bool)
		fresh := r.fresh(e.RunID, b.Answers)
		r.fresh(e.RunID, earlier)
		return fresh
	case event.CallTools:
		delete(r, e.RunID) // models may use an id again
	case event.ResolveToolResults:
		return r.fresh(e.RunID, b.ToolResults)
	case event.AttemptCompletion:
		if b.ToolResult != nil {
			return r.fresh(e.RunID, []event.ToolResult{*b.ToolResult})
		}
	default:
		if end, ok := endOf(b); ok && end.Step != nil {
			return r.fresh(e.RunID, end.Step.ToolResults)
		}
	}
	return nil
}

func (r results) fresh(runID string, all []event.ToolResult) []event.ToolResult {
	if r[runID] == nil {
		r[runID] = make(map[string]bool)
	}
	var fresh []event.ToolResult
	for _, result := range all {
		if !r[runID][result.ID] {
			r[runID][result.ID] = true
			fresh = append(fresh, result)
		}
	}
	return fresh
}

// endOf returns what the events at the end of a step have in common.
func endOf(body event.Body) (event.End, bool) {
	switch b := body.(type) {
	case event.ContinueToNextStep:
		return b.End, true
	case event.CompleteRun:
		return b.End, true
	case event.StopRunByInteractiveTool:
		return b.End, true
	case event.StopRunByDelegate:
		return b.End, true
	case event.StopRunByExceededMaxSteps:
		return b.End, true
	case event.StopRunByError:
		return b.End, true
	case event.StopRunByLimit:
		return b.End, true
	case event.StopRunByInterrupt:
		return b.End, true
	}
	return event.End{}, false
}
