package engine

import (
	"slices"

	"github.com/perstack-go/perstack/event"
)

// apply returns s after e. It is pure and total: the same state and event give the
// same state, and an event that does not concern the state leaves it as it is. Only
// the lean fields of e are read, so it makes no difference whether e came from the
// journal or from the loop.
func (s State) apply(e event.Event) State {
	switch b := e.Body.(type) {
	case event.StartRun:
		return s.start(e, b)
	case event.StartGeneration:
		s.Phase, s.Step = GeneratingToolCall, Step{StartedAt: e.Timestamp, Input: s.Step.Input, Messages: s.Step.Messages}
		s.Spent.Steps++
	case event.ResumeToolCalls:
		s.Phase = CallingTool
		s.Spent.Steps++
	case event.FinishAllToolCalls:
		s.Spent.Steps++
		s = s.answer(b.ToolMessage)
		s.Phase = FinishingStep
	case event.CallTools:
		s.Phase = CallingTool
		s = s.say(b.NewMessage).spend(b.Usage)
		s.Step.Calls = callsOf(b)
		s.RetryCount, s.Attempt, s.RetryDelayMS = 0, 0, 0
		s.Turn++
	case event.StartToolCall:
		s.Step.Calls = withCall(s.Step.Calls, b.ToolCallID, func(c *Call) { c.Started = true })
	case event.EndToolCall:
		result := b.ToolResult
		s.Step.Calls = withCall(s.Step.Calls, result.ID, func(c *Call) { c.Result = &result })
		s.Memory = withMemory(s.Memory, result.SkillName, b.Memory)
	case event.ResolveToolResults:
		s.Phase = ResolvingToolResult
	case event.FinishToolCall:
		s = s.answer(b.ToolMessage)
		s.Phase = FinishingStep
	case event.AttemptCompletion:
		s.Phase = GeneratingRunResult
	case event.CallDelegate:
		s.Phase = CallingDelegate
		s.Step.Calls = withChildren(s.Step.Calls, b.Delegates)
	case event.CallInteractiveTool:
		s.Phase = CallingInteractiveTool
	case event.Retry:
		s.RetryCount++
		s.Attempt++
		s.RetryDelayMS = b.DelayMS
		s = s.say(b.NewMessages...).spend(b.Usage)
		if !b.Transport {
			s.Phase, s.Attempt = FinishingStep, 0
			s.Step.Calls, s.Step.Answered = answeredCalls(b), true
			s.Turn++
		}
	case event.LimitWarning:
		s.Warned = append(slices.Clip(s.Warned), b.Limit)
		if b.NewMessage != nil {
			s = s.say(b.NewMessage)
		}
	case event.ContinueToNextStep:
		s.Phase, s.CheckpointID = PreparingForStep, b.NextCheckpointID
		s.Step = Step{StartedAt: e.Timestamp}
		s.StepNumber++
	case event.CompleteRun:
		if b.ToolMessage != nil {
			s = s.answer(b.ToolMessage)
		}
		s = s.say(b.NewMessage).spend(b.Usage)
		s.RetryCount, s.Attempt, s.RetryDelayMS = 0, 0, 0
		if s.Phase != CallingTool { // there the answer came with the calls, from one generation
			s.Turn++
		}
	case event.StopRunByError:
		s = s.spend(b.Usage)
		failure := b.Error
		s.Failure = &failure
	case event.StopRunByExceededMaxSteps:
		s = s.spend(b.Usage)
	case event.StopRunByLimit:
		s = s.spend(b.Usage)
		s.StopReason = b.Limit
	case event.StopRunByInterrupt:
		s = s.spend(b.Usage)
		s.StopReason = b.Reason
	}
	if status, ok := e.EndStatus(); ok {
		s.Phase, s.Status = Stopped, status
		s.Step.FinishedAt = e.Timestamp
	}
	return s
}

// start opens a Run on s, which is the zero State for a new conversation and the
// state at the origin otherwise.
func (s State) start(e event.Event, b event.StartRun) State {
	if s.RunID != e.RunID { // another Run takes over the conversation, not who worked for the old one
		s.Step.Calls, s.Spent, s.Warned, s.Repeated = withoutChildren(s.Step.Calls), Spent{}, nil, repetition{}
	}
	if s.Status != event.StatusStoppedByDelegate { // coming back from delegates is no new chance
		s.Repeated = repetition{}
	}
	s.Phase, s.Status = PreparingForStep, event.StatusProceeding
	s.JobID, s.RunID, s.CheckpointID, s.StepNumber = e.JobID, e.RunID, b.CheckpointID, e.StepNumber
	s.Expert, s.Definition, s.DelegatedBy = b.Expert, b.Definition, b.DelegatedBy
	s.Provider, s.Model = b.Provider, b.Model
	s.Runtime, s.Walls, s.Workspace, s.ContextWindow = b.Runtime, b.Walls, b.Workspace, b.ContextWindow
	// What ended the previous stretch must not be carried into this one.
	s.Failure, s.StopReason = nil, ""
	s.RetryCount, s.Attempt, s.RetryDelayMS = 0, 0, 0
	// Calls that are still open go on, unless new input answers them.
	s.Step = Step{StartedAt: e.Timestamp, Input: b.InputMessages, Calls: s.open()}
	for _, m := range b.InputMessages {
		if m == nil { // a damaged journal may say so
			continue
		}
		s.Unmeasured += size(m)
		if m.Type == event.InstructionMessage {
			s.Instruction = m
			continue
		}
		if m.Type == event.UserMessage {
			s.Task = m.Text()
		}
		s.Thread = s.Thread.Append(m)
		s.Step.Calls = nil
	}
	s.Step.Calls = withChildren(withAnswers(s.Step.Calls, b.Answers), b.Delegates)
	return s
}

// say adds messages of the current step to the conversation.
func (s State) say(messages ...*event.Message) State {
	for _, m := range messages {
		if m == nil { // a damaged journal may say so
			continue
		}
		s.Thread = s.Thread.Append(m)
		s.Step.Messages = append(slices.Clip(s.Step.Messages), m)
		s.Unmeasured += size(m)
	}
	return s
}

// answer adds the tool message that ref stands for, made of the step's results.
func (s State) answer(ref *event.ToolMessageRef) State {
	s = s.say(toolMessage(ref, s.Step.Calls))
	s.Step.Answered = true
	s.Repeated = s.Repeated.after(s.Step.Calls)
	return s
}

func (s State) spend(u event.Usage) State {
	s.Usage, s.Step.Usage, s.Spent.Usage = s.Usage.Add(u), s.Step.Usage.Add(u), s.Spent.Usage.Add(u)
	if u.TotalTokens > 0 || u.InputTokens > 0 {
		s.LastUsage, s.Unmeasured = event.Usage{}.Add(u), 0
	}
	return s
}

// toolMessage builds a tool message from recorded results, in call order.
func toolMessage(ref *event.ToolMessageRef, calls []Call) *event.Message {
	if ref == nil {
		ref = &event.ToolMessageRef{}
	}
	m := &event.Message{ID: ref.ID, Type: event.ToolMessage, Contents: []event.Part{}}
	for _, c := range calls {
		if c.Result == nil {
			continue
		}
		part := event.Part{
			Type:       event.ToolResultPart,
			ToolCallID: c.ID,
			ToolName:   c.ToolName,
			Contents:   c.Result.Result,
			IsError:    c.Result.IsError,
		}
		if i := len(m.Contents); i < len(ref.PartIDs) {
			part.ID = ref.PartIDs[i]
		}
		m.Contents = append(m.Contents, part)
	}
	return m
}
