package engine

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// callAsText handles an answer whose text is a tool call. Some servers return a call as text
// if they cannot parse it, or do not know its tool. Such a text is not the final answer.
func (r *run) callAsText(answer *model.Answer) event.Body {
	return r.rejectText(answer, problem{
		"ToolCallAsText",
		"The answer is a tool call written as text, so nothing was called. To call a tool, use a tool call with one of the tools that you were given. To finish, answer with plain text.",
		"the model wrote its tool calls as text; use a model that can call tools, or check the chat template of its server",
	})
}

// finalReminder is added to a request for the final answer, after the model called tools
// instead of giving it.
const finalReminder = "Your work is complete. Give the final answer now, as plain text, without a tool call."

// maxWrittenCall is the length up to which a text is examined. A call is short.
const maxWrittenCall = 64 << 10

// wroteCall reports whether an answer is a tool call in words. JSON that names no tool of the
// Expert can be the answer that was asked for, except from servers that return unknown calls
// as text.
func (r *run) wroteCall(answer *model.Answer) bool {
	anyName := model.ProviderNamed(r.model.Provider).KeyOptional
	return isWrittenCall(answer.Text(), func(name string) bool {
		_, _, known := r.toolbox.Lookup(name)
		return known || anyName
	})
}

// isWrittenCall reports whether a text is a tool call: JSON with the name of a tool and
// arguments, or one of the tags that models are trained to write.
func isWrittenCall(text string, isTool func(name string) bool) bool {
	if text = strings.TrimSpace(text); len(text) > maxWrittenCall {
		return false
	}
	if callTagAtStart().MatchString(text) || callTagAtEnd().MatchString(text) {
		return true
	}
	if block, ok := strings.CutPrefix(text, "```"); ok {
		_, text, _ = strings.Cut(block, "\n")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "```"))
	}
	calls := []rawjson.Value{rawjson.Value(text)}
	if calls[0].Kind() == '[' && json.Unmarshal(calls[0], &calls) != nil {
		return false
	}
	return len(calls) > 0 && !slices.ContainsFunc(calls, func(c rawjson.Value) bool { return !isCallJSON(c, isTool) })
}

var (
	callTagAtStart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(<tool_calls?>|<function=|<function_call>|<\|tool_calls?|<\|python_tag\|>|\[TOOL_CALLS\])`)
	})
	callTagAtEnd = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)(<tool_call>.*</tool_call>|<function=.*</function>|<function_call>.*</function_call>)$`)
	})
)

// isCallJSON reports whether a value is a call, by itself or as the member "function". A value
// with further members is an answer.
func isCallJSON(value rawjson.Value, isTool func(name string) bool) bool {
	var members map[string]rawjson.Value
	if value.Kind() != '{' || json.Unmarshal(value, &members) != nil {
		return false
	}
	if inner, ok := members["function"]; ok && inner.Kind() == '{' && members["name"] == nil {
		members = nil
		if json.Unmarshal(inner, &members) != nil {
			return false
		}
	}
	named, given := false, false
	for name, v := range members {
		switch name {
		case "name":
			var tool string
			named = json.Unmarshal(v, &tool) == nil && isTool(tool)
		case "arguments", "parameters":
			given = v.Kind() == '{' || v.Kind() == '"'
		case "id", "type":
		default:
			return false
		}
	}
	return named && given
}
