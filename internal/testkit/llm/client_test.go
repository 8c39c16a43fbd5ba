package llm

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

func mustParse(t testing.TB, text string) *Script {
	t.Helper()
	s, err := Parse("demo.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// An answer is what a client gets to see.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // with which reading ended
}

// hello is the shortest request.
const hello = `{"model":"claude-test","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`

func ask(ctx context.Context, url, body string, edit func(*http.Request)) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/messages", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("X-Api-Key", Key)
	r.Header.Set("Accept-Encoding", "identity") // what is packed all the same shall be seen
	r.Header.Set("Anthropic-Version", "2023-06-01")
	r.Header.Set("Content-Type", "application/json")
	if edit != nil {
		edit(r)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return client.Do(r)
}

func post(t testing.TB, url, body string) answer {
	t.Helper()
	resp, err := ask(t.Context(), url, body, nil)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(data), err}
}

// play answers hello with the first turn of a script.
func play(t testing.TB, script string) answer {
	t.Helper()
	_, url := Start(t, mustParse(t, script))
	return post(t, url, hello)
}

// names lists the events of a stream.
func names(body string) string {
	var out []string
	for line := range strings.Lines(body) {
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			out = append(out, strings.TrimSpace(name))
		}
	}
	return strings.Join(out, " ")
}

// body is a request with the given members beside the usual ones.
func body(members string, messages ...string) string {
	if len(messages) == 0 {
		messages = []string{user}
	}
	return `{"model":"m","max_tokens":4096,"stream":true,` + members + `"messages":[` + strings.Join(messages, ",") + `]}`
}

const (
	user = `{"role":"user","content":"Hi"}`
	use  = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}},{"type":"tool_use","id":"b","name":"t","input":{}}]}`
)

func results(ids ...string) string {
	var out []string
	for _, id := range ids {
		out = append(out, `{"type":"tool_result","tool_use_id":"`+id+`","content":"ok"}`)
	}
	return `{"role":"user","content":[` + strings.Join(out, ",") + `]}`
}

func says(blocks string) string { return `{"role":"assistant","content":[` + blocks + `]}` }
