package chat_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/chat"
	"github.com/perstack-go/perstack/internal/providers/wire/wiretest"
	"github.com/perstack-go/perstack/model"
)

// problem is an error as the services write it. code is JSON.
func problem(kind, code, message string) string {
	return `{"error":{"message":"` + message + `","type":"` + kind + `","param":null,"code":` + code + `}}`
}

// blocked is what Azure answers when its filter objects to a prompt.
const blocked = `{"error":{"inner_error":{"code":"ResponsibleAIPolicyViolation"},"code":"content_filter","message":"The response was filtered","param":"prompt","type":null,"status":400,` +
	`"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"hate":{"filtered":true,"severity":"high"},"jailbreak":{"filtered":true,"detected":true},"violence":{"filtered":false,"severity":"safe"}}}}}`

func TestRefusals(t *testing.T) {
	const who = "azure-openai answered "
	for _, test := range []struct {
		handler http.HandlerFunc
		want    model.Error
	}{
		{refusing(400, nil, problem("invalid_request_error", `"context_length_exceeded"`, "too long")), model.Error{StatusCode: 400, Message: who + "400 Bad Request: too long"}},
		{refusing(400, nil, blocked), model.Error{Name: "ContentFilter", StatusCode: 400, Message: who + "400 Bad Request: The response was filtered (hate: high, jailbreak)"}},
		{refusing(401, nil, `{"error":{"code":"401","message":"Access denied due to invalid subscription key `+key+`"}}`), model.Error{StatusCode: 401, Message: who + "401 Unauthorized: Access denied due to invalid subscription key [redacted]; check the API key"}},
		{refusing(401, nil, `{"statusCode":401,"message":"Unauthorized. Access token is missing"}`), model.Error{StatusCode: 401, Message: who + "401 Unauthorized: Unauthorized. Access token is missing; check the API key"}},
		{refusing(402, nil, problem("unknown_error", `"invalid_request_error"`, "Insufficient Balance")), model.Error{StatusCode: 402, Message: who + "402 Payment Required: Insufficient Balance"}},
		{refusing(403, nil, problem("", `null`, "")), model.Error{StatusCode: 403, Message: who + "403 Forbidden: no reason given; check what the API key may do"}},
		{refusing(404, nil, `{"error":{"code":"DeploymentNotFound","message":""}}`), model.Error{StatusCode: 404, Message: who + "404 Not Found: DeploymentNotFound; check the model's name and the base URL"}},
		{refusing(422, nil, problem("invalid_request_error", `"x"`, "bad")), model.Error{StatusCode: 422, Message: who + "422 Unprocessable Entity: bad"}},
		{refusing(429, http.Header{"Retry-After": {"3"}}, `{"error":{"code":"429","message":"slow down"}}`), model.Error{StatusCode: 429, Retryable: true, RetryAfter: 3 * time.Second, Message: who + "429 Too Many Requests: slow down"}},
		{refusing(429, http.Header{"Retry-After": {"3"}}, problem("insufficient_quota", `"insufficient_quota"`, "pay")), model.Error{StatusCode: 429, Message: who + "429 Too Many Requests: pay"}},
		{refusing(500, nil, "<html>"), model.Error{StatusCode: 500, Retryable: true, Message: who + "500 Internal Server Error: no reason given"}},
		{refusing(502, nil, strings.Repeat("[", 100_000)), model.Error{StatusCode: 502, Retryable: true, Message: who + "502 Bad Gateway: no reason given"}},
		{refusing(503, nil, `{"error":"overloaded"}`), model.Error{StatusCode: 503, Retryable: true, Message: who + "503 Service Unavailable: overloaded"}},
		{refusing(503, nil, `{"error":{"message":7,"type":["x"],"code":503,"innererror":"odd"}}`), model.Error{StatusCode: 503, Retryable: true, Message: who + "503 Service Unavailable: 503"}},
		{refusing(504, nil, `{"error":["x"]}`), model.Error{StatusCode: 504, Retryable: true, Message: who + "504 Gateway Timeout: no reason given"}},

		// inside a stream
		{streaming(problem("server_error", `null`, "oops")), model.Error{StatusCode: 500, Retryable: true, Message: who + "500 Internal Server Error: oops"}},
		{streaming(begin, say("Hi"), problem("rate_limit_error", `"rate_limit_exceeded"`, "slow down")), model.Error{StatusCode: 429, Retryable: true, Message: who + "429 Too Many Requests: slow down"}},
		{streaming(begin, say("Hi"), end("stop"), spent, problem("", `"503"`, "gone")), model.Error{Usage: usage, StatusCode: 503, Retryable: true, Message: who + "503 Service Unavailable: gone"}},
		{refusing(429, nil, problem("insufficient_quota", "null", "pay")), model.Error{StatusCode: 429, Message: who + "429 Too Many Requests: pay"}},
		{streaming(problem("invalid_request_error", "null", "bad")), model.Error{StatusCode: 400, Message: who + "400 Bad Request: bad"}},
		{streaming(problem("insufficient_quota", `"insufficient_quota"`, "pay")), model.Error{StatusCode: 429, Message: who + "429 Too Many Requests: pay"}},
		{streaming(problem("authentication_error", `"invalid_request_error"`, "expired "+key)), model.Error{StatusCode: 401, Message: who + "401 Unauthorized: expired [redacted]; check the API key"}},
		{streaming(problem("invalid_request_error", `"context_length_exceeded"`, "too long")), model.Error{StatusCode: 400, Message: who + "400 Bad Request: too long"}},
		{streaming(problem("service_unavailable_error", `418`, "later")), model.Error{StatusCode: 418, Message: who + "418 I'm a teapot: later"}},
		{streaming(problem("service_unavailable_error", `9`, "later")), model.Error{StatusCode: 503, Retryable: true, Message: who + "503 Service Unavailable: later"}},
		{streaming(blocked), model.Error{Name: "ContentFilter", StatusCode: 400, Message: who + "400 Bad Request: The response was filtered (hate: high, jailbreak)"}},
		{streaming(`{"error":"broken"}`), model.Error{StatusCode: 500, Retryable: true, Message: who + "500 Internal Server Error: broken"}},
		{streaming(`{"error":{}}`), model.Error{StatusCode: 500, Retryable: true, Message: who + "500 Internal Server Error: no reason given"}},
		{
			streaming(begin, say("Hi"), `{"choices":[{"index":0,"delta":{},"finish_reason":"insufficient_system_resource"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}`, done),
			model.Error{
				Usage: event.Usage{InputTokens: 5, OutputTokens: 1, TotalTokens: 6}, StatusCode: 503, Retryable: true,
				Message: who + "503 Service Unavailable: the service had no resources left for this answer (insufficient_system_resource)",
			},
		},
	} {
		_, _, err := ask(t.Context(), serve(t, test.handler, nil), hello())
		if test.want.Name == "" {
			test.want.Name = "AI_APICallError"
		}
		if diff := cmp.Diff(test.want, *failure(t, err)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestMalformedAnswers(t *testing.T) {
	for _, event := range []string{
		"garbage", "{", "[]", `"text"`, "done", `{"choices":5}`, `{"choices":[],"choices":[]}`, `{"choices":[{"delta":{"content":5}}]}`,
		`{"choices":[{"delta":{"tool_calls":{}}}]}`, `{"choices":[],"usage":{"prompt_tokens":"many"}}`,
		`{"news":` + strings.Repeat("[", 201) + strings.Repeat("]", 201) + `}`,
		strings.Repeat(`{"a":`, 100_000),
	} {
		_, _, err := ask(t.Context(), serve(t, streaming(begin, event, end("stop"), done), nil), hello())
		if e := failure(t, err); e.Name != "InvalidAnswer" || e.Retryable || len(e.Message) > 3000 {
			t.Errorf("%.60s: %+v", event, e)
		}
	}
}

// A connection that breaks is no clean end, even after the reason.
func TestBrokenConnection(t *testing.T) {
	for _, events := range [][]string{{begin, say("Hi"), end("stop")}, {begin, say("Hi"), end("stop"), spent}} {
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			streaming(events...)(w, r)
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, nil)
		answer, _, err := ask(t.Context(), m, hello())
		if e := failure(t, err); answer != nil || e.Name != "IncompleteAnswer" || !e.Retryable {
			t.Errorf("after %d events: %+v", len(events), e)
		}
	}
}

func TestMarkOfTheEndAlone(t *testing.T) {
	_, _, err := ask(t.Context(), serve(t, streaming(begin, say("Hi"), spent, done), nil), hello())
	if e := failure(t, err); e.Name != "IncompleteAnswer" || !cmp.Equal(usage, e.Usage) {
		t.Errorf("%+v", e)
	}
}

// What was counted is told with every kind of break.
func TestUsageOfBrokenAnswers(t *testing.T) {
	m := serve(t, nil, func(c *chat.Config) {
		c.Client.Idle = time.Millisecond
		body := asSSE(begin, spent)
		c.Client.HTTP = wiretest.Client("text/event-stream", &body, true)
	})
	_, _, err := ask(t.Context(), m, hello())
	if e := failure(t, err); e.Name != "TimeoutError" || !cmp.Equal(usage, e.Usage) {
		t.Errorf("%+v", e)
	}
	_, _, err = ask(t.Context(), serve(t, streaming(begin, spent, "garbage"), nil), hello())
	if e := failure(t, err); e.Name != "InvalidAnswer" || !cmp.Equal(usage, e.Usage) {
		t.Errorf("%+v", e)
	}
}

func TestTooMuch(t *testing.T) {
	endless := func(piece string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
		}
	}
	for name, handler := range map[string]http.HandlerFunc{
		"calls":     endless(asSSE(callBegin("0", "a", "b"), callBegin("0", "c", "d"))),
		"arguments": endless(asSSE(callArgs("0", "1"))),
		"nothing":   endless(asSSE(begin)),
	} {
		t.Run(name, func(t *testing.T) {
			m := serve(t, handler, func(c *chat.Config) { c.Client.MaxEvent, c.Client.MaxStream = 10_000, 100_000 })
			_, _, err := ask(t.Context(), m, hello())
			if e := failure(t, err); e.Name != "InvalidAnswer" || e.Retryable {
				t.Errorf("%+v", e)
			}
		})
	}
}

func FuzzTurn(f *testing.F) {
	f.Add(asSSE(begin, think("Hm"), say("Hi"), end("stop"), spent, done))
	f.Add(asSSE(callBegin("0", "a", "b"), callArgs("0", "{"), callBegin("0", "c", "d"), end("tool_calls"), done))
	f.Add(asSSE(with(`"tool_calls":[{"function":{"arguments":"x"}}],"refusal":"no"`), end("length")))
	f.Add(asSSE(problem("server_error", "500", "x")))
	f.Add(asSSE(blocked))
	f.Add("data: {}\n\n")
	body := ""
	cfg := azure()
	cfg.Client.MaxEvent, cfg.Client.MaxStream = 10_000, 100_000
	cfg.Client.HTTP = wiretest.Client("text/event-stream", &body, false)
	m, err := chat.New(cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		body = stream
		answer, told, err := ask(t.Context(), m, hello())
		if (answer == nil) == (err == nil) {
			t.Fatalf("answer %v, error %v", answer, err)
		}
		if answer == nil {
			return
		}
		if answer.Reason == "" {
			t.Error("an answer without its end")
		}
		size, words := 0, ""
		for _, p := range answer.Parts {
			size += len(p.Text) + len(p.Thinking) + len(p.Args) + len(p.ToolName) + len(p.ToolCallID)
			words += p.Text
		}
		if size > 4*len(stream) {
			t.Error("more came out than went in")
		}
		heard := ""
		for _, piece := range told {
			if piece, ok := strings.CutPrefix(piece, "say:"); ok {
				heard += piece
			}
		}
		if heard != words {
			t.Errorf("told %q, answered %q", heard, words)
		}
	})
}
