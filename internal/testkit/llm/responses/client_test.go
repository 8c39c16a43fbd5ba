package responses_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/llm"
)

// hello is the shortest request.
const hello = `{"model":"gpt-5","stream":true,"store":false,"input":"Hi"}`

func ask(ctx context.Context, url, body string, edit func(*http.Request)) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/responses", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+llm.Key)
	r.Header.Set("Content-Type", "application/json")
	if edit != nil {
		edit(r)
	}
	return http.DefaultClient.Do(r)
}

// An answer is what a client gets to see.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // with which reading ended
}

func post(t testing.TB, url, body string, edit func(*http.Request)) answer {
	t.Helper()
	resp, err := ask(t.Context(), url, body, edit)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(data), err}
}

func start(t testing.TB, text string) (*llm.Server, string) {
	t.Helper()
	s, err := llm.Parse("demo.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return llm.Start(t, s)
}

// play answers hello with the first turn of a script.
func play(t testing.TB, script string) answer {
	t.Helper()
	_, url := start(t, script)
	return post(t, url, hello, nil)
}
