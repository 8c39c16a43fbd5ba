package event

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/rawjson"
)

// BaseSkill is the name of the built-in skill that every Expert has.
const BaseSkill = "@perstack/base"

// PlanSkill is the name of the skill by which a job that only plans proposes a plan.
const PlanSkill = "@perstack/plan"

// CompletionTool is the tool of [BaseSkill] by which an Expert says it is done.
const CompletionTool = "attemptCompletion"

// DelegateSkill begins the skill name of a delegate's result. The key of its Expert follows.
const DelegateSkill = "delegate/"

// UnknownOutcome is the result of a call that was running when the process died. Running it
// again could do its work twice, so the model is told instead.
const UnknownOutcome = "Error: perstack stopped while this call was running, so its outcome is unknown. Check what it did before you repeat it."

// A ToolCall is a model's request to use a tool.
type ToolCall struct {
	ID        string `json:"id"`
	SkillName string `json:"skillName"`
	ToolName  string `json:"toolName"`
	// Args is a JSON object. The journal leaves it out: the message that the call
	// came with has it.
	Args    rawjson.Value            `json:"args,omitzero"`
	Unknown map[string]rawjson.Value `json:",embed"`
}

// A ToolResult is the result of a [ToolCall].
type ToolResult struct {
	ID        string                   `json:"id"` // the call's id
	SkillName string                   `json:"skillName"`
	ToolName  string                   `json:"toolName"`
	Result    []Part                   `json:"result"` // text, inline image and inline file parts
	IsError   bool                     `json:"isError,omitzero"`
	Unknown   map[string]rawjson.Value `json:",embed"`
}

// IsDelegates reports whether r is the result of a delegate.
func (r ToolResult) IsDelegates() bool { return strings.HasPrefix(r.SkillName, DelegateSkill) }

// ErrorText returns the error in the result, or "". Tools report one in three ways: the MCP
// flag, an object {"error","message"}, or text that starts with "error".
func (r ToolResult) ErrorText() string {
	text := FirstText(r.Result)
	if m := parseMembers([]byte(text)); m != nil {
		name, message := m.text("error"), m.text("message")
		switch {
		case name != "" && message != "":
			return message
		case name != "":
			return name
		}
	} else if !jsontext.Value(text).IsValid(lenient) {
		start := strings.ToLower(strings.TrimSpace(text))
		if strings.HasPrefix(start, "error:") || strings.HasPrefix(start, "error ") {
			return text
		}
	}
	switch {
	case !r.IsError:
		return ""
	case text == "":
		return "the tool failed without a message"
	}
	return text
}

// members is a JSON object of a model or a tool. A member of an unexpected type counts as
// missing.
type members map[string]rawjson.Value

var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// parseMembers returns nil for anything but a JSON object.
func parseMembers(data []byte) members {
	var m members
	if json.Unmarshal(data, &m, lenient) != nil {
		return nil
	}
	return m
}

// text returns the named string, or "".
func (m members) text(name string) string {
	var s string
	if raw, ok := m[name]; !ok || json.Unmarshal(raw, &s, lenient) != nil {
		return ""
	}
	return s
}
