package narrate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
)

// This file tells of one turn of a model: what it thought, said and called, what came of
// the calls, and the answer.

// think shows what the model thought, once for each generation, as soon as it is known.
func (b *batch) think(text string) {
	if strings.TrimSpace(text) != "" && !b.run.thought {
		b.run.thought = true
		b.add(Row{Kind: Reasoning, Label: "Reasoning", Began: b.run.generation, Body: []Text{{text, Quiet, Prose}}})
	}
}

// callTools adds a row for each call. Some providers count calls from the start in every
// turn, so an id that comes again is a new call.
func (b *batch) callTools(body event.CallTools) {
	b.think(body.NewMessage.Thinking())
	b.providerRan()
	b.run.remark = strings.TrimSpace(body.NewMessage.Text())
	if !slices.ContainsFunc(body.ToolCalls, isCompletion) {
		b.say()
	}
	for _, c := range body.ToolCalls {
		if c.Args == nil {
			c.Args = argsOf(body.NewMessage, c.ID)
		}
		r := Describe(c)
		r.Dir = within(b.narrator.workspace, r.Dir)
		b.update(b.learn(c), r)
	}
}

func (b *batch) learn(c event.ToolCall) *call {
	seen := &call{tool: c, row: Row{ID: fmt.Sprintf("%s-%d-%s", b.event.RunID, b.event.StepNumber, c.ID)}}
	b.run.calls[c.ID] = seen
	return seen
}

// argsOf returns the arguments of a call: the journal keeps them in the message only.
func argsOf(m *event.Message, callID string) []byte {
	if m == nil {
		return nil
	}
	for i := range m.Contents {
		if p := &m.Contents[i]; p.Type == event.ToolCallPart && p.ToolCallID == callID {
			return p.Args
		}
	}
	return nil
}

func isCompletion(c event.ToolCall) bool {
	return strings.HasPrefix(c.SkillName, event.BaseSkill) && c.ToolName == event.CompletionTool
}

// say shows the text that came with the calls of a turn. Beside a completion it waits
// until the completion was refused: if it is accepted, the text is the answer.
func (b *batch) say() {
	if text := b.run.remark; text != "" {
		b.run.remark = ""
		b.add(Row{Kind: Message, Label: "Message", Body: []Text{{Text: text, Show: Prose}}})
	}
}

// providerRan shows what the provider ran itself for the answer that the event brings. It
// is done when we hear of it, and no sandbox of ours was around it.
func (b *batch) providerRan() {
	for _, p := range b.event.ProviderCalls() {
		b.add(Row{Kind: Provider, Label: "Provider Ran", Summary: cmp.Or(p.ToolName, "a tool"), Args: p.ProviderData})
	}
}

// unfinished returns a call whose outcome was not shown yet, else nil. In a Run that was
// resumed the call may have been made before the first event that was seen.
func (b *batch) unfinished(callID string) *call {
	c := b.run.calls[callID]
	if c == nil && b.run.resumed {
		return b.learn(event.ToolCall{ID: callID})
	}
	if c == nil || c.shown {
		return nil
	}
	return c
}

// startTool says that a call is running.
func (b *batch) startTool(callID string) {
	c := b.unfinished(callID)
	if c == nil {
		return
	}
	c.started = true
	r := c.row
	if !c.added {
		r = Row{Kind: Tool, Label: "Tool"} // its result will name it
	}
	r.State, r.Began = Running, b.event.Timestamp
	b.update(c, r)
	if b.run.inFlight == nil {
		b.run.inFlight = make(map[string]*call)
	}
	b.run.inFlight[callID] = c
}

// note shows what a running call reports about itself.
func (b *batch) note(callID, message string) {
	if c := b.run.calls[callID]; c != nil && c.started && !c.shown {
		r := c.row
		r.Tail, r.Changed = message, true
		b.add(r)
	}
}

// result shows the outcome of a call, once. The arguments are not needed after that, and
// may be large.
func (b *batch) result(result event.ToolResult) {
	if c := b.run.calls[result.ID]; c != nil && c.row.Kind == Question && c.row.State == Waiting { // answered in place
		b.answer(result)
		return
	}
	c := b.unfinished(result.ID)
	if c == nil {
		return
	}
	if c.tool.ToolName == "" {
		c.tool.SkillName, c.tool.ToolName = result.SkillName, result.ToolName
	}
	r := toolRow(c.tool, result, b.narrator.workspace)
	r.Began = c.row.Began
	if b.narrator.local == nil && r.State == Failed && strings.HasPrefix(r.SkillName, event.BaseSkill) {
		// An engine in a container reports no hints, so those for the model are shown.
		for _, hint := range parse([]byte(event.FirstText(result.Result))).texts("hints") {
			r.Body = append(r.Body, Text{Text: "sandbox: " + hint})
		}
	}
	if isCompletion(c.tool) && r.State != Done {
		b.say()
	}
	b.update(c, r)
	c.shown, c.tool.Args, c.row = true, nil, Row{ID: c.row.ID}
}

