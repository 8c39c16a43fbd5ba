package chat_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/llm"
)

// An answer is what a client gets to see.
type answer struct {
	status int
	header http.Header
	body   string
}

// A caller says where a request goes, and how.
type caller struct {
	path   string
	method string
	header map[string]string
}

// azure and deepSeek call as the services want it.
func azure() caller {
	return caller{"/openai/v1/chat/completions?api-version=v1", http.MethodPost, map[string]string{"Api-Key": llm.Key, "Content-Type": "application/json"}}
}

func deepSeek() caller {
	return caller{"/deepseek/chat/completions", http.MethodPost, map[string]string{"Authorization": "Bearer " + llm.Key, "Content-Type": "application/json"}}
}

func (c caller) at(path string) caller { c.path = path; return c }

func (c caller) with(name, value string) caller {
	header := map[string]string{name: value}
	for n, v := range c.header {
		if n != name {
			header[n] = v
		}
	}
	c.header = header
	return c
}

func (c caller) post(t testing.TB, root, body string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), c.method, root+c.path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range c.header {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(data)}
}

func start(t testing.TB, text string) (*llm.Server, string) {
	t.Helper()
	s, err := llm.Parse("demo.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	server, _ := llm.Start(t, s)
	return server, server.Root()
}

// body is a request with the given members beside the usual ones.
func body(members string, messages ...string) string {
	if len(messages) == 0 {
		messages = []string{user}
	}
	return `{"model":"m","stream":true,"stream_options":{"include_usage":true},` + members + `"messages":[` + strings.Join(messages, ",") + `]}`
}

const (
	user = `{"role":"user","content":"Hi"}`
	use  = `{"role":"assistant","content":"","tool_calls":[` + callA + `,` + callB + `]}`

	callA = `{"id":"a","type":"function","function":{"name":"t","arguments":"{}"}}`
	callB = `{"id":"b","type":"function","function":{"name":"t","arguments":"broken"}}`
	tool  = `{"type":"function","function":{"name":"t","parameters":{"type":"object","properties":{}}}}`
)

func result(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"ok"}` }

func says(members string) string { return `{"role":"assistant",` + members + `}` }

func asks(parts string) string { return `{"role":"user","content":[` + parts + `]}` }
