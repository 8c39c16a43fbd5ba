package engine

import (
	"slices"

	"github.com/perstack-go/perstack/event"
)

// A start says how a Run starts or resumes.
type start struct {
	runID    string
	from     *Point              // the checkpoint to start from; nil for a new conversation
	step     int                 // number of the first step
	query    string              // of the user or the delegating Expert; empty to resume
	attached []event.Attachment  // files that go with the query of the user
	answer   *event.ToolAnswer   // to a question that waits
	parent   *event.Parent       // the Run that delegated; nil for the coordinator
	children []event.DelegateRun // on a new branch: the Runs for open calls of delegates
	plans    bool                // without a checkpoint: the job only planned, and all its Runs were taken back

	// acceptUnfinished takes delegates that were stopped from outside for failed, instead of
	// leaving their calls open for a later resume.
	acceptUnfinished bool
}

const (
	// callSkipped is the model's result for a call that was not carried out before a new query.
	callSkipped = "Error: this call was not carried out, because the user sent a new request."
	// delegateSkipped is the same for a delegate that had started.
	delegateSkipped = "Error: this Expert had not finished when the user sent a new request."
)

// startRun makes the event with which the Run starts or resumes.
func (r *run) startRun(st start) event.StartRun {
	body := event.StartRun{
		InputMessages: []*event.Message{},
		CheckpointID:  r.newID(),
		Expert:        reference(r.expert),
		Definition:    r.expert.Digest(),
		DelegatedBy:   st.parent,
		ContextWindow: r.known().ContextWindow,
		Provider:      r.model.Provider,
		Model:         r.model.Model,
		Runtime:       r.spec.Runtime,
		Plan:          r.onlyPlans(st),
	}
	if r.parent == nil {
		body.TrustedHistory = r.spec.Input.TrustHistory && r.exec.specText != nil
		body.Spec, r.exec.specText = r.exec.specText, nil
	}
	if st.from == nil {
		body.InputMessages = append(body.InputMessages, r.instruction(body), r.queryMessage(st))
		body.Attachments = st.attached
		return body
	}
	body.From = st.from.address()
	calls := st.from.State.open()
	if st.query != "" {
		body.InputMessages = append(r.beforeQuery(body, calls), r.queryMessage(st))
		body.Attachments = st.attached
		return body
	}
	body.Delegates = st.children
	// A new Run takes over the conversation, but the delegates only on a branch.
	if st.from.State.RunID == st.runID || len(st.children) > 0 {
		body.Answers = r.delegateResults(calls, st)
	}
	// The instruction is kept, so that the provider's prompt cache still applies, unless the
	// Expert's definition has changed.
	if _, changed := definitionChanged(st, body); changed {
		body.InputMessages = append(body.InputMessages, r.instruction(body))
	}
	if a := st.answer; a != nil {
		call := event.ToolCall{ID: a.ToolCallID, ToolName: a.ToolName, SkillName: a.SkillName}
		body.Answers = append(body.Answers, r.textResult(call, a.Text))
	}
	return body
}

// definitionChanged reports whether the Expert was defined differently when the conversation
// was last active.
func definitionChanged(st start, b event.StartRun) (event.DefinitionChanged, bool) {
	if st.from == nil {
		return event.DefinitionChanged{}, false
	}
	changed := event.DefinitionChanged{Expert: b.Expert.Key, Before: st.from.State.Definition, After: b.Definition}
	return changed, changed.Before != "" && changed.Before != changed.After
}

// queryMessage returns the query with the files that the user attached to it. The query comes first:
// it is what the message is shown as.
func (r *run) queryMessage(st start) *event.Message {
	m := r.userMessage(st.query)
	for i, a := range st.attached {
		for _, p := range a.Parts(i+1, r.parts.Attachments[a.Digest]) {
			p.ID, p.Text = r.newID(), validText(p.Text)
			m.Contents = append(m.Contents, p)
		}
	}
	return m
}

// beforeQuery returns the messages that come before a new query in a conversation. The
// instruction is written again, since its date and the Expert's definition can have changed.
// Open calls get a result first, because providers reject a conversation without it.
func (r *run) beforeQuery(body event.StartRun, calls []Call) []*event.Message {
	messages := []*event.Message{r.instruction(body)}
	if calls = slices.Clone(withAnswers(calls, r.delegateResults(calls, start{}))); len(calls) > 0 {
		for i, c := range calls {
			if c.Result != nil {
				continue
			}
			text := callSkipped
			if c.Started {
				text = event.UnknownOutcome
			} else if c.Child != nil {
				if _, started := r.recorder.state(c.Child.RunID); started {
					text = delegateSkipped
				}
			}
			calls[i].Result = new(r.errorResult(c.ToolCall, text))
		}
		messages = append(messages, toolMessage(r.toolMessageRef(calls), calls))
	}
	return messages
}

// numberStep numbers the first step of a start. Steps count along the path of the job, so a
// Run that waited for delegates continues after the last of their steps.
func (r *run) numberStep(st start, b event.StartRun) {
	r.state.StepNumber = st.step
	if st.from == nil {
		return
	}
	answered := make(map[string]bool, len(b.Answers))
	for _, a := range b.Answers {
		answered[a.ID] = true
	}
	for _, c := range delegatedCalls(st.from.State.open()) {
		if s, ok := r.delegateState(c); ok && answered[c.ID] {
			r.state.StepNumber = max(r.state.StepNumber, s.StepNumber+1)
		}
	}
}

// initializeRuntime makes the event that announces a Run before its skills start.
func (r *run) initializeRuntime(st start) event.InitializeRuntime {
	return event.InitializeRuntime{
		RuntimeVersion:      r.spec.Version,
		Runtime:             r.spec.Runtime,
		ExpertName:          r.expert.Name,
		Experts:             append([]string{}, r.spec.Project...),
		Model:               r.model.Model,
		MaxSteps:            r.spec.Limits.MaxSteps,
		MaxRetries:          r.spec.Limits.Retries(),
		Timeout:             r.spec.Limits.GenerationTimeout().Milliseconds(),
		Query:               st.query,
		InteractiveToolCall: st.answer,
	}
}
