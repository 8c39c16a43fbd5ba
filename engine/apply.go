package engine

import (
	"slices"

	"github.com/perstack-go/perstack/event"
)

// apply returns s after e. It is pure and total: the same state and event always give the
// same state, and an event that does not concern the state leaves it unchanged. It reads
// only the fields of e that the journal keeps, so an event from the journal and the same
// event from the loop have the same effect.
func (s State) apply(e event.Event) State {
	switch b := e.Body.(type) {
	case event.StartRun:
		return s.start(e, b)
	case event.StartGeneration:
		s.phase, s.Step = generatingToolCall, Step{StartedAt: e.Timestamp, Input: s.Step.Input, Messages: s.Step.Messages}
		s.spent.Steps++
	case event.ResumeToolCalls:
		s.phase = callingTool
		s.spent.Steps++
	case event.FinishAllToolCalls:
		s.spent.Steps++
		s = s.answer(b.ToolMessage)
		s.phase = finishingStep
	case event.CallTools:
		s.phase = callingTool
		s = s.say(b.NewMessage)
		s.Step.Calls = callsOf(b)
		s.RetryCount, s.Attempt, s.retryDelayMS = 0, 0, 0
		s.Turn++
	case event.ApprovalRequested:
		if b.Effect.LeavesSandbox() { // the call continues with the answer
			s.leaving = append(slices.Clip(s.leaving), b)
			break
		}
		// Only a call that can be repeated is asked about after it has started.
		s.Step.Calls = withCall(s.Step.Calls, b.ToolCallID, func(c *Call) {
			c.Approval, c.Answer, c.Started = &b, nil, false
		})
	case event.ApprovalAnswered:
		if i := s.leavingBy(b); i >= 0 {
			asked := s.leaving[i]
			s.leaving = slices.Delete(slices.Clone(s.leaving), i, i+1)
			switch {
			case !b.Allow:
				s.denials++
			case asked.Effect.Kind == event.PathEffect:
				s.opened = append(slices.Clip(s.opened), asked)
			}
			break
		}
		s.Step.Calls = withCall(s.Step.Calls, b.ToolCallID, func(c *Call) {
			if c.waits() && c.Approval.Digest == b.Digest { // the first answer counts, and only to what was asked
				c.Answer = &b
			}
		})
	case event.PlanAccepted:
		s.plan = planIsAccepted
	case event.StartToolCall:
		s.Step.Calls = withCall(s.Step.Calls, b.ToolCallID, func(c *Call) { c.Started = true })
	case event.EndToolCall:
		result := b.ToolResult
		s.Step.Calls = withCall(s.Step.Calls, result.ID, func(c *Call) { c.Result = &result })
		s.Memory = withMemory(s.Memory, result.SkillName, b.Memory)
		if s.phase == callingInteractiveTool { // the user has answered
			s.phase = callingTool
		}
		if b.Denied {
			s.denials++
		}
	case event.ResolveToolResults:
		s.phase = resolvingToolResult
	case event.FinishToolCall:
		s = s.answer(b.ToolMessage)
		s.phase = finishingStep
	case event.AttemptCompletion:
		s.phase = generatingRunResult
	case event.CallDelegate:
		s.phase = callingDelegate
		s.Step.Calls = withChildren(s.Step.Calls, b.Delegates)
	case event.CallInteractiveTool:
		s.phase = callingInteractiveTool
	case event.Retry:
		s.RetryCount++
		s.Attempt++
		s.retryDelayMS = b.DelayMS
		s = s.say(b.NewMessages...)
		if !b.Transport {
			s.phase, s.Attempt = finishingStep, 0
			s.Step.Calls, s.Step.Answered = retryCalls(b), true
			s.Turn++
		}
	case event.LimitWarning:
		s.warned = append(slices.Clip(s.warned), b.Limit)
		if b.NewMessage != nil {
			s = s.say(b.NewMessage)
		}
	case event.RuntimeNote:
		s = s.say(b.NewMessage)
	case event.ContinueToNextStep:
		s.phase, s.CheckpointID = preparingForStep, b.NextCheckpointID
		s.Step = Step{StartedAt: e.Timestamp}
		s.StepNumber++
	case event.CompleteRun:
		if b.ToolMessage != nil {
			s = s.answer(b.ToolMessage)
		}
		s = s.say(b.NewMessage)
		s.RetryCount, s.Attempt, s.retryDelayMS = 0, 0, 0
		if s.phase != callingTool { // there the answer and the calls came from one generation
			s.Turn++
		}
	case event.StopRunByError:
		s.Failure = new(b.Error)
	case event.StopRunByLimit:
		s.StopReason = b.Limit
	case event.StopRunByInterrupt:
		s.StopReason = b.Reason
	}
	s = s.spend(e.Usage()) // after the messages that it has counted
	if status, ok := e.EndStatus(); ok {
		s.phase, s.Status = stopped, status
		s.Step.FinishedAt = e.Timestamp
	}
	return s
}

