package engine

import "github.com/perstack-go/perstack/event"

// expand returns e in its full form, with the fields that the journal leaves out.
// before and after are the states around e.
func expand(before, after State, e event.Event) event.Event {
	switch b := e.Body.(type) {
	case event.StartRun:
		// The initial checkpoint still has the status that the conversation was
		// left with, and the answers that came from outside.
		initial := after
		initial.Status = before.Status
		if initial.Status == "" {
			initial.Status = event.StatusInit
		}
		initial.Thread, initial.Instruction = before.Thread, before.Instruction
		initial.Step.Calls = before.open()
		for _, answer := range b.Answers {
			initial.Step.Calls = withCall(initial.Step.Calls, answer.ID, func(c *Call) { c.Result = &answer })
		}
		b.InitialCheckpoint = initial.Checkpoint()
		e.Body = b
	case event.StartGeneration:
		b.Messages = after.Messages()
		e.Body = b
	case event.ResumeToolCalls:
		b.PendingToolCalls, b.PartialToolResults = after.Pending(), results(after.Step.Calls)
		e.Body = b
	case event.FinishAllToolCalls:
		b.NewMessages = []*event.Message{after.Thread.Last()}
		e.Body = b
	case event.CallTools:
		b.ToolCalls = toolCalls(after.Step.Calls)
		e.Body = b
	case event.CallInteractiveTool:
		usage := after.Step.Usage
		b.NewMessage, b.Usage = after.lastExpertMessage(), &usage
		e.Body = b
		e = withQuestion(after, e)
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
		b.NewMessages = []*event.Message{after.Thread.Last()}
		e.Body = b
	case event.ContinueToNextStep:
		done := before
		done.Step.FinishedAt = e.Timestamp
		b.Checkpoint, b.Step = done.Checkpoint(), done.stepView()
		b.NextCheckpoint = after.Checkpoint()
		e.Body = b
	case event.CompleteRun:
		text := b.NewMessage.Text()
		b.Text, b.End = &text, end(after)
		e.Body = b
	case event.StopRunByInteractiveTool:
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
	}
	return e
}

func end(s State) event.End {
	return event.End{Checkpoint: s.Checkpoint(), Step: s.stepView()}
}

// withQuestion adds the call to an event that asks the user. The journal has its id only,
// and whoever listens may not have seen it: when one of several questions was answered,
// the next is asked by another process than the one that the model called it in.
func withQuestion(after State, e event.Event) event.Event {
	b, ok := e.Body.(event.CallInteractiveTool)
	if !ok {
		return e
	}
	for _, c := range after.Step.Calls {
		if c.ID == b.ToolCallID {
			call := c.ToolCall
			b.ToolCall = &call
		}
	}
	e.Body = b
	return e
}
