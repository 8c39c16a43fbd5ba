package engine

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
)

// States share what they have in common, so nothing in one is changed in place. What is
// here makes the calls of a step, and copies with a change.

// callsOf joins the calls of a turn with their arguments, which stand in the message.
func callsOf(b event.CallTools) []Call {
	args := make(map[string]jsontext.Value)
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

// answeredCalls are the calls of an exchange that was made up to show the model its mistake.
func answeredCalls(b event.Retry) []Call {
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

// withCall returns calls with change made to a copy of the one that id names.
func withCall(calls []Call, id string, change func(*Call)) []Call {
	calls = slices.Clone(calls)
	for i := range calls {
		if calls[i].ID == id {
			change(&calls[i])
		}
	}
	return calls
}

// withAnswers returns calls with the results that came from outside.
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

// withEach returns calls with something set in a copy of each that one of all is about, by
// the call's id. There may be a thousand of both.
func withEach[T any](calls []Call, all []T, callID func(*T) string, set func(*Call, *T)) []Call {
	if len(all) == 0 {
		return calls
	}
	byID := make(map[string]*T, len(all))
	for i := range all {
		byID[callID(&all[i])] = &all[i]
	}
	calls = slices.Clone(calls)
	for i := range calls {
		if t := byID[calls[i].ID]; t != nil {
			set(&calls[i], t)
		}
	}
	return calls
}

func withoutChildren(calls []Call) []Call {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].Child = nil
	}
	return calls
}

func withMemory(memory map[string]jsontext.Value, skillName string, value jsontext.Value) map[string]jsontext.Value {
	if value == nil {
		return memory
	}
	memory = maps.Clone(memory)
	if memory == nil {
		memory = make(map[string]jsontext.Value)
	}
	memory[skillName] = value
	return memory
}
