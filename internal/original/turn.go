package original

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
)

// start records that the Run starts, or resumes from another checkpoint, with the part of the
// messages that was its input. It returns the others.
func (t *turn) start(base *point, fresh []*event.Message) ([]*event.Message, error) {
	input, rest := splitInput(fresh)
	b := event.StartRun{
		InputMessages: input, CheckpointID: t.head.ID, Expert: t.cp.Expert, DelegatedBy: t.parent(),
		ContextWindow: max(t.cp.ContextWindow, 0), Runtime: t.runtime(),
	}
	if b.InputMessages == nil {
		b.InputMessages = []*event.Message{}
	}
	s := t.converter.index.models[t.head.RunID]
	b.Model, b.Provider = s.Model, s.provider
	at := t.began
	if !t.converter.imported {
		t.converter.imported, b.Imported = true, new(t.converter.opts.Import)
		if began := t.converter.index.startedAt; began > 0 && began < at {
			at = began
		}
	}
	if base != nil {
		b.From = &event.Origin{RunID: base.run.id, CheckpointID: base.checkpoint.ID, Seq: base.seq}
	}
	if base != nil && len(input) == 0 {
		t.keepOpen(base)
		b.Answers = t.answers(rest)
	}
	return rest, t.record(at, b)
}

// keepOpen takes over the calls that were open at the checkpoint before.
func (t *turn) keepOpen(base *point) {
	t.point.open = base.open
	for id := range base.results {
		t.point.results[id] = true
	}
	for id, e := range base.delegates {
		t.point.delegates[id] = e
	}
}

// answers returns the results of open calls that came from outside: from the user or from
// delegates. They are in the next message, or in the checkpoint if other calls are still open.
func (t *turn) answers(rest []*event.Message) (answers []event.ToolResult) {
	given := make(map[string][]event.Part)
	if len(rest) > 0 && rest[0].Type == event.ToolMessage {
		for _, p := range rest[0].Contents {
			given[p.ToolCallID] = p.Contents
		}
	} else {
		for _, r := range t.cp.PartialToolResults {
			given[r.ID] = r.Result
		}
	}
	for _, c := range t.point.open {
		contents, ok := given[c.ID]
		if !ok || t.point.results[c.ID] {
			continue
		}
		skill := c.SkillName
		if e, delegated := t.point.delegates[c.ID]; delegated {
			skill = event.DelegateSkill + e.Key
		}
		t.point.results[c.ID] = true
		answers = append(answers, event.ToolResult{ID: c.ID, SkillName: skill, ToolName: c.ToolName, Result: orNone(contents)})
	}
	return answers
}

// splitInput splits messages after the last query of the user. What was wrong with an answer is a
// message of the user, too, but no query.
func splitInput(messages []*event.Message) (input, rest []*event.Message) {
	n := 0
	for i, m := range messages {
		if m.Type == event.InstructionMessage || m.Type == event.UserMessage && !isReason(m.Text()) {
			n = i + 1
		}
	}
	return messages[:n], messages[n:]
}

// isReason reports whether a text is what a model was told about a failed generation.
func isReason(text string) bool {
	var reason struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	return json.Unmarshal([]byte(text), &reason, json.RejectUnknownMembers(true)) == nil && reason.Error != ""
}

// errOrder is returned for a conversation that no run leaves.
var errOrder = errors.New("its messages have an order that no Run leaves")

// say records the messages of the step.
func (t *turn) say(messages []*event.Message) error {
	if reason := t.converter.index.retries[stepOfRun{t.head.RunID, t.cp.StepNumber}]; reason != "" && len(messages) > 0 && !isReason(messages[len(messages)-1].Text()) {
		if err := t.generate(); err != nil {
			return err
		}
		return t.all(event.Retry{Reason: t.converter.opts.Secrets.Redact(reason), NewMessages: messages, Usage: t.spend()})
	}
	for len(messages) > 0 {
		m := messages[0]
		var err error
		switch {
		case m.Type == event.ToolMessage && len(t.point.open) > 0:
			err = t.all(event.FinishAllToolCalls{ToolMessage: t.answerRef(m)})
			t.answered()
		case m.Type == event.ExpertMessage && hasCalls(m):
			messages, err = t.callTools(messages)
			if err != nil {
				return err
			}
			continue
		case m.Type == event.ExpertMessage:
			if err = t.generate(); err == nil {
				err = t.answer(m, nil, len(messages) == 1)
			}
		case m.Type == event.UserMessage:
			if err = t.generate(); err == nil {
				err = t.all(event.Retry{Reason: m.Text(), NewMessages: messages[:1], Usage: t.spend()})
			}
		default:
			err = errOrder
		}
		if err != nil {
			return err
		}
		messages = messages[1:]
	}
	return nil
}

