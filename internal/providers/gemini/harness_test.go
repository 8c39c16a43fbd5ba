package gemini_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/gemini"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/providers/wire/wiretest"
	"github.com/perstack-go/perstack/internal/testkit/llm"
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
	marked      = wiretest.Marked
)

func failure(t testing.TB, err error) *model.Error {
	t.Helper()
	_ = wiretest.Failure(t, err, token)
	return wiretest.Failure(t, err, key)
}

// streaming answers with a stream of events, each given as its JSON.
func streaming(events ...string) http.HandlerFunc {
	return wiretest.Streaming("text/event-stream; charset=utf-8", asSSE(events...))
}

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

// Parts and messages of conversations.

func returned(id string, parts ...event.Part) event.Part {
	return event.Part{Type: event.ToolResultPart, ToolCallID: id, Contents: parts}
}

func failed(id string, parts ...event.Part) event.Part {
	p := returned(id, parts...)
	p.IsError = true
	return p
}
