package wire_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	openai "github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/modeltest"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
)

// TestChat prints, with -v, which cases were held against the SDK in which direction.
func TestChat(t *testing.T) {
	judge(t, "openai-go (chat completions)", chatSDK{}, []string{"azure-openai", "azure-openai/deployments", "deepseek", "openai-compatible"}, chatCases()...)
}

// The bodies that the tests of internal/providers/chat keep survive as well.
func TestChatGoldens(t *testing.T) {
	paths, err := filepath.Glob("../../internal/providers/chat/testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden requests were found: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			chatSDK{}.survives(t, body)
		})
	}
}

// chatCases are what this API has and others have not.
func chatCases() []modeltest.Case {
	return []modeltest.Case{{
		Name: "a limit that was reached inside a call",
		Talk: modeltest.Always(modeltest.Once("length = true\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargsText = '{\"path\":\"'\n", modeltest.Reading{
			Calls: []modeltest.Call{{ID: "c1", Tool: "read", Args: `{"path":"`}}, Finish: model.FinishLength,
		})),
	}}
}

// chatSDK is the oracle of azure-openai, deepseek and openai-compatible. The part of the SDK that is made for
// Azure needs a module of its own for nothing but a header and an address; both are set by
// hand here.
type chatSDK struct{}

// service is the SDK's. Made without its client, it reads nothing of this machine's
// environment.
func (chatSDK) service(url string, more ...openaioption.RequestOption) openai.ChatCompletionService {
	return openai.NewChatCompletionService(append([]openaioption.RequestOption{
		openaioption.WithBaseURL(url), openaioption.WithAPIKey(llm.Key), openaioption.WithMaxRetries(0),
	}, more...)...)
}

func (o chatSDK) Survives(t *testing.T, r llm.Recorded) {
	t.Helper()
	o.survives(t, r.Raw)
}

// survives sends a body through the SDK's types.
func (o chatSDK) survives(t *testing.T, body []byte) {
	t.Helper()
	var params openai.ChatCompletionNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		t.Fatalf("the SDK cannot read it: %v", err)
	}
	var post mailbox
	service := o.service("http://127.0.0.1/v1", openaioption.WithHTTPClient(&post))
	drain(service.NewStreaming(t.Context(), params))
	if post.url != "/v1/chat/completions" || post.header.Get("Authorization") != "Bearer "+llm.Key {
		t.Errorf("the SDK asks %s with %v", post.url, post.header)
	}
	same(t, body, post.body, chatDifferences...)
}

// chatDifferences are all that the SDK writes in another way than we do. Whatever is not
// listed here is a failure.
var chatDifferences = []difference{
	{
		why: "schemas are any to the SDK, which makes float64 of their numbers: large ones lose digits, which ours keep",
		even: func(object map[string]any) {
			if parameters, ok := object["parameters"]; ok {
				object["parameters"] = asFloats(parameters)
			}
		},
	},
	{
		why: "two members are DeepSeek's own; the SDK has no fields for them, and its callers add them by hand",
		even: func(object map[string]any) {
			if _, ok := object["messages"]; ok {
				delete(object, "thinking")
			}
			if object["role"] == "assistant" {
				delete(object, "reasoning_content")
			}
		},
	},
}