// answer records a message without calls: the answer of the Run if it is the last one.
func (t *turn) answer(m *event.Message, results *event.ToolMessageRef, last bool) error {
	if last && t.cp.Status == event.StatusCompleted {
		t.ended = true
		return t.all(event.CompleteRun{ToolMessage: results, NewMessage: m, Usage: t.spend()})
	}
	return t.all(event.CallTools{NewMessage: m, ToolCalls: []event.ToolCall{}, Usage: t.spend()})
}

// callTools records a message with calls, and their results if they follow. It returns the messages
// after them.
func (t *turn) callTools(messages []*event.Message) ([]*event.Message, error) {
	m := messages[0]
	t.point.open = t.calls(m)
	t.point.results, t.point.delegates = map[string]bool{}, map[string]event.ExpertRef{}
	if err := t.generate(); err != nil {
		return nil, err
	}
	if err := t.all(event.CallTools{NewMessage: m, ToolCalls: t.point.open, Usage: t.spend()}); err != nil {
		return nil, err
	}
	messages = messages[1:]
	if len(messages) == 0 || messages[0].Type != event.ToolMessage {
		return messages, nil
	}
	results := messages[0]
	messages = messages[1:]
	for _, p := range results.Contents {
		if err := t.result(event.ToolResult{ID: p.ToolCallID, ToolName: p.ToolName, Result: orNone(p.Contents), IsError: p.IsError}); err != nil {
			return nil, err
		}
	}
	ref := t.answerRef(results)
	completes := slices.ContainsFunc(t.point.open, func(c event.ToolCall) bool { return c.ToolName == event.CompletionTool })
	t.answered()
	if completes && len(messages) == 1 && messages[0].Type == event.ExpertMessage && !hasCalls(messages[0]) && t.cp.Status == event.StatusCompleted {
		if err := t.all(event.AttemptCompletion{}); err != nil {
			return nil, err
		}
		return nil, t.answer(messages[0], ref, true)
	}
	return messages, t.all(event.ResolveToolResults{}, event.FinishToolCall{ToolMessage: ref})
}

// result records the result of a call of this step, unless there is one.
func (t *turn) result(r event.ToolResult) error {
	i := slices.IndexFunc(t.point.open, func(c event.ToolCall) bool { return c.ID == r.ID })
	if i < 0 || t.point.results[r.ID] {
		return nil
	}
	t.point.results[r.ID] = true
	r.SkillName = t.point.open[i].SkillName
	return t.all(event.StartToolCall{ToolCallID: r.ID}, event.EndToolCall{ToolResult: r})
}

func (t *turn) answered() {
	t.point.open, t.point.results, t.point.delegates = nil, map[string]bool{}, map[string]event.ExpertRef{}
}

// answerRef names the ids of a tool message, in the order of the calls.
func (t *turn) answerRef(m *event.Message) *event.ToolMessageRef {
	ids := make(map[string]string)
	for _, p := range m.Contents {
		ids[p.ToolCallID] = p.ID
	}
	ref := &event.ToolMessageRef{ID: m.ID, PartIDs: []string{}}
	for _, c := range t.point.open {
		if t.point.results[c.ID] {
			ref.PartIDs = append(ref.PartIDs, ids[c.ID])
		}
	}
	return ref
}

// end records how the step ended. next is the id of the checkpoint after it in the Run.
func (t *turn) end(next string) error {
	t.point.stopped = true
	switch status := t.cp.Status; status {
	case event.StatusInit, event.StatusProceeding:
		t.point.stopped = false
		if next == "" {
			next = t.converter.opts.NewID()
		}
		return t.all(event.ContinueToNextStep{NextCheckpointID: next})
	case event.StatusCompleted:
		if t.ended {
			return nil
		}
		return t.all(event.CompleteRun{Usage: t.spend()})
	case event.StatusStoppedByExceededMaxSteps:
		return t.all(event.StopRunByExceededMaxSteps{Usage: t.spend()})
	case event.StatusStoppedByError:
		return t.failed()
	case event.StatusStoppedByDelegate, event.StatusStoppedByInteractiveTool:
		return t.wait(status)
	}
	return errors.New("its status is unknown")
}

