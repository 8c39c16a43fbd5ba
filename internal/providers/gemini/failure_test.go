package gemini_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/providers/gemini"
	"github.com/perstack-go/perstack/internal/providers/wire/wiretest"
	"github.com/perstack-go/perstack/model"
)

func apiError(code, status, message string, details ...string) string {
	return `{"error":{"code":` + code + `,"message":"` + message + `","status":"` + status + `","details":[` + strings.Join(details, ",") + `]}}`
}

const (
	wait34 = `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}`
	perDay = `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"x","quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}`
	perMin = `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateContentInputTokensPerModelPerMinute"}]}`
	badKey = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}`
)

func TestFailures(t *testing.T) {
	for _, test := range []struct {
		handler http.HandlerFunc
		want    model.Error
	}{
		{refusing(400, nil, apiError("400", "INVALID_ARGUMENT", "bad request")), model.Error{StatusCode: 400, Message: "google answered 400 Bad Request: bad request"}},
		{refusing(400, nil, apiError("400", "INVALID_ARGUMENT", "API key not valid.", badKey)), model.Error{StatusCode: 400, Message: "google answered 400 Bad Request: API key not valid; check the API key"}},
		{refusing(401, nil, apiError("401", "UNAUTHENTICATED", "bad "+key)), model.Error{StatusCode: 401, Message: "google answered 401 Unauthorized: bad [redacted]; check the API key"}},
		{refusing(403, nil, apiError("403", "PERMISSION_DENIED", "no")), model.Error{StatusCode: 403, Message: "google answered 403 Forbidden: no; check what the API key may do"}},
		{refusing(403, nil, apiError("403", "PERMISSION_DENIED", "Quota exceeded for x")), model.Error{StatusCode: 403, Retryable: true, Message: "google answered 403 Forbidden: Quota exceeded for x; check what the API key may do"}},
		{refusing(404, nil, apiError("404", "NOT_FOUND", "no model")), model.Error{StatusCode: 404, Message: "google answered 404 Not Found: no model; check the model's name and the base URL"}},
		{refusing(429, nil, apiError("429", "RESOURCE_EXHAUSTED", "slow", perMin, wait34)), model.Error{StatusCode: 429, Retryable: true, RetryAfter: 34500 * time.Millisecond, Message: "google answered 429 Too Many Requests: slow"}},
		{refusing(429, nil, apiError("429", "RESOURCE_EXHAUSTED", "slow", perDay, wait34)), model.Error{StatusCode: 429, Message: "google answered 429 Too Many Requests: slow"}},
		{refusing(429, http.Header{"Retry-After": {"7"}}, apiError("429", "RESOURCE_EXHAUSTED", "slow", wait34)), model.Error{StatusCode: 429, Retryable: true, RetryAfter: 7 * time.Second, Message: "google answered 429 Too Many Requests: slow"}},
		{refusing(429, nil, apiError("429", "RESOURCE_EXHAUSTED", "slow", `{"violations":5}`, `7`, `{"retryDelay":"soon"}`)), model.Error{StatusCode: 429, Retryable: true, Message: "google answered 429 Too Many Requests: slow"}},
		{refusing(500, nil, "["+apiError("500", "INTERNAL", "oops")+"\n]\n"), model.Error{StatusCode: 500, Retryable: true, Message: "google answered 500 Internal Server Error: oops"}},
		{refusing(503, nil, apiError("503", "UNAVAILABLE", "")), model.Error{StatusCode: 503, Retryable: true, Message: "google answered 503 Service Unavailable: UNAVAILABLE"}},
		{refusing(502, nil, "<html>"), model.Error{StatusCode: 502, Retryable: true, Message: "google answered 502 Bad Gateway: no reason given"}},
		{refusing(502, nil, "[1]"), model.Error{StatusCode: 502, Retryable: true, Message: "google answered 502 Bad Gateway: no reason given"}},
		{refusing(500, nil, "[]"), model.Error{StatusCode: 500, Retryable: true, Message: "google answered 500 Internal Server Error: no reason given"}},

		// inside a stream
		{streaming(apiError("503", "UNAVAILABLE", "overloaded")), model.Error{StatusCode: 503, Retryable: true, Message: "google answered 503 Service Unavailable: overloaded"}},
		{streaming(parts(hel), apiError("429", "RESOURCE_EXHAUSTED", "slow", wait34)), model.Error{Usage: begun, StatusCode: 429, Retryable: true, RetryAfter: 34500 * time.Millisecond, Message: "google answered 429 Too Many Requests: slow"}},
		{streaming(parts(hel), apiError("0", "DEADLINE_EXCEEDED", "late")), model.Error{Usage: begun, StatusCode: 504, Retryable: true, Message: "google answered 504 Gateway Timeout: late"}},
		{streaming(parts(hel), apiError("0", "INVALID_ARGUMENT", "no "+key)), model.Error{Usage: begun, StatusCode: 400, Message: "google answered 400 Bad Request: no [redacted]"}},
		{streaming(parts(hel), apiError("7", "NEWS", "")), model.Error{Usage: begun, StatusCode: 500, Retryable: true, Message: "google answered 500 Internal Server Error: NEWS"}},
		{
			streaming(`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"read(("}],"usageMetadata":{"promptTokenCount":10}}`),
			model.Error{Usage: begun, StatusCode: 500, Retryable: true, Message: "google answered 500 Internal Server Error: the model wrote a call that cannot be read (MALFORMED_FUNCTION_CALL) read(("},
		},
		{
			streaming(`{"candidates":[{"finishReason":"UNEXPECTED_TOOL_CALL"}],"usageMetadata":{"promptTokenCount":10}}`),
			model.Error{Usage: begun, StatusCode: 500, Retryable: true, Message: "google answered 500 Internal Server Error: the model wrote a call that cannot be read (UNEXPECTED_TOOL_CALL) "},
		},
	} {
		_, _, err := ask(t.Context(), serve(t, test.handler), hello())
		test.want.Name = "AI_APICallError"
		if diff := cmp.Diff(test.want, *failure(t, err)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A wrong key is a bad request. Which variable it came from is said.
func TestHintNamesTheVariable(t *testing.T) {
	m := serve(t, refusing(400, nil, apiError("400", "INVALID_ARGUMENT", "API key not valid.", badKey)), func(c *gemini.Config) { c.KeyVariable = "GEMINI_API_KEY" })
	_, _, err := ask(t.Context(), m, hello())
	if e := failure(t, err); e.Message != "google answered 400 Bad Request: API key not valid; check GEMINI_API_KEY" {
		t.Errorf("%+v", e)
	}
}

// A token is as secret as a key.
func TestTokenIsRedacted(t *testing.T) {
	_, _, err := ask(t.Context(), serve(t, refusing(401, nil, apiError("401", "UNAUTHENTICATED", "bad "+token)), onVertex), hello())
	if e := failure(t, err); e.Message != "google-vertex answered 401 Unauthorized: bad [redacted]; check the credentials and what they may do" {
		t.Errorf("%+v", e)
	}
}

func TestMalformedAnswers(t *testing.T) {
	for _, chunk := range []string{
		"garbage", "{", "[]", `{"candidates":5}`, `{"candidates":[],"candidates":[]}`, `{"candidates":[{"content":{"parts":[{"text":5}]}}]}`,
		`{"candidates":[{"content":{"parts":[5]}}]}`, `{"error":"text"}`,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"x","args":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}}]}}]}`,
		`{"news":` + strings.Repeat("[", 201) + strings.Repeat("]", 201) + `}`,
		strings.Repeat(`{"a":`, 100_000),
	} {
		_, _, err := ask(t.Context(), serve(t, streaming(parts(hel), chunk, ending("STOP"))), hello())
		if e := failure(t, err); e.Name != "InvalidAnswer" || e.Retryable || len(e.Message) > 3000 || !cmp.Equal(e.Usage, begun) {
			t.Errorf("%.60s: %+v", chunk, e)
		}
	}
}

