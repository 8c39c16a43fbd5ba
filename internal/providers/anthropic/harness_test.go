package anthropic_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/perstack-go/perstack/internal/providers/anthropic"
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

const key = "sk-ant-test-0123456789"

// serve returns a model at a server that answers in one way. change may be nil.
func serve(t testing.TB, handler http.HandlerFunc, change func(*anthropic.Config)) *anthropic.Model {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	cfg := anthropic.Config{Key: key, Config: wire.Config{
		Client: wire.Client{BaseURL: server.URL + "/v1", HTTP: wire.NewHTTPClient(nil)},
		Model:  "claude-sonnet-4-5",
		Known:  model.Known{MaxOutputTokens: 64_000},
	}}
	if change != nil {
		change(&cfg)
	}
	m, err := anthropic.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The events of a plain answer.
const (
	start     = `{"type":"message_start","message":{"id":"m","model":"x","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":1000,"output_tokens":1}}}`
	textStart = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	textOne   = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}`
	textTwo   = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}`
	stop0     = `{"type":"content_block_stop","index":0}`
	ping      = `{"type":"ping"}`
	end       = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}`
	stop      = `{"type":"message_stop"}`
)

func ending(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":5}}`
}
