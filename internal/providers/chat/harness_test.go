package chat_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/chat"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const key = "sk-test-0123456789"

// serve returns a model at a server that answers in one way. change may be nil.
func serve(t testing.TB, handler http.HandlerFunc, change func(*chat.Config)) *chat.Model {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	cfg := azure()
	cfg.Client.BaseURL = server.URL + "/openai"
	if change != nil {
		change(&cfg)
	}
	if cfg.Dialect == chat.DeepSeek {
		cfg.Client.BaseURL = server.URL
	}
	m, err := chat.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func azure() chat.Config {
	return chat.Config{
		Config:  wire.Config{Provider: "azure-openai", Model: "gpt-5-mini", Client: wire.Client{BaseURL: "https://example.com/openai", HTTP: wire.NewHTTPClient(nil)}},
		Dialect: chat.Azure, Key: key,
	}
}

// deepSeek changes a configuration into one of the other dialect.
func deepSeek(c *chat.Config) {
	c.Provider, c.Model, c.Dialect = "deepseek", "deepseek-chat", chat.DeepSeek
}

const (
	azureAuthor    = "azure-openai/gpt-5-mini"
	deepSeekAuthor = "deepseek/deepseek-chat"
)

// streaming answers with a stream of events, each given as its data.
func streaming(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		io.WriteString(w, asSSE(events...))
	}
}

func asSSE(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

// ask asks once and returns everything that was told.
func ask(ctx context.Context, m *chat.Model, req *model.Request) (answer *model.Answer, told []string, err error) {
	for chunk, e := range m.Generate(ctx, req) {
		switch {
		case e != nil:
			err = e
		case chunk.Answer != nil:
			answer = chunk.Answer
		case chunk.Reasoning != "":
			told = append(told, "think:"+chunk.Reasoning)
		default:
			told = append(told, "say:"+chunk.Text)
		}
	}
	return answer, told, err
}

func failure(t testing.TB, err error) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want a *model.Error", err, err)
	}
	if strings.Contains(e.Message, key) {
		t.Errorf("the key is in the error: %s", e.Message)
	}
	return e
}

// Messages and parts.

func hello() *model.Request { return &model.Request{Messages: []*event.Message{user("Hello")}} }

func user(words string) *event.Message { return asks(text(words)) }

func asks(parts ...event.Part) *event.Message {
	return &event.Message{Type: event.UserMessage, Contents: parts}
}

func instruction(words string) *event.Message {
	return &event.Message{Type: event.InstructionMessage, Cache: true, Contents: []event.Part{text(words)}}
}

func says(author string, parts ...event.Part) *event.Message {
	return &event.Message{Type: event.ExpertMessage, Author: author, Contents: parts}
}

func results(parts ...event.Part) *event.Message {
	return &event.Message{Type: event.ToolMessage, Contents: parts}
}

func text(s string) event.Part { return event.Part{Type: event.TextPart, Text: s} }

func thinks(s string) event.Part { return event.Part{Type: event.ThinkingPart, Thinking: s} }

func calls(id, tool, args string) event.Part {
	return event.Part{Type: event.ToolCallPart, ToolCallID: id, ToolName: tool, Args: jsontext.Value(args)}
}

func returned(id string, isError bool, parts ...event.Part) event.Part {
	return event.Part{Type: event.ToolResultPart, ToolCallID: id, IsError: isError, Contents: parts}
}

// The events of a plain answer.
const (
	filtered = `{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}`
	begin    = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}`
	spent    = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":110,"completion_tokens":7,"total_tokens":117,"prompt_tokens_details":{"cached_tokens":100},"completion_tokens_details":{"reasoning_tokens":3}}}`
	done     = `[DONE]`
)

// with is an event with one delta, given as the members of it.
func with(members string) string {
	return `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{` + members + `},"finish_reason":null}],"usage":null}`
}

func say(words string) string { return with(`"content":` + string(wire.Quote(words))) }

func think(words string) string {
	return with(`"content":null,"reasoning_content":` + string(wire.Quote(words)))
}

func end(reason string) string {
	return `{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

func callBegin(index, id, name string) string {
	return with(`"tool_calls":[{"index":` + index + `,"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":""}}]`)
}

func callArgs(index, words string) string {
	return with(`"tool_calls":[{"index":` + index + `,"function":{"arguments":` + string(wire.Quote(words)) + `}}]`)
}

var usage = event.Usage{InputTokens: 110, CachedInputTokens: 100, OutputTokens: 7, ReasoningTokens: 3, TotalTokens: 117}
