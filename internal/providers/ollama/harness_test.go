package ollama_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/ollama"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/providers/wire/wiretest"
	"github.com/perstack-go/perstack/model"
)

// The helpers of all wires, by shorter names.
var (
	ask         = wiretest.Ask
	refusing    = wiretest.Refusing
	hello       = wiretest.Hello
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
	return wiretest.Failure(t, err, "")
}

// streaming answers with lines.
func streaming(lines ...string) http.HandlerFunc {
	return wiretest.Streaming("application/x-ndjson", asLines(lines...))
}

const (
	name = "qwen3:8b"
	own  = "ollama/" + name
)

// serve returns a model at a server that answers in one way. change may be nil.
func serve(t testing.TB, handler http.HandlerFunc, change func(*wire.Config)) *ollama.Model {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	var cfg wire.Config
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

func asLines(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

// recording answers with nothing and keeps the bodies.
func recording(bodies *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*bodies = append(*bodies, string(body))
		streaming(end)(w, r)
	}
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
