package engine

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
)

// A Call is a tool call and how far it is. States share their calls, so a call is never
// changed in place: the functions here return copies.
type Call struct {
	event.ToolCall
	Started bool               // its tool can have had an effect
	Child   *event.DelegateRun // the Run that works on it, if it is a call of a delegate
	Result  *event.ToolResult

	Approval *event.ApprovalRequested // the newest question to the user about it
	Answer   *event.ApprovalAnswered  // to that question
}

// waits reports whether a call waits for the permission of the user.
func (c Call) waits() bool {
	return c.Approval != nil && c.Answer == nil && c.Result == nil && !c.Started
}

// callsOf returns the calls of a turn with their arguments, which are in the message.
func callsOf(b event.CallTools) []Call {
	args := make(map[string]rawjson.Value)
	if b.NewMessage != nil {
		for _, p := range b.NewMessage.Contents {
			if p.Type == event.ToolCallPart {
				args[p.ToolCallID] = p.Args
			}
		}
	}
	calls := make([]Call, len(b.ToolCalls))
	for i, c := range b.ToolCalls {
		if c.Args == nil {
			c.Args = args[c.ID]
		}
		calls[i] = Call{ToolCall: c}
	}
	return calls
}

// retryCalls returns the calls of a turn that was rejected, with the results that say why.
func retryCalls(b event.Retry) []Call {
	var calls []Call
	for i, c := range b.ToolCalls {
		call := Call{ToolCall: c}
		if i < len(b.ToolResults) {
			call.Result = &b.ToolResults[i]
		}
		calls = append(calls, call)
	}
	return calls
}

// withCall returns calls with change applied to the call of that id.
func withCall(calls []Call, id string, change func(*Call)) []Call {
	return changed(calls, func(c *Call) {
		if c.ID == id {
			change(c)
		}
	})
}

// changed returns calls with change applied to each of them.
func changed(calls []Call, change func(*Call)) []Call {
	calls = slices.Clone(calls)
	for i := range calls {
		change(&calls[i])
	}
	return calls
}

// withAnswers returns calls with results that came from the user or from delegates.
func withAnswers(calls []Call, answers []event.ToolResult) []Call {
	return withEach(calls, answers,
		func(a *event.ToolResult) string { return a.ID },
		func(c *Call, a *event.ToolResult) { c.Result = a })
}

// withChildren returns calls with the Runs that work on them.
func withChildren(calls []Call, children []event.DelegateRun) []Call {
	return withEach(calls, children,
		func(d *event.DelegateRun) string { return d.ToolCallID },
		func(c *Call, d *event.DelegateRun) { c.Child = d })
}

// withEach returns calls with set applied to each call that has a value, matched by call id.
// It uses a map because there can be a thousand of both.
func withEach[T any](calls []Call, values []T, callID func(*T) string, set func(*Call, *T)) []Call {
	if len(values) == 0 {
		return calls
	}
	byID := make(map[string]*T, len(values))
	for i := range values {
		byID[callID(&values[i])] = &values[i]
	}
	return changed(calls, func(c *Call) {
		if v := byID[c.ID]; v != nil {
			set(c, v)
		}
	})
}

// withMemory returns memory with the value of a skill replaced; nil leaves it unchanged.
func withMemory(memory map[string]rawjson.Value, skillName string, value rawjson.Value) map[string]rawjson.Value {
	if value == nil {
		return memory
	}
	changed := map[string]rawjson.Value{}
	maps.Copy(changed, memory)
	changed[skillName] = value
	return changed
}

// results returns the results so far, in call order.
func results(calls []Call) []event.ToolResult {
	done := []event.ToolResult{}
	for _, c := range calls {
		if c.Result != nil {
			done = append(done, *c.Result)
		}
	}
	return done
}

func toolCalls(calls []Call) []event.ToolCall {
	var all []event.ToolCall
	for _, c := range calls {
		all = append(all, c.ToolCall)
	}
	return all
}

// delegatedCalls returns the calls that a delegate works on.
func delegatedCalls(calls []Call) []Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return c.Child == nil || c.Result != nil })
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

// completed reports whether the Expert has called attemptCompletion with success.
func completed(calls []Call) bool {
	return slices.ContainsFunc(calls, func(c Call) bool {
		return isCompletion(c.ToolCall) && c.Result != nil && isAccepted(*c.Result)
	})
}

func isCompletion(c event.ToolCall) bool {
	return c.SkillName == event.BaseSkill && c.ToolName == event.CompletionTool
}

// isAccepted reports whether a completion succeeded: no error, no open todos.
func isAccepted(result event.ToolResult) bool {
	if result.IsError {
		return false
	}
	var answer struct {
		RemainingTodos []rawjson.Value `json:"remainingTodos"`
	}
	text := event.FirstText(result.Result)
	return json.Unmarshal([]byte(text), &answer) == nil && len(answer.RemainingTodos) == 0
}