func (o chatSDK) Read(t *testing.T, s *modeltest.Subject, root string, limit int) (r modeltest.Reading) {
	params := openai.ChatCompletionNewParams{
		Model: s.Model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello")},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	var service openai.ChatCompletionService
	if path, ok := map[string]string{"deepseek": "/deepseek", "openai-compatible": "/compatible/v1"}[s.Provider]; ok {
		params.MaxTokens = openai.Int(int64(limit))
		service = o.service(root + path)
	} else {
		params.MaxCompletionTokens = openai.Int(int64(limit))
		url, version := root+"/openai/v1", "v1"
		if s.Setting.UseDeploymentBasedURLs {
			url, version = root+"/openai/deployments/"+s.Model, s.Setting.APIVersion
		}
		service = o.service(url, openaioption.WithHeader("Api-Key", llm.Key), openaioption.WithHeaderDel("Authorization"), openaioption.WithQuery("api-version", version))
	}
	stream := service.NewStreaming(t.Context(), params)
	defer stream.Close()
	var all openai.ChatCompletionAccumulator
	thoughts, counted := "", false
	for stream.Next() {
		c := stream.Current()
		if len(c.Choices) > 0 && !all.AddChunk(c) || len(c.Choices) > 1 {
			t.Errorf("the SDK does not know what to do with %s", c.RawJSON())
		}
		for _, choice := range c.Choices {
			thought := ""
			for _, name := range []string{"reasoning_content", "reasoning"} {
				extra := choice.Delta.JSON.ExtraFields[name]
				if extra.Raw() == "" {
					continue
				}
				if err := json.Unmarshal([]byte(extra.Raw()), &thought); err != nil {
					t.Errorf("%v in %s", err, c.RawJSON())
				}
			}
			thoughts += thought
			r.Heard += thought + choice.Delta.Content + choice.Delta.Refusal
		}
		if c.JSON.Usage.Valid() {
			counted, r.Usage = true, chatUsage(c.Usage)
		}
	}
	// The SDK takes a stream that just ends for complete: that its reason and its count have
	// come is the caller's to check.
	if err := stream.Err(); err != nil || !counted || len(all.Choices) == 0 || all.Choices[0].FinishReason == "" {
		r.Failure = chatFailure(t, err)
		return r
	}
	message := all.Choices[0].Message
	r.Text, r.Finish = message.Content, chatFinishes[all.Choices[0].FinishReason]
	if thoughts != "" {
		r.Thoughts = []string{thoughts}
	}
	for _, c := range message.ToolCalls {
		r.Calls = append(r.Calls, modeltest.Call{ID: c.ID, Tool: c.Function.Name, Args: parsed(c.Function.Arguments)})
	}
	return r
}

// chatFailure reads an error of the SDK. One inside a stream has no status; what its words
// stand for is what our client reports.
func chatFailure(t *testing.T, err error) modeltest.Failure {
	var refused *openai.Error
	var inside *ssestream.StreamError
	switch {
	case errors.As(err, &refused):
		return modeltest.Failure{Status: refused.StatusCode, Message: refused.Message}
	case errors.As(err, &inside):
		var body struct {
			Error struct{ Code, Type, Message string }
		}
		if err := json.Unmarshal(inside.Event.Data, &body); err != nil {
			t.Errorf("%v in %q", err, inside.Event.Data)
		}
		status := chatStatuses[body.Error.Code]
		if body.Error.Code == "" {
			status = chatStatuses[body.Error.Type]
		}
		if status == 0 {
			t.Errorf("the test does not know what %q stands for", inside.Event.Data)
		}
		return modeltest.Failure{Status: status, Message: body.Error.Message}
	}
	return modeltest.Failure{Broken: true}
}

// chatStatuses is what the codes and types of errors inside a stream stand for.
var chatStatuses = map[string]int{
	"rate_limit_exceeded": 429,
	"server_error":        500,
	"service_unavailable": 503,
}

func chatUsage(u openai.CompletionUsage) event.Usage {
	return event.Usage{
		InputTokens:       int(u.PromptTokens),
		CachedInputTokens: int(u.PromptTokensDetails.CachedTokens),
		OutputTokens:      int(u.CompletionTokens),
		ReasoningTokens:   int(u.CompletionTokensDetails.ReasoningTokens),
		TotalTokens:       int(u.TotalTokens),
	}
}

var chatFinishes = map[string]model.Finish{
	"stop":           model.FinishStop,
	"tool_calls":     model.FinishToolCalls,
	"length":         model.FinishLength,
	"content_filter": model.FinishContentFilter,
}
