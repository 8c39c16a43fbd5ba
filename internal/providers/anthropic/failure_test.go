package anthropic_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/anthropic"
	"github.com/perstack-go/perstack/internal/providers/wire/wiretest"
	"github.com/perstack-go/perstack/model"
)

func apiError(kind, message string) string {
	return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"}}`
}

// begun is what the first event of a stream counts.
var begun = event.Usage{InputTokens: 1110, CachedInputTokens: 100, OutputTokens: 1, TotalTokens: 1111}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		handler http.HandlerFunc
		want    model.Error
	}{
		{refusing(400, nil, apiError("invalid_request_error", "prompt is too long: 1 > 0")), model.Error{StatusCode: 400, Message: "anthropic answered 400 Bad Request: prompt is too long: 1 > 0"}},
		{refusing(401, nil, apiError("authentication_error", "invalid x-api-key "+key)), model.Error{StatusCode: 401, Message: "anthropic answered 401 Unauthorized: invalid x-api-key [redacted]; check the API key"}},
		{refusing(403, nil, apiError("permission_error", "no")), model.Error{StatusCode: 403, Message: "anthropic answered 403 Forbidden: no; check what the API key may do"}},
		{refusing(413, nil, apiError("request_too_large", "")), model.Error{StatusCode: 413, Message: "anthropic answered 413 Request Entity Too Large: request_too_large; the conversation is too large for one request"}},
		{refusing(429, nil, apiError("rate_limit_error", "slow down")), model.Error{StatusCode: 429, Retryable: true, Message: "anthropic answered 429 Too Many Requests: slow down"}},
		{refusing(429, http.Header{"Retry-After": {"3"}}, apiError("rate_limit_error", "slow down")), model.Error{StatusCode: 429, Retryable: true, RetryAfter: 3 * time.Second, Message: "anthropic answered 429 Too Many Requests: slow down"}},
		{refusing(500, nil, "<html>"), model.Error{StatusCode: 500, Retryable: true, Message: "anthropic answered 500 Internal Server Error: no reason given"}},
		{refusing(502, nil, strings.Repeat("[", 100_000)), model.Error{StatusCode: 502, Retryable: true, Message: "anthropic answered 502 Bad Gateway: no reason given"}},
		{refusing(529, nil, apiError("overloaded_error", "Overloaded")), model.Error{StatusCode: 529, Retryable: true, Message: "anthropic answered 529: Overloaded"}},

		// inside a stream
		{streaming(apiError("overloaded_error", "Overloaded")), model.Error{StatusCode: 529, Retryable: true, Message: "anthropic answered 529: Overloaded"}},
		{streaming(start, textStart, textOne, apiError("overloaded_error", "Overloaded")), model.Error{Usage: begun, StatusCode: 529, Retryable: true, Message: "anthropic answered 529: Overloaded"}},
		{streaming(start, apiError("rate_limit_error", "slow down")), model.Error{Usage: begun, StatusCode: 429, Retryable: true, Message: "anthropic answered 429 Too Many Requests: slow down"}},
		{streaming(start, apiError("api_error", "oops")), model.Error{Usage: begun, StatusCode: 500, Retryable: true, Message: "anthropic answered 500 Internal Server Error: oops"}},
		{streaming(start, apiError("authentication_error", "expired "+key)), model.Error{Usage: begun, StatusCode: 401, Message: "anthropic answered 401 Unauthorized: expired [redacted]; check the API key"}},
		{streaming(start, apiError("billing_error", "pay")), model.Error{Usage: begun, StatusCode: 402, Message: "anthropic answered 402 Payment Required: pay"}},
		{streaming(start, apiError("new_error", "")), model.Error{Usage: begun, StatusCode: 500, Retryable: true, Message: "anthropic answered 500 Internal Server Error: new_error"}},
	} {
		_, _, err := ask(t.Context(), serve(t, test.handler, nil), hello())
		test.want.Name = "AI_APICallError"
		if diff := cmp.Diff(test.want, *failure(t, err)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestMalformedAnswers(t *testing.T) {
	for _, event := range []string{
		"garbage", "{", `{"type":"content_block_start","index":0,"content_block":{"text":"of no type"}}`, "[]", `{"type":5}`, `{"type":"ping","type":"ping"}`, `{"type":"content_block_start","index":0}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":5}}`,
		`{"type":"news","x":` + strings.Repeat("[", 201) + strings.Repeat("]", 201) + `}`,
		strings.Repeat(`{"a":`, 100_000),
	} {
		_, _, err := ask(t.Context(), serve(t, streaming(start, event, stop), nil), hello())
		if e := failure(t, err); e.Name != "InvalidAnswer" || e.Retryable || len(e.Message) > 3000 || !cmp.Equal(e.Usage, begun) {
			t.Errorf("%.60s: %+v", event, e)
		}
	}
}

// What was counted is not lost when we give up waiting.
func TestUsageOfSilentAnswers(t *testing.T) {
	m := serve(t, nil, func(c *anthropic.Config) {
		c.Client.Idle = time.Millisecond
		body := asSSE(start, textStart)
		c.Client.HTTP = wiretest.Client("text/event-stream", &body, true)
	})
	_, _, err := ask(t.Context(), m, hello())
	if e := failure(t, err); e.Name != "TimeoutError" || !cmp.Equal(begun, e.Usage) {
		t.Errorf("%+v", e)
	}
}

func FuzzStream(f *testing.F) {
	f.Add(asSSE(start, textStart, textOne, stop0, end, stop))
	f.Add(asSSE(start, toolStart("0", "a", "b"), toolDelta("0", "{"), ending("tool_use"), stop))
	f.Add(asSSE(apiError("overloaded_error", "x")))
	f.Add("data: {}\n\n")
	body := ""
	m, err := anthropic.New(fuzzConfig(&body))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body = text
		answer, _, err := ask(t.Context(), m, hello())
		if (answer == nil) == (err == nil) {
			t.Errorf("answer %v, error %v", answer, err)
		}
		if answer != nil && len(answer.Text()) > 4*len(text) {
			t.Error("more came out than went in")
		}
	})
}

func fuzzConfig(body *string) anthropic.Config {
	cfg := anthropic.Config{Key: key}
	cfg.Model = "m"
	cfg.Client.MaxEvent, cfg.Client.MaxStream = 10_000, 100_000
	cfg.Client.HTTP = wiretest.Client("text/event-stream", body, false)
	return cfg
}
