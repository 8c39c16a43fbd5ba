package ollama

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
	"github.com/perstack-go/perstack/rawjson"
)

// A request is the body, as far as the server looks at it.
type request struct {
	Model    string        `json:"model"`
	Messages []message     `json:"messages"`
	Stream   *bool         `json:"stream"`
	Think    rawjson.Value `json:"think"`
	Truncate *bool         `json:"truncate"`
	Shift    *bool         `json:"shift"`
	Options  struct {
		NumPredict int `json:"num_predict"`
		NumCtx     int `json:"num_ctx"`
	} `json:"options"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string     `json:"name"`
			Description string     `json:"description"`
			Parameters  parameters `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type message struct {
	Role      string   `json:"role"`
	Content   string   `json:"content"`
	Thinking  string   `json:"thinking"`
	Images    [][]byte `json:"images"` // base64
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Index     int                      `json:"index"`
			Name      string                   `json:"name"`
			Arguments map[string]rawjson.Value `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolName   string `json:"tool_name"`
	ToolCallID string `json:"tool_call_id"`
}

// parameters and property are what the server reads of a schema. Another type than these
// is refused with the whole request.
type (
	parameters struct {
		Type       string              `json:"type"`
		Required   []string            `json:"required"`
		Properties map[string]property `json:"properties"`
	}
	property struct {
		AnyOf       []property          `json:"anyOf"`
		Type        oneOrMore           `json:"type"`
		Description string              `json:"description"`
		Enum        []rawjson.Value     `json:"enum"`
		Properties  map[string]property `json:"properties"`
		Required    []string            `json:"required"`
	}
	oneOrMore []string
)

// UnmarshalJSON reads a text or a list of texts.
func (o *oneOrMore) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*o = oneOrMore{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(o))
}

func decode(body []byte) (*request, *script.Problem) {
	var req request
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, script.KindProblem(http.StatusBadRequest, "json: cannot unmarshal the request: %v", err)
	}
	return &req, nil
}

// asked is what rules look at. What other wires have as one message, the results of many
// calls, is several here: everything after the last answer is the last one.
func (r *request) asked() script.Asked {
	a := script.Asked{Turn: 1, Model: r.Model, MaxTokens: max(r.Options.NumPredict, 0)}
	var system, query, last []string
	for _, m := range r.Messages {
		switch m.Role {
		case "system":
			system = append(system, m.Content)
			continue
		case "assistant":
			a.Turn++
			last = nil
			continue
		}
		last = append(last, m.Content)
		if a.Turn == 1 {
			query = last
		}
	}
	a.System, a.Query, a.Last = strings.Join(system, "\n"), strings.Join(query, "\n"), strings.Join(last, "\n")
	return a
}
