package base

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/schema"
	"github.com/perstack-go/perstack/internal/workspace"
)

// An answer is the result of a tool: a body that becomes compact JSON, further parts, and whether
// the call failed.
type answer struct {
	body   any
	parts  []event.Part
	failed bool
}

// Codes of failures that are not about paths; those are in internal/workspace.
const (
	codeInvalidArguments = "invalid_arguments"
	codeBinary           = "binary"
	codeUnsupportedType  = "unsupported_type"
	codeNoMatch          = "no_match"
	codeAmbiguous        = "ambiguous"
	codeTooLarge         = string(workspace.TooLarge)
	codeInterrupted      = string(workspace.Interrupted)
	codeIO               = string(workspace.IO)
)

// A failure is the body of a failed call. The activity log shows the member "error".
type failure struct {
	Error string `json:"error"`
	Code  string `json:"code"`
}

// A pathBody is the body of a tool that changed a path.
type pathBody struct {
	Path string `json:"path"`
}

func refuse(code, message string) answer {
	return answer{body: failure{Error: clean(message), Code: code}, failed: true}
}

// refuseError turns an error into a failed answer.
func refuseError(err error) answer {
	if bad, ok := errors.AsType[*schema.Error](err); ok {
		return refuse(codeInvalidArguments, bad.Error())
	}
	if path, ok := errors.AsType[*workspace.Error](err); ok {
		return refuse(string(path.Code), path.Message)
	}
	return refuse(codeIO, err.Error())
}

// result wraps an answer for the model.
func result(call event.ToolCall, a answer) event.ToolResult {
	text, err := json.Marshal(a.body, json.Deterministic(true))
	if err != nil {
		// Only text that is not UTF-8 fails, and all of it was cleaned.
		a.failed, a.parts = true, nil
		text = []byte(`{"error":"the result could not be encoded","code":"io"}`)
	}
	return event.ToolResult{
		ID:        call.ID,
		SkillName: event.BaseSkill,
		ToolName:  call.ToolName,
		Result:    append([]event.Part{{Type: event.TextPart, Text: string(text)}}, a.parts...),
		IsError:   a.failed,
	}
}

// clean replaces bytes that are not UTF-8, for JSON.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// valueOr returns an argument, or its default when it was left out.
func valueOr[T any](value *T, fallback T) T {
	if value == nil {
		return fallback
	}
	return *value
}
