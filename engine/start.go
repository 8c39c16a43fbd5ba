package engine

import (
	"slices"

	"github.com/perstack-go/perstack/event"
)

const (
	// crashed is the reason recorded for a Run whose process ended without a word.
	crashed = "the process ended before it could save"
	// notRun is what the model is told about a call that a new query overtook.
	notRun = "Error: this call was not carried out, because the user went on with a new request."
	// notFinished is the same of a delegate that had begun.
	notFinished = "Error: this Expert had not finished when the user went on with a new request."
)

// begin makes the event that opens a stretch of the Run.
func (r *run) begin(st start) event.StartRun {
	e := r.expert
	body := event.StartRun{
		InputMessages:  []*event.Message{},
		CheckpointID:   r.Source.NewID(),
		Expert:         reference(e),
		Definition:     e.Digest(),
		DelegatedBy:    st.parent,
		ContextWindow:  r.job.ContextWindow,
		Provider:       r.job.Provider,
		Model:          r.job.ModelName,
		Workspace:      r.job.Workspace,
		Runtime:        r.job.Runtime,
		RuntimeVersion: r.job.Version,
		Walls:          r.job.Walls,
		MaxSteps:       r.job.Limits.MaxSteps,
		MaxTokens:      r.job.Limits.MaxTokens,
		MaxCost:        r.job.Limits.MaxCost,
		MaxDuration:    r.job.Limits.MaxDuration.Milliseconds(),
	}
	if st.from == nil {
		body.InputMessages = append(body.InputMessages, r.instruction(body), r.userMessage(st.query))
		return body
	}
	body.From = st.from.address()
	calls := st.from.State.open()
	if st.query != "" {
		body.InputMessages = r.asked(body, calls, st.query)
		return body
	}
	body.Delegates = st.children
	if st.continues() || len(st.children) > 0 {
		body.Answers = r.returned(calls, st)
	}
	// The instruction stays as it was, so that a provider's prompt cache still fits, unless
	// the Expert is another by now.
	if _, changed := changedDefinition(st, body); changed {
		body.InputMessages = append(body.InputMessages, r.instruction(body))
	}
	if a := st.answer; a != nil {
		call := event.ToolCall{ID: a.ToolCallID, ToolName: a.ToolName, SkillName: a.SkillName}
		body.Answers = append(body.Answers, r.textResult(call, a.Text))
	}
	return body
}

// changedDefinition reports that the Expert is not what the conversation was last run with.
func changedDefinition(st start, b event.StartRun) (event.DefinitionChanged, bool) {
	if st.from == nil {
		return event.DefinitionChanged{}, false
	}
	changed := event.DefinitionChanged{Expert: b.Expert.Key, Before: st.from.State.Definition, After: b.Definition}
	return changed, changed.Before != "" && changed.Before != changed.After
}

// asked puts a new query behind the conversation. The instruction is made anew, since its
// date and the Expert's definition may have changed; calls that are still open get an
// answer first, because providers refuse a conversation without one.
func (r *run) asked(body event.StartRun, calls []Call, query string) []*event.Message {
	messages := []*event.Message{r.instruction(body)}
	if calls = slices.Clone(withAnswers(calls, r.returned(calls, start{}))); len(calls) > 0 {
		for i, c := range calls {
			if c.Result != nil {
				continue
			}
			text := notRun
			switch {
			case c.Started:
				text = event.UnknownOutcome
			case c.Child != nil && r.hasBegun(c.Child.RunID):
				text = notFinished
			}
			result := r.errorResult(c.ToolCall, text)
			calls[i].Result = &result
		}
		messages = append(messages, toolMessage(r.toolMessageRef(calls), calls))
	}
	return append(messages, r.userMessage(query))
}

func (r *run) hasBegun(runID string) (begun bool) {
	r.look(func(h *History) { _, begun = h.runs[runID] })
	return begun
}