// Some models continue after the finish reason; what follows must end, too.
func TestEndlessAfterTheEnd(t *testing.T) {
	m := serve(t, wiretest.Streaming("text/event-stream", strings.Repeat(asSSE(ending("STOP", hel)), 2000)), func(c *gemini.Config) { c.Client.MaxStream = 200_000 })
	_, _, err := ask(t.Context(), m, hello())
	if e := failure(t, err); e.Name != "InvalidAnswer" || e.Retryable || !strings.Contains(e.Message, "bytes") {
		t.Errorf("%+v", e)
	}
}

func FuzzTurn(f *testing.F) {
	f.Add(asSSE(parts(hel), ending("STOP", lo)))
	f.Add(asSSE(parts(`{"text":"Hm","thought":true,"thoughtSignature":"c2ln"}`, `{"functionCall":{"id":"a","name":"read","args":{}}}`), ending("STOP", `{"executableCode":{}}`)))
	f.Add(asSSE(apiError("429", "RESOURCE_EXHAUSTED", "x", wait34, perDay)))
	f.Add(asSSE(`{"promptFeedback":{"blockReason":"SAFETY"}}`, `{"candidates":[{"groundingMetadata":{"a":1},"finishReason":"STOP"}]}`))
	f.Add("data: {}\n\n")
	body := ""
	cfg := config("http://127.0.0.1")
	cfg.Client.MaxEvent, cfg.Client.MaxStream = 10_000, 100_000
	cfg.Client.HTTP = wiretest.Client("text/event-stream", &body, false)
	m, err := gemini.New(cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		body = stream
		answer, _, err := ask(t.Context(), m, hello())
		if (answer == nil) == (err == nil) {
			t.Fatalf("answer %v, error %v", answer, err)
		}
		if answer == nil {
			return
		}
		if len(answer.Text()) > 4*len(stream) {
			t.Error("more came out than went in")
		}
		// Whatever it was, the next request with it is JSON.
		req := hello()
		req.Messages = append(req.Messages, says(own, answer.Parts...), user("Go on."))
		body = asSSE(ending("STOP"))
		if _, _, err := ask(t.Context(), m, req); err != nil {
			t.Error(err)
		}
	})
}
