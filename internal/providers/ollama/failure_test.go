package ollama_test

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/providers/ollama"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/providers/wire/wiretest"
	"github.com/perstack-go/perstack/model"
)

func TestRefusals(t *testing.T) {
	const context = "; raise the server's context length: OLLAMA_CONTEXT_LENGTH, or num_ctx in the options of extraBody"
	for _, test := range []struct {
		handler http.HandlerFunc
		want    model.Error
	}{
		{refusing(400, nil, `{"error":"model is required"}`), model.Error{StatusCode: 400, Message: "ollama answered 400 Bad Request: model is required"}},
		{refusing(400, nil, `{"error":"\"x\" does not support tools"}`), model.Error{StatusCode: 400, Message: `ollama answered 400 Bad Request: "x" does not support tools; choose a model that can call tools`}},
		{refusing(400, nil, `{"error":"the input length exceeds the context length"}`), model.Error{StatusCode: 400, Message: "ollama answered 400 Bad Request: the input length exceeds the context length" + context}},
		{refusing(401, nil, `{"error":"unauthorized","signin_url":"https://x"}`), model.Error{StatusCode: 401, Message: "ollama answered 401 Unauthorized: unauthorized; sign in with: ollama signin"}},
		{refusing(403, nil, `{"error":"no"}`), model.Error{StatusCode: 403, Message: "ollama answered 403 Forbidden: no"}},
		{refusing(404, nil, `{"error":"model 'qwen3:8b' not found"}`), model.Error{StatusCode: 404, Message: "ollama answered 404 Not Found: model 'qwen3:8b' not found; get it with: ollama pull qwen3:8b"}},
		{refusing(404, nil, "404 page not found"), model.Error{StatusCode: 404, Message: "ollama answered 404 Not Found: no reason given; check the model's name and the base URL"}},
		{refusing(429, http.Header{"Retry-After": {"3"}}, `{"error":"slow down"}`), model.Error{StatusCode: 429, Retryable: true, RetryAfter: 3 * time.Second, Message: "ollama answered 429 Too Many Requests: slow down"}},
		{refusing(500, nil, `{"error":{"message":"of another make"}}`), model.Error{StatusCode: 500, Retryable: true, Message: "ollama answered 500 Internal Server Error: of another make"}},
		{refusing(500, nil, `{"error":"request (9000 tokens) exceeds the available context size (4096 tokens)"}`), model.Error{StatusCode: 500, Message: "ollama answered 500 Internal Server Error: request (9000 tokens) exceeds the available context size (4096 tokens)" + context}},
		{refusing(500, nil, `{"error":"model requires more system memory (9 GiB) than is available (1 GiB)"}`), model.Error{StatusCode: 500, Message: "ollama answered 500 Internal Server Error: model requires more system memory (9 GiB) than is available (1 GiB)"}},
		{refusing(500, nil, "<html>"), model.Error{StatusCode: 500, Retryable: true, Message: "ollama answered 500 Internal Server Error: no reason given"}},
		{refusing(502, nil, strings.Repeat("[", 100_000)), model.Error{StatusCode: 502, Retryable: true, Message: "ollama answered 502 Bad Gateway: no reason given"}},
		{refusing(503, nil, `{"error":"server busy, please try again"}`), model.Error{StatusCode: 503, Retryable: true, Message: "ollama answered 503 Service Unavailable: server busy, please try again"}},

		// inside a stream
		{streaming(`{"error":"the runner has stopped"}`), model.Error{StatusCode: 500, Retryable: true, Message: "ollama answered 500 Internal Server Error: the runner has stopped"}},
		{streaming(one, `{"error":"the runner has stopped"}`, end), model.Error{StatusCode: 500, Retryable: true, Message: "ollama answered 500 Internal Server Error: the runner has stopped"}},
		{streaming(`{"error":{"message":"of another make"}}`), model.Error{StatusCode: 500, Retryable: true, Message: "ollama answered 500 Internal Server Error: of another make"}},
		{streaming(`{"error":5}`), model.Error{StatusCode: 500, Retryable: true, Message: "ollama answered 500 Internal Server Error: no reason given"}},
		{streaming(`{"error":"x","done":true,"prompt_eval_count":26,"eval_count":5}`), model.Error{StatusCode: 500, Retryable: true, Message: "ollama answered 500 Internal Server Error: x", Usage: used}},
	} {
		_, _, err := ask(t.Context(), serve(t, test.handler, nil), hello())
		test.want.Name = "AI_APICallError"
		if diff := cmp.Diff(test.want, *failure(t, err)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// The name of the model is from a file, which can have come with a repository.
func TestPullIsQuoted(t *testing.T) {
	m := serve(t, refusing(404, nil, `{"error":"model not found"}`), func(c *wire.Config) { c.Model = "x; id\x1b[2J" })
	_, _, err := ask(t.Context(), m, hello())
	if e := failure(t, err); !strings.HasSuffix(e.Message, `ollama pull $'x; id\033[2J'`) {
		t.Errorf("%q", e.Message)
	}
}

// Most often the server is not running yet, and a run that waits can see it start.
func TestNoServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	m := serve(t, nil, func(c *wire.Config) { c.Client.BaseURL = "http://" + address })
	_, _, err = ask(t.Context(), m, hello())
	if e := failure(t, err); e.Retryable || !strings.Contains(e.Message, "cannot connect to ollama") || !strings.Contains(e.Message, "start it with: ollama serve") {
		t.Errorf("%+v", e)
	}
}

// The server ends an answer that repeats itself without a last line. It would do so again.
func TestRepeatedAnswer(t *testing.T) {
	for n, final := range map[int]bool{maxRepeats - 1: false, maxRepeats + 1: true} {
		m := serve(t, streaming(slices.Repeat([]string{one}, n)...), nil)
		_, _, err := ask(t.Context(), m, hello())
		if e := failure(t, err); e.Retryable == final || strings.Contains(e.Message, "repeated itself") != final {
			t.Errorf("%d times: %+v", n, e)
		}
	}
}

const maxRepeats = 30

// Between two lines the server can be silent as long as a generation may take.
func TestSilence(t *testing.T) {
	if first, idle := serve(t, nil, nil).Waits(); first >= 0 || idle >= 0 {
		t.Errorf("waits %v for the first line, and %v for others", first, idle)
	}
}

// A server that runs is not started once more.
func TestSomebodyListens(t *testing.T) {
	m := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil)
	_, _, err := ask(t.Context(), m, hello())
	if e := failure(t, err); !e.Retryable || !strings.Contains(e.Message, "cannot connect to ollama") || strings.Contains(e.Message, "ollama serve") {
		t.Errorf("%+v", e)
	}
}

func TestMalformedAnswers(t *testing.T) {
	for _, line := range []string{
		"garbage", "{", "[]", "5", `{"done":"yes"}`, `{"done":true,"done":true}`, `{"message":{"content":5}}`, `{"message":{"tool_calls":[{"function":{"name":5}}]}}`,
		`{"message":{"tool_calls":{}}}`, `{"eval_count":1.5}`, `{"x":` + strings.Repeat("[", 201) + strings.Repeat("]", 201) + `}`, strings.Repeat(`{"a":`, 100_000),
	} {
		_, _, err := ask(t.Context(), serve(t, streaming(one, line, end), nil), hello())
		if e := failure(t, err); e.Name != "InvalidAnswer" || e.Retryable || len(e.Message) > 3000 {
			t.Errorf("%.60s: %+v", line, e)
		}
	}
}

func FuzzTurn(f *testing.F) {
	f.Add(asLines(thought, one, end))
	f.Add(asLines(called(`"id":"a",`, "b", `{"c":1}`), called("", "b", `"{"`), ended("length")))
	f.Add(asLines(`{"error":"x"}`))
	f.Add("{}\n")
	body := ""
	var cfg wire.Config
	cfg.Model = "m"
	cfg.Client.MaxEvent, cfg.Client.MaxStream = 10_000, 100_000
	cfg.Client.HTTP = wiretest.Client("application/x-ndjson", &body, false)
	m, err := ollama.New(cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body = text
		answer, told, err := ask(t.Context(), m, hello())
		if (answer == nil) == (err == nil) {
			t.Errorf("answer %v, error %v", answer, err)
		}
		if answer != nil && len(answer.Text())+len(strings.Join(told, "")) > 20*len(text) {
			t.Error("more came out than went in")
		}
	})
}
