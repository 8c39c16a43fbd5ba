package chat_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/chat"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/providers/wire/wiretest"
	"github.com/perstack-go/perstack/model"
)

// The helpers of all wires, by shorter names.
var (
	ask         = wiretest.Ask
	refusing    = wiretest.Refusing
	asSSE       = wiretest.SSE
	hello       = wiretest.Hello
	user        = wiretest.User
	asks        = wiretest.Asks
	instruction = wiretest.Instruction
	says        = wiretest.Says
	results     = wiretest.Results
	text        = wiretest.Text
	thinks      = wiretest.Thinks
	calls       = wiretest.Calls
)

func failure(t testing.TB, err error) *model.Error {
	t.Helper()
	return wiretest.Failure(t, err, key)
}

// streaming answers with a stream of events, each given as its JSON.
func streaming(events ...string) http.HandlerFunc {
	return wiretest.Streaming("text/event-stream; charset=utf-8", asSSE(events...))
}

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

// Messages and parts.

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
