package bedrock_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/bedrock"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/providers/wire/wiretest"
	"github.com/perstack-go/perstack/model"
)

// The helpers of all wires, by shorter names.
var (
	ask         = wiretest.Ask
	refusing    = wiretest.Refusing
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
	return wiretest.Failure(t, err, secret)
}

// streaming answers with a stream of frames.
func streaming(frames ...string) http.HandlerFunc {
	return wiretest.Streaming(streamType, strings.Join(frames, ""))
}

const (
	keyID  = "AKIDTEST"
	secret = "wJalr/XUtnFEMI+K7MDENG"
	sonnet = "anthropic.claude-sonnet-4-5-20250929-v1:0"
	llama  = "meta.llama3-3-70b-instruct-v1:0"
	own    = "amazon-bedrock/" + sonnet
)

// serve returns a model at a server that answers in one way. change may be nil.
func serve(t testing.TB, handler http.HandlerFunc, change func(*bedrock.Config)) *bedrock.Model {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	cfg := config(server.URL)
	if change != nil {
		change(&cfg)
	}
	m, err := bedrock.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func config(url string) bedrock.Config {
	return bedrock.Config{
		Config: wire.Config{
			Provider: "amazon-bedrock", Model: sonnet, Known: model.Known{MaxOutputTokens: 64_000},
			Client: wire.Client{BaseURL: url, HTTP: wire.NewHTTPClient(nil)},
		},
		AccessKeyID: keyID, SecretAccessKey: secret, Region: "eu-central-1",
	}
}

// named changes the model.
func named(id string) func(*bedrock.Config) {
	return func(c *bedrock.Config) { c.Model, c.Known = id, model.Known{} }
}

const streamType = "application/vnd.amazon.eventstream"

// frame is a message of an event stream, with headers that are texts.
func frame(payload string, headers ...string) string {
	m := eventstream.Message{Payload: []byte(payload)}
	for i := 0; i < len(headers); i += 2 {
		m.Headers.Set(headers[i], eventstream.StringValue(headers[i+1]))
	}
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
		panic(err)
	}
	return b.String()
}

func ev(kind, payload string) string {
	return frame(payload, ":event-type", kind, ":content-type", "application/json", ":message-type", "event")
}

func exception(kind, payload string) string {
	return frame(payload, ":exception-type", kind, ":content-type", "application/json", ":message-type", "exception")
}

func delta(payload string) string {
	return ev("contentBlockDelta", `{"contentBlockIndex":0,"delta":`+payload+`,"p":"abc"}`)
}

func ending(reason string) string { return ev("messageStop", `{"stopReason":"`+reason+`","p":"ab"}`) }

// The frames of a plain answer.
var (
	begin   = ev("messageStart", `{"role":"assistant","p":"abcd"}`)
	textOne = delta(`{"text":"Hel"}`)
	textTwo = delta(`{"text":"lo"}`)
	stop0   = ev("contentBlockStop", `{"contentBlockIndex":0}`)
	end     = ending("end_turn")
	counts  = ev("metadata", `{"metrics":{"latencyMs":5},"usage":{"inputTokens":10,"cacheReadInputTokens":100,"cacheWriteInputTokens":1000,"outputTokens":5,"totalTokens":1115}}`)
	plain   = []string{begin, textOne, textTwo, stop0, end, counts}

	usage = event.Usage{InputTokens: 1110, CachedInputTokens: 100, OutputTokens: 5, TotalTokens: 1115}
)