func (t *turn) failed() error {
	if !t.asked {
		if err := t.generate(); err != nil {
			return err
		}
	}
	failure := t.cp.Error
	if failure == nil {
		failure = t.converter.index.failures[t.head.ID]
	}
	if failure == nil {
		failure = &event.Failure{Name: "Error", Message: "The original recorded no message."}
	}
	clean := *failure
	clean.Name, clean.Message = t.converter.opts.Secrets.Redact(clean.Name), t.converter.opts.Secrets.Redact(clean.Message)
	return t.all(event.StopRunByError{Error: clean, Usage: t.spend()})
}

// wait records that the Run waits for delegates or for the user.
func (t *turn) wait(status event.Status) error {
	if !t.asked { // the answer to one of several questions
		if err := t.all(event.ResumeToolCalls{}); err != nil {
			return err
		}
	}
	for _, r := range t.cp.PartialToolResults {
		r.Result = orNone(r.Result)
		if err := t.result(r); err != nil {
			return err
		}
	}
	if status == event.StatusStoppedByInteractiveTool {
		b := event.CallInteractiveTool{}
		if len(t.cp.PendingToolCalls) > 0 {
			b.ToolCallID = t.cp.PendingToolCalls[0].ID
		}
		return t.all(b, event.StopRunByInteractiveTool{})
	}
	b := event.CallDelegate{}
	for _, d := range t.cp.DelegateTo {
		t.point.delegates[d.ToolCallID] = d.Expert
		if c, ok := t.converter.children[call{t.head.ID, d.ToolCallID}]; ok {
			b.Delegates = append(b.Delegates, event.DelegateRun{ToolCallID: d.ToolCallID, RunID: c.runID, Expert: d.Expert})
		}
	}
	return t.all(b, event.StopRunByDelegate{})
}

// runtime is the runtime that the checkpoint names.
func (t *turn) runtime() string {
	var name string
	if json.Unmarshal(t.cp.Metadata["runtime"], &name) != nil || name == "perstack" {
		return "local"
	}
	return name
}

// calls returns the calls of a message, without their arguments.
func (t *turn) calls(m *event.Message) []event.ToolCall {
	calls := []event.ToolCall{}
	for _, p := range m.Contents {
		if p.Type == event.ToolCallPart {
			calls = append(calls, event.ToolCall{ID: p.ToolCallID, SkillName: t.skillOf(p), ToolName: p.ToolName})
		}
	}
	return calls
}

// skillOf returns the skill of a call. If nothing tells it, a name of a base tool means the base
// skill: the original looked there first.
func (t *turn) skillOf(p event.Part) string {
	if name := t.converter.index.skills[p.ToolCallID]; name != "" {
		return name
	}
	for _, c := range t.cp.PendingToolCalls {
		if c.ID == p.ToolCallID {
			return c.SkillName
		}
	}
	for _, r := range t.cp.PartialToolResults {
		if r.ID == p.ToolCallID {
			return r.SkillName
		}
	}
	for _, d := range t.cp.DelegateTo {
		if d.ToolCallID == p.ToolCallID {
			return d.Expert.Name
		}
	}
	if slices.Contains(baseTools, p.ToolName) {
		return event.BaseSkill
	}
	return ""
}

// baseTools are the tools of the original's base skill.
var baseTools = []string{
	"attemptCompletion", "todo", "clearTodo", "think", "readTextFile", "readImageFile", "readPdfFile", "writeTextFile",
	"appendTextFile", "editTextFile", "deleteFile", "createDirectory", "deleteDirectory", "moveFile", "getFileInfo", "listDirectory", "exec",
}

func hasCalls(m *event.Message) bool {
	return slices.ContainsFunc(m.Contents, func(p event.Part) bool { return p.Type == event.ToolCallPart })
}

// orNone returns an empty list for none: a result always has one.
func orNone(parts []event.Part) []event.Part {
	if parts == nil {
		return []event.Part{}
	}
	return parts
}
