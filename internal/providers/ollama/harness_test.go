package ollama_test

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
	"github.com/perstack-go/perstack/internal/providers/ollama"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const (
	name = "qwen3:8b"
	own  = "ollama/" + name
)

// serve returns a model at a server that answers in one way. change may be nil.
func serve(t testing.TB, handler http.HandlerFunc, change func(*ollama.Config)) *ollama.Model {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	var cfg ollama.Config
	cfg.Model = name
	cfg.Client = wire.Client{BaseURL: server.URL, HTTP: wire.NewHTTPClient(nil)}
	if change != nil {
		change(&cfg)
	}
	m, err := ollama.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// streaming answers with lines.
func streaming(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		io.WriteString(w, asLines(lines...))
	}
}

func asLines(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

// recording answers with nothing and keeps the bodies.
func recording(bodies *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*bodies = append(*bodies, string(body))
		streaming(end)(w, r)
	}
}

// ask asks once and returns everything that was told.
func ask(ctx context.Context, m *ollama.Model, req *model.Request) (answer *model.Answer, told []string, err error) {
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
	return e
}

func hello() *model.Request { return &model.Request{Messages: []*event.Message{asks(text("Hello"))}} }

func message(kind event.MessageType, parts ...event.Part) *event.Message {
	return &event.Message{Type: kind, Contents: parts}
}

func instruction(s string) *event.Message { return message(event.InstructionMessage, text(s)) }

func asks(parts ...event.Part) *event.Message { return message(event.UserMessage, parts...) }

func results(parts ...event.Part) *event.Message { return message(event.ToolMessage, parts...) }

func says(author string, parts ...event.Part) *event.Message {
	return &event.Message{Type: event.ExpertMessage, Author: author, Contents: parts}
}

func text(s string) event.Part { return event.Part{Type: event.TextPart, Text: s} }

func thinks(s string) event.Part { return event.Part{Type: event.ThinkingPart, Thinking: s} }

func calls(id, tool, args string) event.Part {
	return event.Part{Type: event.ToolCallPart, ToolCallID: id, ToolName: tool, Args: jsontext.Value(args)}
}

func returned(id, tool string, isError bool, parts ...event.Part) event.Part {
	return event.Part{Type: event.ToolResultPart, ToolCallID: id, ToolName: tool, IsError: isError, Contents: parts}
}

func image(data string) event.Part {
	return event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: data}
}

func file(kind, data string) event.Part {
	return event.Part{Type: event.FileInlinePart, MIMEType: kind, EncodedData: data}
}

func linked(kind event.PartType, mime, url string) event.Part {
	return event.Part{Type: kind, MIMEType: mime, URL: url}
}

// The first bytes of some files, in base64.
const (
	png  = "iVBORw0KGgoAAAAN"
	gif  = "R0lGODlhAQABAAAA"
	pdf  = "JVBERi0xLjcK"
	note = "bm90ZXM=" // notes
)

// The lines of a plain answer.
const (
	thought = `{"model":"m","created_at":"2026-01-02T03:04:05.6Z","message":{"role":"assistant","content":"","thinking":"Hm. "},"done":false}`
	one     = `{"model":"m","created_at":"2026-01-02T03:04:05.6Z","message":{"role":"assistant","content":"Hel"},"done":false}`
	two     = `{"model":"m","created_at":"2026-01-02T03:04:05.6Z","message":{"role":"assistant","content":"lo"},"done":false}`
	end     = `{"model":"m","created_at":"2026-01-02T03:04:05.6Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop",` +
		`"total_duration":1,"load_duration":2,"prompt_eval_count":26,"prompt_eval_duration":3,"eval_count":5,"eval_duration":4}`
)

var used = event.Usage{InputTokens: 26, OutputTokens: 5, TotalTokens: 31}

func called(id, tool, args string) string {
	return `{"message":{"role":"assistant","content":"","tool_calls":[{` + id + `"function":{"index":0,"name":"` + tool + `","arguments":` + args + `}}]},"done":false}`
}

func ended(reason string) string {
	return `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"` + reason + `","prompt_eval_count":26,"eval_count":5}`
}
