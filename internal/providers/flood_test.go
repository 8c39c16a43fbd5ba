package providers_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/anthropic"
	"github.com/perstack-go/perstack/internal/providers/bedrock"
	"github.com/perstack-go/perstack/internal/providers/chat"
	"github.com/perstack-go/perstack/internal/providers/gemini"
	"github.com/perstack-go/perstack/internal/providers/ollama"
	"github.com/perstack-go/perstack/internal/providers/responses"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// wires opens one model of each wire, at a server that is no good.
var wires = map[string]func(wire.Config) (model.Model, error){
	"anthropic": func(c wire.Config) (model.Model, error) {
		return anthropic.New(anthropic.Config{Config: c, Key: "sk-12345678"})
	},
	"responses": func(c wire.Config) (model.Model, error) {
		return responses.New(responses.Config{Config: c, Key: "sk-12345678"})
	},
	"chat": func(c wire.Config) (model.Model, error) {
		return chat.New(chat.Config{Config: c, Dialect: chat.DeepSeek, Key: "sk-12345678"})
	},
	"gemini": func(c wire.Config) (model.Model, error) {
		return gemini.New(gemini.Config{Config: c, Key: "sk-12345678"})
	},
	"bedrock": func(c wire.Config) (model.Model, error) {
		return bedrock.New(bedrock.Config{Config: c, BearerToken: "sk-12345678", Region: "us-east-1"})
	},
	"ollama": func(c wire.Config) (model.Model, error) { return ollama.New(c) },
}

// A service that sends few bytes which take much memory, or which take much time, is
// stopped early: by the number of values in an event, and of parts in an answer.
func TestFloods(t *testing.T) {
	for _, f := range []struct {
		wire, name string
		event      func(i int) string // the i-th; it is asked for until the client has enough
	}{
		{"ollama", "calls", each(line(filled(`{"message":{"tool_calls":[`, `{},`, `]}}`)))},
		{"ollama", "thoughts and words", each(line(`{"message":{"thinking":"a","content":"b"}}`))},
		{"chat", "choices", each(data(filled(`{"choices":[`, `{},`, `]}`)))},
		{"chat", "calls in one event", each(data(filled(`{"choices":[{"delta":{"tool_calls":[`, `{},`, `]}}]}`)))},
		{"chat", "calls", func(i int) string {
			return data(fmt.Sprintf(`{"choices":[{"delta":{"tool_calls":[{"index":%d}]}}]}`, i))
		}},
		{"chat", "thoughts and words", each(data(`{"choices":[{"delta":{"content":"a"}},{"delta":{"reasoning_content":"b"}}]}`))},
		{"gemini", "candidates", each(data(filled(`{"candidates":[`, `{},`, `]}`)))},
		{"gemini", "parts", each(data(filled(`{"candidates":[{"content":{"parts":[`, `{},`, `]}}]}`)))},
		{"gemini", "calls", each(data(`{"candidates":[{"content":{"parts":[{"functionCall":{}},{"functionCall":{}}]}}]}`))},
		{"responses", "texts", func(i int) string {
			return data(fmt.Sprintf(`{"type":"response.output_text.delta","output_index":%d,"delta":"a"}`, i))
		}},
		{"responses", "items", func(i int) string {
			return data(fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":{"type":"x"}}`, i))
		}},
		{"responses", "a last event", each(data(filled(`{"type":"response.completed","response":{"output":[`, `{"type":"x"},`, `]}}`)))},
		{"responses", "a message", each(data(filled(`{"type":"response.output_item.done","item":{"type":"message","content":[`, `{},`, `]}}`)))},
		{"responses", "marks", func(i int) string {
			mark := strings.Repeat("x", 6<<20)
			return data(fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":{"type":"reasoning","id":"r%d","encrypted_content":"%s"}}`, i, i, mark))
		}},
		{"anthropic", "blocks nobody knows", each(data(`{"type":"content_block_start","content_block":{"type":"a"}}`))},
		{"anthropic", "texts", func(i int) string {
			return data(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":"a"}}`, i))
		}},
		{"bedrock", "calls", func(i int) string {
			return frame(t, "contentBlockStart", fmt.Sprintf(`{"contentBlockIndex":%d,"start":{"toolUse":{}}}`, i))
		}},
	} {
		t.Run(f.wire+"/"+f.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", map[string]string{"ollama": "application/x-ndjson", "bedrock": "application/vnd.amazon.eventstream"}[f.wire])
				if f.wire != "ollama" && f.wire != "bedrock" {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				for i := range 100_000 {
					if _, err := io.WriteString(w, f.event(i)); err != nil {
						return
					}
				}
			}))
			defer server.Close()
			m, err := wires[f.wire](wire.Config{Provider: f.wire, Model: "gemini-2.5-pro", Client: wire.Client{BaseURL: server.URL, HTTP: wire.NewHTTPClient(nil)}})
			if err != nil {
				t.Fatal(err)
			}
			var last error
			for c, err := range m.Generate(t.Context(), &model.Request{Messages: []*event.Message{{Type: event.UserMessage, Contents: []event.Part{{Type: event.TextPart, Text: "hi"}}}}}) {
				if last = err; c.Answer != nil {
					t.Fatalf("an answer of %d parts was taken", len(c.Answer.Parts))
				}
			}
			if e := model.AsError(last); e.Name != "InvalidAnswer" || !strings.Contains(e.Message, "more than") {
				t.Errorf("%+v", e)
			}
		})
	}
}

func each(event string) func(int) string { return func(int) string { return event } }

func data(s string) string { return "data: " + s + "\n\n" }

func line(s string) string { return s + "\n" }

// filled is an event of 2 MB: as many items as fit between a head and a tail.
func filled(head, item, tail string) string {
	return head + strings.TrimSuffix(strings.Repeat(item, 2_000_000/len(item)), ",") + tail
}

func frame(t *testing.T, name, payload string) string {
	t.Helper()
	var b bytes.Buffer
	err := eventstream.NewEncoder().Encode(&b, eventstream.Message{
		Headers: eventstream.Headers{{Name: ":message-type", Value: eventstream.StringValue("event")}, {Name: ":event-type", Value: eventstream.StringValue(name)}},
		Payload: []byte(payload),
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
