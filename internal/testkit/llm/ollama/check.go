package ollama

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

func invalid(format string, args ...any) *script.Problem {
	return script.KindProblem(http.StatusBadRequest, format, args...)
}

// check says why the server would not answer, in its order.
func (r *request) check() *script.Problem {
	switch {
	case r.Model == "":
		return invalid("model is required")
	case strings.HasPrefix(r.Model, "missing"):
		return script.KindProblem(http.StatusNotFound, "model '%s' not found", r.Model)
	case r.Stream != nil && !*r.Stream:
		return invalid("a script is played as a stream")
	case len(r.Messages) == 0:
		return invalid("there are no messages, which would load the model and answer nothing")
	}
	if p := r.checkThink(); p != nil {
		return p
	}
	for _, t := range r.Tools {
		if t.Type != "function" || t.Function.Name == "" {
			return invalid("a tool of type %q with the name %q", t.Type, t.Function.Name)
		}
	}
	return r.checkMessages()
}

func (r *request) checkThink() *script.Problem {
	var wants bool
	switch think := r.Think; think.Kind() {
	case 0, 'n', 'f':
	case 't':
		wants = true
	case '"':
		var word string
		if err := json.Unmarshal(think, &word); err != nil {
			return invalid("%v", err)
		}
		switch word {
		case "low", "medium", "high", "max":
			wants = true
		default:
			return invalid(`invalid think value: %q (must be "high", "medium", "low", "max", true, or false)`, word)
		}
	default:
		return invalid("think must be a boolean or string")
	}
	if wants && strings.HasPrefix(r.Model, "gemma") {
		return invalid("%q does not support thinking", r.Model)
	}
	return nil
}

func (r *request) checkMessages() *script.Problem {
	open := map[string]int{} // calls that have no result yet, by their id
	for i, m := range r.Messages {
		switch m.Role {
		case "system", "user":
		case "assistant":
			for _, c := range m.ToolCalls {
				if c.Function.Name == "" {
					return invalid("message %d calls a tool without a name", i)
				}
				open[c.ID]++
			}
		case "tool":
			if open[m.ToolCallID] == 0 {
				return invalid("message %d is the result of the call %q, which was not made", i, m.ToolCallID)
			}
			open[m.ToolCallID]--
		default:
			return invalid("invalid role: %s", m.Role)
		}
		if len(m.Images) > 0 && m.Role != "user" {
			return invalid("message %d of the %s has images, which templates look for in those of the user", i, m.Role)
		}
	}
	return nil
}
