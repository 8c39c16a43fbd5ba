package anthropic_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/anthropic"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

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

// streaming answers with a stream of events, each given as its JSON.
func streaming(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, asSSE(events...))
	}
}

func asSSE(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("event: x\ndata: " + e + "\n\n")
	}
	return b.String()
}

// ask asks once and returns everything that was told.
func ask(ctx context.Context, m *anthropic.Model, req *model.Request) (answer *model.Answer, told []string, err error) {
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

// hello is a conversation of one message.
func hello() *model.Request {
	return &model.Request{Messages: []*event.Message{user("Hello")}}
}

func user(text string) *event.Message {
	return &event.Message{Type: event.UserMessage, Contents: []event.Part{{Type: event.TextPart, Text: text}}}
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
