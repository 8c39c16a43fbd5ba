package event

import "strings"

// A note collects the activities of one event.
type note struct {
	event Event
	run   *runView
	out   []Activity
}

// add fills in what all activities have, and links a to the one before.
func (n *note) add(a Activity, id string) {
	a.ID, a.ExpertKey, a.RunID = id, n.event.ExpertKey, n.event.RunID
	a.PreviousActivityID, a.DelegatedBy = n.run.last, n.run.delegatedBy
	n.run.last = id
	n.out = append(n.out, a)
}

// addThought is add for an activity that shows what the model thought before it.
func (n *note) addThought(a Activity, id string) {
	a.Reasoning, n.run.reasoning = n.run.reasoning, ""
	n.add(a, id)
}

func (n *note) startRun(b StartRun) {
	run := n.run
	if parent := b.parent(); parent != nil {
		run.delegatedBy = &ActivityParent{ExpertKey: parent.Expert.Key, RunID: parent.RunID}
	}
	run.waiting = false
	run.recall(b)
	n.answers(b)
	n.settled(b)
	// A Run that resumes answers a call. Another Run may go on from the same
	// checkpoint with a question of its own.
	if run.asked || resumes(b) && (b.From == nil || b.From.RunID == n.event.RunID) {
		return
	}
	for _, m := range b.InputMessages {
		if m.Type == UserMessage {
			if text := m.Text(); text != "" {
				run.asked = true
				n.add(Activity{Type: ActivityQuery, Text: text}, "query-"+n.event.RunID)
			}
			return
		}
	}
}

// learn remembers calls, and their arguments, which the journal keeps in the message
// only. An id that comes again in a new turn is a new call: some providers count from
// the start in every turn.
func (v *runView) learn(calls []ToolCall, m *Message, newTurn bool) {
	for _, c := range calls {
		if !newTurn && v.calls[c.ID] != nil {
			continue
		}
		if c.Args == nil {
			c.Args = m.callArgs(c.ID)
		}
		v.calls[c.ID] = &callView{ToolCall: c}
	}
}

// take returns a call that is known and was not shown before. The caller shows it; its
// arguments are not needed after that, and may be large.
func (v *runView) take(id string) (ToolCall, bool) {
	seen := v.calls[id]
	if seen == nil || seen.shown {
		return ToolCall{}, false
	}
	call := seen.ToolCall
	*seen = callView{shown: true}
	return call, true
}

// think keeps the reasoning of a message until it is shown. It is what was streamed
// before, if anything was.
func (v *runView) think(m *Message) {
	if text := m.Thinking(); text != "" {
		v.reasoning = text
	}
}

func (n *note) results(results []ToolResult) {
	for _, r := range results {
		n.result(r)
	}
}

// result shows the outcome of a call that is known and was not shown before.
func (n *note) result(r ToolResult) {
	if call, ok := n.run.take(r.ID); ok {
		a := toolActivity(call, r)
		if a.isRefused() {
			n.say()
		}
		n.addThought(a, "action-"+r.ID)
	}
}

// end shows the results that only the event at the end of a step carries: those of
// a turn that also called delegates or the user, and of a completion with text.
func (n *note) end(end End) {
	if end.Step != nil {
		n.results(end.Step.ToolResults)
		n.results(end.Step.PartialToolResults)
	}
	if end.Checkpoint != nil {
		n.results(end.Checkpoint.PartialToolResults)
	}
}

// interactive shows a question to the user. In full output the results of the turn's other
// calls come with the event that follows at once, so it is held until then.
func (n *note) interactive(b CallInteractiveTool) {
	if b.ToolCall != nil {
		n.run.learn([]ToolCall{*b.ToolCall}, b.NewMessage, false)
		b.ToolCallID = b.ToolCall.ID
	}
	if call, ok := n.run.take(b.ToolCallID); ok {
		n.run.question = &call
	}
	if b.NewMessage == nil {
		n.ask()
	}
}

// ask shows the question that was held.
func (n *note) ask() {
	if call := n.run.question; call != nil {
		n.run.question = nil
		n.addThought(interactiveActivity(*call), "interactive-"+call.ID)
	}
}

func (n *note) retry(reason string) {
	n.addThought(Activity{Type: ActivityRetry, Error: reason, Message: parseMembers([]byte(reason)).text("message")},
		"retry-"+n.event.ID)
}

func (n *note) completeRun(b CompleteRun) {
	n.end(b.End)
	if n.run.answered {
		return
	}
	n.run.answered = true
	answer := b.NewMessage
	if answer == nil && b.Step != nil {
		answer = lastExpertMessage(b.Step.NewMessages)
	}
	n.run.think(answer)
	text := answer.Text()
	if b.Text != nil {
		text = *b.Text
	}
	if n.run.remark == strings.TrimSpace(text) {
		n.run.remark = "" // it was the answer
	}
	n.say()
	n.providerRan()
	n.addThought(Activity{Type: ActivityComplete, Text: text}, "completion-"+n.event.RunID)
}

func (n *note) stopped(reason, message string) {
	n.add(Activity{Type: ActivityStopped, Reason: reason, Message: message}, "stopped-"+n.event.ID)
}

func interactiveActivity(c ToolCall) Activity {
	return Activity{Type: ActivityInteractiveTool, SkillName: c.SkillName, ToolName: c.ToolName, Args: orEmptyObject(c.Args)}
}

func errorActivity(f Failure) Activity {
	retryable := f.IsRetryable
	return Activity{Type: ActivityError, Error: f.Message, ErrorName: f.Name, IsRetryable: &retryable}
}
