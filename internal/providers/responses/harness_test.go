package responses_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/responses"
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
	says        = wiretest.Says
	instruction = wiretest.Instruction
	results     = wiretest.Results
	text        = wiretest.Text
	calls       = wiretest.Calls
	marked      = wiretest.Marked
)

func failure(t testing.TB, err error) *model.Error {
	t.Helper()
	return wiretest.Failure(t, err, key)
}

// streaming answers with a stream of events, each given as its JSON.
func streaming(events ...string) http.HandlerFunc {
	return wiretest.Streaming("text/event-stream; charset=utf-8", asSSE(events...))
}

const (
	key = "sk-proj-test-0123456789"
	own = "openai/gpt-5"
)

// config is that of a model at an address. change may be nil.
func config(url string, change func(*responses.Config)) responses.Config {
	cfg := responses.Config{Key: key}
	cfg.Model = "gpt-5"
	cfg.Client = wire.Client{BaseURL: url + "/v1", HTTP: wire.NewHTTPClient(nil)}
	if change != nil {
		change(&cfg)
	}
	return cfg
}

// serve returns a model at a server that answers in one way.
func serve(t testing.TB, handler http.HandlerFunc, change func(*responses.Config)) *responses.Model {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	m, err := responses.New(config(server.URL, change))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Messages and parts.

// thinks is a thought as the answer had it.
func thinks(id, s string) event.Part {
	return marked(event.Part{Type: event.ThinkingPart, Thinking: s},
		fmt.Sprintf(`{"type":"reasoning","id":%q,"summary":[{"type":"summary_text","text":%q}],"encrypted_content":"sealed-%s"}`, id, s, id))
}

func ran(item string) event.Part {
	return marked(event.Part{Type: event.ProviderPart, ToolName: "web_search"}, item)
}

func returned(id string, isError bool, parts ...event.Part) event.Part {
	return event.Part{Type: event.ToolResultPart, ToolCallID: id, IsError: isError, Contents: parts}
}

// The events of answers.
const (
	created  = `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress","output":[],"usage":null}}`
	msgAdded = `{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}`
	textOne  = `{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hel","logprobs":[]}`
	textTwo  = `{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"lo","logprobs":[]}`
	msgDone  = `{"type":"response.output_item.done","output_index":0,"item":` + msg + `}`
	msg      = `{"id":"msg_1","type":"message","status":"completed","phase":"final_answer","role":"assistant","content":[{"type":"output_text","annotations":[],"text":"Hello"}]}`
	counted  = `"usage":{"input_tokens":1110,"input_tokens_details":{"cached_tokens":100},"output_tokens":50,"output_tokens_details":{"reasoning_tokens":20},"total_tokens":1160}`
	done     = `{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[],` + counted + `}}`
)

var usage = event.Usage{InputTokens: 1110, CachedInputTokens: 100, OutputTokens: 50, ReasoningTokens: 20, TotalTokens: 1160}

func incomplete(reason string) string {
	return `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"` + reason + `"},` + counted + `}}`
}

func added(at int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":%s}`, at, item)
}

func ended(at int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, at, item)
}

func arguments(at int, piece string) string {
	return fmt.Sprintf(`{"type":"response.function_call_arguments.delta","output_index":%d,"delta":%q}`, at, piece)
}

func call(id, name, args string) string {
	return fmt.Sprintf(`{"type":"function_call","id":"fc_%s","call_id":%q,"name":%q,"arguments":%q}`, id, id, name, args)
}
