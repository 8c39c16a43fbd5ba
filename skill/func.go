package skill

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/schema"
)

// Func makes a skill with one tool of a Go function. The name is that of the skill and of
// the tool; the description tells the model what the tool does.
//
// The arguments A are a struct. Its json tags name them, and the tag jsonschema describes
// them for the model. An argument is optional if its json tag has omitempty or omitzero; the
// tags minimum, maximum and minLength limit it:
//
//	type forecastArgs struct {
//		City string `json:"city" minLength:"1" jsonschema:"name of the city"`
//		Days int    `json:"days,omitzero" minimum:"1" maximum:"14" jsonschema:"1 if left out"`
//	}
//
// Arguments that do not fit are refused before fn is called, in words for the model. A
// result that is a string is what the model reads; []event.Part can hold images and
// documents; any other result is sent as JSON. An error of fn does not end the run: the
// model reads its text and can try something else. fn can be called from several goroutines
// at once. It can tell how far it is with [Report].
//
// A tool is taken to have effects that must not happen twice unless traits say otherwise:
// [ReadOnly], [Repeatable], or a function of your own that changes the [Tool].
//
// An A from which no schema can be made is an error of [Skill.Tools].
func Func[A, R any](name, description string, fn func(context.Context, A) (R, error), traits ...func(*Tool)) Skill {
	return &function[A, R]{name, description, traits, fn, sync.OnceValues(schema.For[A])}
}

// ReadOnly says that a tool changes nothing, so that it can be run again after a crash.
func ReadOnly(t *Tool) { t.ReadOnly, t.Repeatable = true, true }

// Repeatable says that a tool can be run again after a crash: a second run with the same
// arguments does no harm.
func Repeatable(t *Tool) { t.Repeatable = true }

type function[A, R any] struct {
	name, description string
	traits            []func(*Tool)
	run               func(context.Context, A) (R, error)
	args              func() (*schema.Args[A], error)
}

func (f *function[A, R]) Name() string { return f.name }

func (f *function[A, R]) Close() error { return nil }

func (f *function[A, R]) Tools(context.Context) ([]Tool, error) {
	args, err := f.args()
	if err != nil {
		return nil, err
	}
	t := Tool{Name: f.name, Description: f.description, InputSchema: args.JSON(), Checked: true}
	for _, set := range f.traits {
		set(&t)
	}
	return []Tool{t}, nil
}

func (f *function[A, R]) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	if call.ToolName != f.name {
		return event.ToolResult{}, fmt.Errorf("skill %q: %w %q", f.name, ErrUnknownTool, call.ToolName)
	}
	decoder, err := f.args()
	if err != nil {
		return event.ToolResult{}, err
	}
	result := event.ToolResult{ID: call.ID, SkillName: f.name, ToolName: f.name}
	args, err := decoder.Decode(call.Args)
	var answer R
	if err == nil {
		answer, err = f.run(ctx, args)
	}
	if err == nil {
		result.Result, err = parts(answer)
	}
	if err != nil {
		result.IsError, result.Result = true, []event.Part{{Type: event.TextPart, Text: err.Error()}}
	}
	return result, nil
}

// parts turns the result of a function into what a model reads.
func parts(result any) ([]event.Part, error) {
	switch r := result.(type) {
	case string:
		return []event.Part{{Type: event.TextPart, Text: r}}, nil
	case []event.Part:
		return r, nil
	}
	text, err := json.Marshal(result, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("the result cannot be written as JSON: %w", err)
	}
	return []event.Part{{Type: event.TextPart, Text: string(text)}}, nil
}