// start starts or resumes a Run. s is the zero State for a new conversation, and otherwise
// the state at the checkpoint that the Run starts from.
func (s State) start(e event.Event, b event.StartRun) State {
	if s.RunID != e.RunID { // a new Run takes over the conversation, but not the delegates
		// Nor does it take over what the user said about a call: an answer is for one call of one Run.
		s.Step.Calls = changed(s.Step.Calls, func(c *Call) { c.Child, c.Approval, c.Answer = nil, nil, nil })
		s.spent, s.warned, s.repeated, s.denials, s.opened = expense{}, nil, repetition{}, 0, nil
	}
	switch s.Status { // waiting for delegates or for the user does not reset these counts
	case event.StatusStoppedByDelegate:
	case event.StatusStoppedByApproval:
		s.repeated = repetition{}
	default:
		s.repeated, s.denials = repetition{}, 0
	}
	s.phase, s.Status = preparingForStep, event.StatusProceeding
	s.JobID, s.RunID, s.CheckpointID, s.StepNumber = e.JobID, e.RunID, b.CheckpointID, e.StepNumber
	s.Expert, s.Definition, s.DelegatedBy = b.Expert, b.Definition, b.DelegatedBy
	s.Provider, s.Model = b.Provider, b.Model
	s.Runtime, s.ContextWindow = b.Runtime, b.ContextWindow
	if len(b.Spec) > 0 {
		s.Spec = b.Spec
	}
	if b.Plan {
		s.plan = planIsOpen
	}
	s.leaving = nil // the programs that waited have ended
	// How the Run stopped before has no meaning after it resumes.
	s.Failure, s.StopReason = nil, ""
	s.RetryCount, s.Attempt, s.retryDelayMS = 0, 0, 0
	// Open calls stay open, unless new input answers them.
	s.Step = Step{StartedAt: e.Timestamp, Input: b.InputMessages, Calls: s.open()}
	for _, m := range b.InputMessages {
		if m == nil { // possible in a damaged journal
			continue
		}
		s.unmeasured += partsSize(m.Contents)
		if m.Type == event.InstructionMessage {
			s.Instruction = m
			continue
		}
		if m.Type == event.UserMessage {
			s.Task = m.Text()
		}
		s.thread = s.thread.Append(m)
		s.Step.Calls = nil
	}
	s.Step.Calls = withChildren(withAnswers(s.Step.Calls, b.Answers), b.Delegates)
	return s
}

// say adds messages of the current step to the conversation.
func (s State) say(messages ...*event.Message) State {
	for _, m := range messages {
		if m == nil { // possible in a damaged journal
			continue
		}
		s.thread = s.thread.Append(m)
		s.Step.Messages = append(slices.Clip(s.Step.Messages), m)
		s.unmeasured += partsSize(m.Contents)
	}
	return s
}

// answer adds the tool message with the step's results to the conversation.
func (s State) answer(ref *event.ToolMessageRef) State {
	s = s.say(toolMessage(ref, s.Step.Calls))
	s.Step.Answered = true
	s.repeated = s.repeated.after(s.Step.Calls)
	return s
}

func (s State) spend(u event.Usage) State {
	s.Usage, s.Step.Usage, s.spent.Usage = s.Usage.Add(u), s.Step.Usage.Add(u), s.spent.Usage.Add(u)
	if u.TotalTokens > 0 || u.InputTokens > 0 {
		s.lastUsage, s.unmeasured = event.Usage{}.Add(u), 0
	}
	return s
}
