package wire_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ollama/ollama/api"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/modeltest"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
)

// TestOllama prints, with -v, which cases were held against the SDK in which direction.
func TestOllama(t *testing.T) {
	t.Setenv("OLLAMA_AUTH", "") // else the SDK would sign requests with a key of this machine
	judge(t, "ollama/api", ollamaSDK{}, []string{"ollama"})
}

// The bodies that the tests of internal/providers/ollama keep survive as well.
func TestOllamaGoldens(t *testing.T) {
	t.Setenv("OLLAMA_AUTH", "")
	paths, err := filepath.Glob("../../internal/providers/ollama/testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden requests were found: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			ollamaSDK{}.survives(t, body)
		})
	}
}

// ollamaSDK is the oracle of ollama: the types are the server's own.
type ollamaSDK struct{}

// Excuse names what the SDK cannot tell.
func (ollamaSDK) Excuse(direction, name string) string {
	switch {
	case direction == answer && name == "status 401":
		return "the SDK keeps no words of a 401"
	case direction == answer && name == "a call":
		return "the SDK makes float64 of the numbers in arguments, and loses digits that ours keeps"
	}
	return ""
}

func (o ollamaSDK) Survives(t *testing.T, r llm.Recorded) {
	t.Helper()
	o.survives(t, r.Raw)
}

func (o ollamaSDK) survives(t *testing.T, body []byte) {
	t.Helper()
	var request api.ChatRequest
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatalf("the SDK cannot read it: %v", err)
	}
	var post mailbox
	client := api.NewClient(&url.URL{Scheme: "http", Host: "127.0.0.1"}, &http.Client{Transport: &post})
	if err := client.Chat(t.Context(), &request, func(api.ChatResponse) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if post.url != "/api/chat" || post.header.Get("Accept") != "application/x-ndjson" {
		t.Errorf("the SDK asks %s for %s", post.url, post.header.Get("Accept"))
	}
	same(t, body, post.body, ollamaDifferences...)
}

// ollamaDifferences are all that the SDK writes in another way than we do. Whatever is not
// listed here is a failure.
var ollamaDifferences = []difference{
	{
		why: "the SDK writes null for options that are missing, which the server reads in the same way",
		even: func(object map[string]any) {
			if object["messages"] != nil && object["options"] == nil {
				object["options"] = nil
			}
		},
	},
	{
		why: "the server reads a few members of a schema and leaves out the rest, which ours sends as the tool's author wrote it",
		even: func(object map[string]any) {
			if schema, ok := object["parameters"].(map[string]any); ok {
				object["parameters"] = ollamaSchema(schema, "type", "$defs", "items", "required", "properties")
			}
		},
	},
	{
		why: "arguments are any to the SDK, which makes float64 of their numbers: large ones lose digits, which ours keep",
		even: func(object map[string]any) {
			if _, isCall := object["name"]; isCall && object["arguments"] != nil {
				object["arguments"] = asFloats(object["arguments"])
			}
		},
	},
	{
		why: "what a user adds is written as the SDK writes it: a time with its seconds",
		even: func(object map[string]any) {
			if object["keep_alive"] == "1h" {
				object["keep_alive"] = "1h0m0s"
			}
		},
	},
}

// ollamaSchema is what the SDK has of a schema. What is empty it leaves out.
func ollamaSchema(schema map[string]any, known ...string) map[string]any {
	kept := map[string]any{}
	for name, value := range schema {
		if !slices.Contains(known, name) || value == nil {
			continue
		}
		switch value := value.(type) {
		case map[string]any:
			if name == "properties" {
				for property, below := range value {
					value[property] = ollamaProperty(below)
				}
			}
		case []any:
			if len(value) == 0 {
				continue
			}
			if name == "anyOf" {
				for i := range value {
					value[i] = ollamaProperty(value[i])
				}
			}
		}
		kept[name] = value
	}
	return kept
}

func ollamaProperty(schema any) any {
	return ollamaSchema(schema.(map[string]any), "anyOf", "type", "items", "description", "enum", "properties", "required")
}

func (ollamaSDK) Read(t *testing.T, s *modeltest.Subject, root string, limit int) (r modeltest.Reading) {
	base, err := url.Parse(root)
	if err != nil {
		t.Fatal(err)
	}
	complete, thinking := false, false
	err = api.NewClient(base, &http.Client{}).Chat(t.Context(), &api.ChatRequest{
		Model: s.Model, Messages: []api.Message{{Role: "user", Content: "Hello"}}, Options: map[string]any{"num_predict": limit},
	}, func(l api.ChatResponse) error {
		m := l.Message
		r.Heard += m.Thinking + m.Content
		r.Text += m.Content
		if m.Thinking != "" {
			if !thinking {
				r.Thoughts = append(r.Thoughts, "")
			}
			r.Thoughts[len(r.Thoughts)-1] += m.Thinking
		}
		thinking = m.Thinking != ""
		for _, c := range m.ToolCalls {
			r.Calls = append(r.Calls, modeltest.Call{ID: c.ID, Tool: c.Function.Name, Args: modeltest.Canonical([]byte(c.Function.Arguments.String()))})
		}
		if complete = l.Done; complete {
			r.Finish, r.Usage = ollamaFinish(l.DoneReason, len(r.Calls) > 0), ollamaUsage(l.Metrics)
		}
		return nil
	})
	// The SDK takes a stream that just ends for complete: that its last line has come is
	// the caller's to check.
	if err != nil || !complete {
		return modeltest.Reading{Heard: r.Heard, Failure: ollamaFailure(err)}
	}
	return r
}

// ollamaFailure reads an error of the SDK. One inside a stream has no status; ours says
// that the server failed.
func ollamaFailure(err error) modeltest.Failure {
	var status api.StatusError
	switch {
	case errors.As(err, &status):
		return modeltest.Failure{Status: status.StatusCode, Message: status.ErrorMessage}
	case errors.Is(err, io.ErrUnexpectedEOF), err != nil && strings.HasPrefix(err.Error(), `{"model":`): // half a line
		return modeltest.Failure{Broken: true}
	case err != nil:
		return modeltest.Failure{Status: http.StatusInternalServerError, Message: err.Error()}
	}
	return modeltest.Failure{Broken: true}
}

func ollamaFinish(reason string, calls bool) model.Finish {
	switch {
	case reason == "length":
		return model.FinishLength
	case reason == "stop" && calls:
		return model.FinishToolCalls
	case reason == "stop":
		return model.FinishStop
	}
	return model.FinishOther
}

func ollamaUsage(m api.Metrics) event.Usage {
	used := event.Usage{InputTokens: m.PromptEvalCount, OutputTokens: m.EvalCount, TotalTokens: m.PromptEvalCount + m.EvalCount}
	if m.PromptEvalCachedCount != nil {
		used.CachedInputTokens = *m.PromptEvalCachedCount
	}
	return used
}
