package event

import (
	"slices"
	"strings"
)

// This file is about what is said beside the work: by the model together with its
// calls, by the user in answer to a question, by the engine about calls that a crash
// cut off.

// remark shows the text that came with the calls of a turn. Beside a completion it is
// held back: if the completion is accepted, the text is the answer, and shown as such.
func (n *note) remark(b CallTools) {
	n.run.remark = strings.TrimSpace(b.NewMessage.Text())
	if !slices.ContainsFunc(b.ToolCalls, isCompletion) {
		n.say()
	}
}

// say shows a remark that was held back.
func (n *note) say() {
	if text := n.run.remark; text != "" {
		n.run.remark = ""
		n.addThought(Activity{Type: ActivityRemark, Text: text}, "remark-"+n.event.ID)
	}
}

func isCompletion(c ToolCall) bool {
	return strings.HasPrefix(c.SkillName, BaseSkill) && c.ToolName == CompletionTool
}

// isRefused reports whether a completion was not accepted, so that the Run goes on.
func (a Activity) isRefused() bool {
	return a.Type == ActivityAttemptCompletion && (a.Error != "" || len(a.RemainingTodos) > 0)
}

// answers shows what the user answered. A delegate's answer comes in the same way; it
// was shown when the delegate completed.
func (n *note) answers(b StartRun) {
	cp := b.InitialCheckpoint
	if cp != nil {
		n.run.returned(cp.PartialToolResults)
	}
	for _, r := range b.Answers {
		_, expected := n.run.delegates[r.ID]
		if expected || r.IsDelegates() || cp != nil && cp.Status == StatusStoppedByDelegate {
			n.run.delegateAnswered(r)
			continue
		}
		n.run.calls[r.ID] = &callView{shown: true} // the events that follow repeat the result
		n.add(Activity{Type: ActivityAnswer, SkillName: r.SkillName, ToolName: r.ToolName, Text: FirstText(r.Result)},
			"answer-"+r.ID)
	}
}

// settled shows the calls whose outcome is unknown and that a new query overtook: the
// model is told in a message before the query, and no other event speaks of them.
func (n *note) settled(b StartRun) {
	for _, m := range b.InputMessages {
		for _, p := range m.Contents {
			if p.Type != ToolResultPart {
				continue
			}
			a := toolActivity(ToolCall{ID: p.ToolCallID, ToolName: p.ToolName}, ToolResult{Result: p.Contents, IsError: p.IsError})
			if a.HasUnknownOutcome() {
				n.add(a, "action-"+p.ToolCallID)
			}
		}
	}
}

// recall makes the calls known that a resumed Run goes on with. Full output lists
// them. In lean output only a result says what was called: see meet.
func (v *runView) recall(b StartRun) {
	v.resumed = b.From != nil || resumes(b)
	cp := b.InitialCheckpoint
	if cp == nil || !v.resumed || cp.Status == StatusStoppedByDelegate {
		return
	}
	v.learn(cp.PendingToolCalls, lastCaller(cp.Messages), false)
}

// meet makes a call known by its result, in a Run that was resumed: the call itself
// stands in an earlier stretch, which this Timeline may not have seen.
func (v *runView) meet(r ToolResult) {
	if v.resumed && v.calls[r.ID] == nil {
		v.calls[r.ID] = &callView{ToolCall: ToolCall{ID: r.ID, SkillName: r.SkillName, ToolName: r.ToolName}}
	}
}