// ask shows a question to the user.
func (b *batch) ask(body event.CallInteractiveTool) {
	id := body.ToolCallID
	if body.ToolCall != nil {
		if id = body.ToolCall.ID; b.run.calls[id] == nil {
			b.learn(*body.ToolCall)
		}
	}
	if c := b.run.calls[id]; c != nil && !c.shown {
		r := b.update(c, Row{Kind: Question, State: Waiting, Label: "Question", Summary: c.tool.ToolName, Args: c.tool.Args, SkillName: c.tool.SkillName, Body: question(c.tool.Args)})
		b.changes = append(b.changes, Ask{Row: r})
		c.shown = true
	}
}

// permission shows a call that waits for the user to allow it, and why.
func (b *batch) permission(body event.ApprovalRequested) {
	if body.ToolCall != nil && b.run.calls[body.ToolCallID] == nil {
		b.learn(*body.ToolCall)
	}
	if e := body.Effect; e.LeavesSandbox() { // the answer names the question by its digest alone
		if b.run.leaving == nil {
			b.run.leaving = make(map[string]string)
		}
		b.run.leaving[body.Digest] = "leave the sandbox for " + e.Host + e.Path
	}
	r := b.about(body.ToolCallID, body.Digest, "Permission")
	r.Kind, r.State, r.Body = Question, Waiting, []Text{{Text: cmp.Or(body.Why, body.Rule)}}
	if body.Effect.Kind == event.PlanEffect {
		r.Label, r.Body = "Plan", []Text{{Text: body.Effect.Plan, Show: Whole}}
	}
	b.addAsk(r, false)
}

// permitted shows what the user said about a call.
func (b *batch) permitted(body event.ApprovalAnswered) {
	label := "Denied"
	if body.Allow {
		label = "Allowed"
	}
	r := b.about(body.ToolCallID, body.Digest, label)
	r.Kind = Answer
	switch {
	case body.Reason != "":
		r.Body = []Text{{Text: body.Reason, Show: Prose}}
	case body.Scope != "" && body.Scope != event.ScopeOnce:
		r.Body = []Text{{Text: "for: " + body.Scope}}
	}
	b.addAsk(r, true)
}

// about returns a row that names what a question is about: leaving the sandbox, or a call.
func (b *batch) about(callID, digest, label string) Row {
	if what, ok := b.run.leaving[digest]; ok {
		return Row{Label: label, Summary: what}
	}
	c := b.run.find(callID)
	if c == nil {
		return Row{Label: label, Summary: callID}
	}
	r := toolRow(c.tool, event.ToolResult{}, b.narrator.workspace)
	return Row{Label: label + ": " + r.Label, Summary: r.Summary, Argv: r.Argv, Dir: r.Dir}
}

func (b *batch) retry(body event.Retry) {
	b.providerRan()
	text := body.Reason
	if m := parse([]byte(body.Reason)); m.text("error") != "" {
		text = strings.TrimSuffix(m.text("error")+": "+m.text("message"), ": ")
	}
	text = strings.TrimPrefix(text, event.ProviderFailure+": ") // the row says enough
	texts := []Text{{Text: text}}
	if body.DelayMS > 0 {
		texts = append(texts, Text{Text: "next attempt in " + span(float64(body.DelayMS)/1000)})
	}
	b.add(Row{Kind: Retry, State: Warning, Label: "Retry", Body: texts})
	b.run.thought = false // another generation follows
}

// completeRun shows the answer of a Run. What was said beside the completion is the answer,
// as a rule, and not shown again.
func (b *batch) completeRun(body event.CompleteRun) {
	if b.run.answered {
		return
	}
	b.run.answered = true
	b.think(body.NewMessage.Thinking())
	text := body.NewMessage.Text()
	if b.run.remark == strings.TrimSpace(text) {
		b.run.remark = ""
	}
	b.say()
	b.providerRan()
	show := Whole
	if b.run.depth > 0 {
		show = Prose // it is for the Expert that asked
	}
	b.add(Row{Kind: Result, Label: "Result", Body: []Text{{Text: text, Show: show}}})
}

func (b *batch) stopped(why string) {
	b.add(Row{Kind: Stopped, State: Warning, Label: "Stopped", Body: []Text{{Text: why, Show: Whole}}})
}
