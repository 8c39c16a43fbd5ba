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

// withAnswers returns calls with the results that came from outside. There may be a
// thousand of them.
func withAnswers(calls []Call, answers []event.ToolResult) []Call {
	if len(answers) == 0 {
		return calls
	}
	byID := make(map[string]*event.ToolResult, len(answers))
	for i := range answers {
		byID[answers[i].ID] = &answers[i]
	}
	calls = slices.Clone(calls)
	for i := range calls {
		if answer := byID[calls[i].ID]; answer != nil {
			calls[i].Result = answer
		}
	}
	return calls
}

// withChildren returns calls with the Runs that work on them.
func withChildren(calls []Call, children []event.DelegateRun) []Call {
	if len(children) == 0 {
		return calls
	}
	byID := make(map[string]*event.DelegateRun, len(children))
	for i := range children {
		byID[children[i].ToolCallID] = &children[i]
	}
	calls = slices.Clone(calls)
	for i := range calls {
		if child := byID[calls[i].ID]; child != nil {
			calls[i].Child = child
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
