package providers_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/anthropic"
	"github.com/perstack-go/perstack/internal/providers/bedrock"
	"github.com/perstack-go/perstack/internal/providers/chat"
	"github.com/perstack-go/perstack/internal/providers/gemini"
	"github.com/perstack-go/perstack/internal/providers/ollama"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// What a user gives by its address, and the provider does not fetch itself, is fetched
// once and sent as bytes; what a tool returned by its address is not.
func TestAddressesAreFetched(t *testing.T) {
	const notes = "Three open points."
	const secret = "of-a-tool"
	const web = "http://web.example"
	for name, open := range map[string]func(wire.Config) (model.Model, error){
		"anthropic": func(c wire.Config) (model.Model, error) {
			return anthropic.New(anthropic.Config{Config: c, Key: "a-key-of-anthropic"})
		},
		"bedrock": func(c wire.Config) (model.Model, error) {
			return bedrock.New(bedrock.Config{Config: c, BearerToken: "a-bearer-token", Region: "us-east-1"})
		},
		"azure": func(c wire.Config) (model.Model, error) {
			return chat.New(chat.Config{Config: c, Dialect: chat.Azure, Key: "a-key-of-azure"})
		},
		"deepseek": func(c wire.Config) (model.Model, error) {
			return chat.New(chat.Config{Config: c, Dialect: chat.DeepSeek, Key: "a-key-of-deepseek"})
		},
		"gemini": func(c wire.Config) (model.Model, error) {
			return gemini.New(gemini.Config{Config: c, Key: "a-key-of-google"})
		},
		"ollama": func(c wire.Config) (model.Model, error) { return ollama.New(c) },
	} {
		t.Run(name, func(t *testing.T) {
			var visits atomic.Int32
			fetch := func(_ context.Context, address string) (wire.Medium, error) {
				visits.Add(1)
				if strings.Contains(address, secret) {
					t.Errorf("%s was fetched", address)
				}
				return wire.Medium{Type: wire.TypePlain, Data: base64.StdEncoding.EncodeToString([]byte(notes))}, nil
			}
			var bodies []string
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				bodies = append(bodies, string(body))
				w.WriteHeader(http.StatusBadRequest) // what it was asked is all that matters
			}))
			defer service.Close()
			m, err := open(wire.Config{
				Client: wire.Client{BaseURL: service.URL, HTTP: &http.Client{}}, Provider: name, Model: "gemini-2.5-pro",
				Fetch: fetch,
			})
			if err != nil {
				t.Fatal(err)
			}
			file := func(path string) event.Part {
				return event.Part{Type: event.FileURLPart, MIMEType: "text/plain", URL: web + path}
			}
			req := &model.Request{Tools: []model.Tool{{Name: "look"}}, Messages: []*event.Message{
				{Type: event.UserMessage, Contents: []event.Part{{Type: event.TextPart, Text: "Read."}, file("/notes.txt")}},
				{Type: event.ExpertMessage, Contents: []event.Part{{Type: event.ToolCallPart, ToolCallID: "c1", ToolName: "look"}}},
				{Type: event.ToolMessage, Contents: []event.Part{{Type: event.ToolResultPart, ToolCallID: "c1", ToolName: "look", Contents: []event.Part{file("/" + secret)}}}},
			}}
			for range 2 {
				for range m.Generate(t.Context(), req) {
				}
			}
			if n := visits.Load(); n != 1 || len(bodies) != 2 {
				t.Fatalf("%d visits for %d requests", n, len(bodies))
			}
			for _, body := range bodies {
				if !strings.Contains(body, notes) && !strings.Contains(body, base64.StdEncoding.EncodeToString([]byte(notes))) || strings.Contains(body, web) {
					t.Errorf("sent %s", body)
				}
			}
		})
	}
}
