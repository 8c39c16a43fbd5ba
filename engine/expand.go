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
		initial.Step.Calls = withAnswers(initial.Step.Calls, b.Answers)
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
	case event.CallDelegate:
		usage := after.Step.Usage
		b.NewMessage, b.Usage, b.Delegates = after.lastExpertMessage(), &usage, nil
		e = withCalls(after, withBody(e, b))
	case event.CallInteractiveTool:
		usage := after.Step.Usage
		b.NewMessage, b.Usage = after.lastExpertMessage(), &usage
		e = withCalls(after, withBody(e, b))
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
	}
	return e
}

func end(s State) event.End {
	return event.End{Checkpoint: s.Checkpoint(), Step: s.stepView()}
}

func withBody(e event.Event, b event.Body) event.Event {
	e.Body = b
	return e
}

// withCalls adds the calls to an event that asks the user or other Experts. The journal has
// their ids only, and whoever listens may not have seen them: a Run that is resumed asks
// again in another process than the one that the model called them in.
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
				call := c.ToolCall
				b.ToolCall = &call
			}
		}
		e.Body = b
	}
	return e
}
