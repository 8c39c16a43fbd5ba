package prompt

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/rawjson"
)

// askText asks what an Expert wants to know. What was typed before is no answer.
func (a *Approver) askText(ctx context.Context, request event.Request) (event.Answer, error) {
	q := Question(request.ExpertKey, request.Question, a.opts.Redact)
	q.Color, q.Plain, q.Fresh = a.opts.Color, a.opts.Plain, true
	text, err := q.read(ctx, a.console)
	var problem string
	switch {
	case err == nil:
		return event.Answer{Text: text}, nil
	case ctx.Err() != nil:
		err, problem = context.Cause(ctx), "The question is closed."
	case errors.Is(err, ErrLeft):
		err, problem = engine.ErrNoAnswer, "no answer; the job waits"
	default: // without a terminal there is no answer either
		return event.Answer{}, engine.ErrNoAnswer
	}
	_, _ = io.WriteString(a.console, problem+"\r\n") // the job stops anyway
	return event.Answer{}, err
}

// Question returns the question that an Expert asks by calling an interactive tool. redact replaces
// secrets; it can be nil.
func Question(expertKey string, call event.ToolCall, redact func(string) string) Text {
	q := Text{Title: expertKey + " asks (" + call.ToolName + ")"}
	for _, text := range arguments(call.Args) {
		if redact != nil {
			text = redact(text)
		}
		q.About = append(q.About, terminal.Show(text)...)
	}
	return q
}

// arguments returns the values of a call: a text for each argument, with its name if there are others.
func arguments(args rawjson.Value) (texts []string) {
	dec := jsontext.NewDecoder(strings.NewReader(string(args)), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return []string{string(args)}
	}
	var names []string
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return []string{string(args)}
		}
		names = append(names, name.String()) // the token is gone after the next read
		value, err := dec.ReadValue()
		if err != nil {
			return []string{string(args)}
		}
		texts = append(texts, valueText(value))
	}
	if len(texts) > 1 {
		for i, text := range texts {
			separator := " "
			if strings.Contains(text, "\n") {
				separator = "\n"
			}
			texts[i] = names[i] + ":" + separator + text
		}
	}
	return texts
}

// valueText shows strings as they are, and a list of strings with a line for each.
func valueText(value jsontext.Value) string {
	var text string
	if json.Unmarshal(value, &text, jsontext.AllowInvalidUTF8(true)) == nil {
		return text
	}
	var list []string
	if json.Unmarshal(value, &list, jsontext.AllowInvalidUTF8(true)) == nil && len(list) > 0 {
		return "- " + strings.Join(list, "\n- ")
	}
	return string(value)
}
