package engine

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
)

// expand returns e in full form, with the fields that the journal leaves out. before and
// after are the states around e.
func expand(before, after State, e event.Event) event.Event {
	switch b := e.Body.(type) {
	case event.StartRun:
		// The initial checkpoint has the status before the start, and already the answers
		// of the user and of delegates.
		initial := after
		initial.Status = before.Status
		if initial.Status == "" {
			initial.Status = event.StatusInit
		}
		initial.thread, initial.Instruction = before.thread, before.Instruction
		initial.Step.Calls = withAnswers(before.open(), b.Answers)
		b.InitialCheckpoint = initial.Checkpoint()
		e.Body = b
	case event.StartGeneration:
		b.Messages = after.Messages()
		e.Body = b
	case event.ResumeToolCalls:
		b.PendingToolCalls, b.PartialToolResults = after.Pending(), results(after.Step.Calls)
		e.Body = b
	case event.FinishAllToolCalls:
		b.NewMessages = []*event.Message{after.thread.Last()}
		e.Body = b
	case event.CallTools:
		b.ToolCalls = toolCalls(after.Step.Calls)
		e.Body = b
	case event.CallDelegate:
		b.NewMessage, b.Usage, b.Delegates = after.lastExpertMessage(), new(after.Step.Usage), nil
		e.Body = b
		e = withCalls(after, e)
	case event.CallInteractiveTool:
		b.NewMessage, b.Usage = after.lastExpertMessage(), new(after.Step.Usage)
		e.Body = b
		e = withCalls(after, e)
	case event.ResolveToolResults:
		b.ToolResults = results(after.Step.Calls)
		e.Body = b
	case event.AttemptCompletion:
		for _, c := range after.Step.Calls {
			if isCompletion(c.ToolCall) {
				b.ToolResult = c.Result
			}
		}
		e.Body = b
	case event.FinishToolCall:
		b.NewMessages = []*event.Message{after.thread.Last()}
		e.Body = b
	case event.ContinueToNextStep:
		done := before
		done.Step.FinishedAt = e.Timestamp
		b.Checkpoint, b.Step = done.Checkpoint(), done.step()
		b.NextCheckpoint = after.Checkpoint()
		e.Body = b
	case event.CompleteRun:
		b.Text, b.End = new(b.NewMessage.Text()), end(after)
		e.Body = b
	case event.StopRunByInteractiveTool:
		b.End = end(after)
		e.Body = b
	case event.StopRunByDelegate:
		b.End = end(after)
		e.Body = b
	case event.StopRunByExceededMaxSteps:
		b.End = end(after)
		e.Body = b
	case event.StopRunByError:
		b.End = end(after)
		e.Body = b
	case event.StopRunByLimit:
		b.End = end(after)
		e.Body = b
	case event.StopRunByInterrupt:
		b.End = end(after)
		e.Body = b
	case event.StopRunByApproval:
		b.End = end(after)
		e.Body = b
	case event.ApprovalRequested:
		e = withCalls(after, e)
	}
	return e
}

func end(s State) event.End {
	return event.End{Checkpoint: s.Checkpoint(), Step: s.step()}
}

// withCalls adds the calls to an event that asks the user or delegates. The journal has only
// their ids, and the listener may not have seen the calls: a resumed Run asks again in another
// process than the one in which the model made them.
func withCalls(after State, e event.Event) event.Event {
	switch b := e.Body.(type) {
	case event.CallDelegate:
		b.ToolCalls = []event.ToolCall{}
		for _, c := range after.Step.Calls {
			if c.Child != nil && c.Result == nil {
				b.ToolCalls = append(b.ToolCalls, c.ToolCall)
			}
		}
		e.Body = b
	case event.CallInteractiveTool:
		for _, c := range after.Step.Calls {
			if c.ID == b.ToolCallID {
				b.ToolCall = new(c.ToolCall)
			}
		}
		e.Body = b
	case event.ApprovalRequested:
		for _, c := range after.Step.Calls {
			if c.ID == b.ToolCallID {
				b.ToolCall = new(c.ToolCall)
			}
		}
		e.Body = b
	}
	return e
}

// Checkpoint returns s as a checkpoint in the form that other programs read.
func (s State) Checkpoint() *event.Checkpoint {
	cp := &event.Checkpoint{
		ID:          s.CheckpointID,
		JobID:       s.JobID,
		RunID:       s.RunID,
		Status:      s.Status,
		StepNumber:  s.StepNumber,
		Messages:    s.Messages(),
		Expert:      s.Expert,
		DelegatedBy: s.DelegatedBy,
		Usage:       s.Usage,
		Metadata:    s.metadata(),
		Error:       s.Failure,
		RetryCount:  s.RetryCount,
	}
	if s.ContextWindow > 0 {
		// The size of the last prompt and its answer. The accumulated usage would exceed
		// the window after a few steps.
		cp.ContextWindow = s.ContextWindow
		cp.ContextWindowUsage = new(float64(s.lastUsage.InputTokens+s.lastUsage.OutputTokens) / float64(s.ContextWindow))
	}
	if calls := s.open(); len(calls) > 0 {
		cp.PendingToolCalls, cp.PartialToolResults = s.Pending(), results(calls)
		if s.Status == event.StatusStoppedByDelegate {
			cp.DelegateTo, cp.PendingToolCalls = delegations(calls)
		}
	}
	return cp
}

// delegations returns the open calls of delegates, and the other open calls.
func delegations(calls []Call) (to []event.Delegation, others []event.ToolCall) {
	for _, c := range calls {
		switch {
		case c.Result != nil:
		case c.Child == nil:
			others = append(others, c.ToolCall)
		default:
			to = append(to, event.Delegation{Expert: c.Child.Expert, ToolCallID: c.ID, ToolName: c.ToolName, Query: query(c.Args)})
		}
	}
	return to, others
}

// metadata returns what a checkpoint has beyond the fields that all runtimes share.
func (s State) metadata() map[string]rawjson.Value {
	all := make(map[string]rawjson.Value)
	if s.Runtime != "" {
		all["runtime"] = mustEncode(s.Runtime)
	}
	if len(s.Memory) > 0 {
		all["skills"] = mustEncode(s.Memory)
	}
	return all
}

// mustEncode encodes a value made of strings and valid JSON, which cannot fail.
func mustEncode(v any) rawjson.Value {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("engine: " + err.Error())
	}
	return data
}

// step returns the current step in the form that other programs read.
func (s State) step() *event.Step {
	step := &event.Step{
		StepNumber:    s.StepNumber,
		InputMessages: append([]*event.Message{}, s.Step.Input...),
		NewMessages:   append([]*event.Message{}, s.Step.Messages...),
		ToolCalls:     toolCalls(s.Step.Calls),
		ToolResults:   results(s.Step.Calls),
		Usage:         s.Step.Usage,
		StartedAt:     s.Step.StartedAt,
		FinishedAt:    s.Step.FinishedAt,
	}
	if calls := s.open(); len(calls) > 0 {
		step.PendingToolCalls, step.PartialToolResults = s.Pending(), results(calls)
	}
	return step
}
