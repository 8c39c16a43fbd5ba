package gemini_test

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
	"github.com/perstack-go/perstack/internal/providers/gemini"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
)

const (
	key   = "AIza-test-0123456789"
	token = "ya29.test-0123456789"
)

// config is that of the Gemini API at root.
func config(root string) gemini.Config {
	return gemini.Config{
		Config: wire.Config{
			Client:   wire.Client{BaseURL: root + "/v1beta", HTTP: wire.NewHTTPClient(nil)},
			Provider: "google", Model: "gemini-2.5-flash",
		},
		Key: key,
	}
}

// onVertex makes it one of Vertex AI.
func onVertex(c *gemini.Config) {
	c.Provider, c.Key = "google-vertex", ""
	c.Client.BaseURL = strings.TrimSuffix(c.Client.BaseURL, "/v1beta") + "/v1beta1/projects/p/locations/l/publishers/google"
	c.Token = func(context.Context) (string, error) { return token, nil }
}

// serve returns a model at a server that answers in one way.
func serve(t testing.TB, handler http.HandlerFunc, changes ...func(*gemini.Config)) *gemini.Model {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return open(t, server.URL, changes...)
}

func open(t testing.TB, root string, changes ...func(*gemini.Config)) *gemini.Model {
	t.Helper()
	cfg := config(root)
	for _, change := range changes {
		if change != nil {
			change(&cfg)
		}
	}
	m, err := gemini.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// scripted returns a model at the scripted server, which refuses what the service would.
func scripted(t testing.TB, script string, changes ...func(*gemini.Config)) (*llm.Server, *gemini.Model) {
	t.Helper()
	s, err := llm.Parse(t.Name(), []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server, _ := llm.Start(t, s)
	changes = append([]func(*gemini.Config){func(c *gemini.Config) { c.Key = llm.Key }}, changes...)
	return server, open(t, server.Root(), append(changes, func(c *gemini.Config) {
		if c.Token != nil {
			c.Token = func(context.Context) (string, error) { return "ya29." + llm.Key, nil }
		}
	})...)
}

func named(name string) func(*gemini.Config) {
	return func(c *gemini.Config) { c.Model = name }
}

// streaming answers with a stream of chunks, each given as its JSON.
func streaming(chunks ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, asSSE(chunks...))
	}
}

func asSSE(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString("data: " + c + "\r\n\r\n") // as the service ends its lines
	}
	return b.String()
}

// parts is a chunk with parts; ending one with a reason as well.
func parts(all ...string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + strings.Join(all, ",") + `]},"index":0}],"usageMetadata":{"promptTokenCount":10,"totalTokenCount":10}}`
}

func ending(reason string, all ...string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + strings.Join(all, ",") + `]},"finishReason":"` + reason + `","index":0}],` +
		`"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":5,"thoughtsTokenCount":3,"toolUsePromptTokenCount":2,"totalTokenCount":20}}`
}

var (
	begun = event.Usage{InputTokens: 10, TotalTokens: 10}
	usage = event.Usage{InputTokens: 12, CachedInputTokens: 4, OutputTokens: 8, ReasoningTokens: 3, TotalTokens: 20}
)

const (
	hel = `{"text":"Hel"}`
	lo  = `{"text":"lo"}`
)

// ask asks once and returns everything that was told.
func ask(ctx context.Context, m *gemini.Model, req *model.Request) (answer *model.Answer, told []string, err error) {
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
	for _, secret := range []string{key, token} {
		if strings.Contains(e.Message, secret) {
			t.Errorf("a secret is in the error: %s", e.Message)
		}
	}
	return e
}

// Parts and messages of conversations.

func text(s string) event.Part { return event.Part{Type: event.TextPart, Text: s} }

func user(s string) *event.Message { return asks(text(s)) }

func asks(parts ...event.Part) *event.Message {
	return &event.Message{Type: event.UserMessage, Contents: parts}
}

func instruction(s string) *event.Message {
	return &event.Message{Type: event.InstructionMessage, Contents: []event.Part{text(s)}}
}

func says(author string, parts ...event.Part) *event.Message {
	return &event.Message{Type: event.ExpertMessage, Author: author, Contents: parts}
}

func results(parts ...event.Part) *event.Message {
	return &event.Message{Type: event.ToolMessage, Contents: parts}
}

func calls(id, tool, args string) event.Part {
	return event.Part{Type: event.ToolCallPart, ToolCallID: id, ToolName: tool, Args: jsontext.Value(args)}
}

func marked(p event.Part, data string) event.Part {
	p.ProviderData = jsontext.Value(data)
	return p
}

func thinks(s string) event.Part { return event.Part{Type: event.ThinkingPart, Thinking: s} }

func returned(id string, parts ...event.Part) event.Part {
	return event.Part{Type: event.ToolResultPart, ToolCallID: id, Contents: parts}
}

func failed(id string, parts ...event.Part) event.Part {
	p := returned(id, parts...)
	p.IsError = true
	return p
}

func hello() *model.Request { return &model.Request{Messages: []*event.Message{user("Hello")}} }
