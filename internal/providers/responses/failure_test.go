package responses_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/model"
)

func apiError(kind, code, message string) string {
	return `{"error":{"message":"` + message + `","type":"` + kind + `","param":null,"code":` + code + `}}`
}

// nested is an error inside a stream as the service sends it, flat as it is documented.
func nested(kind, code, message string) string {
	return `{"type":"error","sequence_number":2,` + strings.TrimPrefix(apiError(kind, code, message), "{")
}

func flat(code, message string) string {
	return `{"type":"error","code":"` + code + `","message":"` + message + `","param":null,"sequence_number":1}`
}

func failed(code, message string) string {
	return `{"type":"response.failed","response":{"status":"failed","error":{"code":"` + code + `","message":"` + message + `"},` + counted + `}}`
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		handler http.HandlerFunc
		want    model.Error
	}{
		{refusing(400, nil, apiError("invalid_request_error", `"context_length_exceeded"`, "too long")), model.Error{StatusCode: 400, Message: "openai answered 400 Bad Request: too long"}},
		{refusing(401, nil, apiError("invalid_request_error", `"invalid_api_key"`, "Incorrect API key provided: "+key)), model.Error{StatusCode: 401, Message: "openai answered 401 Unauthorized: Incorrect API key provided: [redacted]; check the API key"}},
		{refusing(404, nil, apiError("invalid_request_error", `"model_not_found"`, "no model")), model.Error{StatusCode: 404, Message: "openai answered 404 Not Found: no model; check the model's name and the base URL"}},
		{refusing(429, nil, apiError("tokens", `"rate_limit_exceeded"`, "slow down")), model.Error{StatusCode: 429, Retryable: true, Message: "openai answered 429 Too Many Requests: slow down"}},
		{refusing(429, http.Header{"Retry-After": {"3"}}, apiError("requests", `"rate_limit_exceeded"`, "slow down")), model.Error{StatusCode: 429, Retryable: true, RetryAfter: 3 * time.Second, Message: "openai answered 429 Too Many Requests: slow down"}},
		{refusing(429, http.Header{"Retry-After": {"3"}}, apiError("insufficient_quota", `"insufficient_quota"`, "pay")), model.Error{StatusCode: 429, Message: "openai answered 429 Too Many Requests: pay"}},
		{refusing(429, nil, apiError("insufficient_quota", `"credit_balance_exhausted"`, "pay")), model.Error{StatusCode: 429, Message: "openai answered 429 Too Many Requests: pay"}},
		{refusing(429, nil, apiError("insufficient_quota", "null", "pay")), model.Error{StatusCode: 429, Message: "openai answered 429 Too Many Requests: pay"}},
		{refusing(500, nil, "<html>"), model.Error{StatusCode: 500, Retryable: true, Message: "openai answered 500 Internal Server Error: no reason given"}},
		{refusing(502, nil, strings.Repeat("[", 100_000)), model.Error{StatusCode: 502, Retryable: true, Message: "openai answered 502 Bad Gateway: no reason given"}},
		{refusing(503, nil, apiError("server_error", "null", "")), model.Error{StatusCode: 503, Retryable: true, Message: "openai answered 503 Service Unavailable: server_error"}},
		{refusing(400, nil, `{"error":"just words"}`), model.Error{StatusCode: 400, Message: "openai answered 400 Bad Request: just words"}},
		{refusing(400, nil, `{"error":{"message":"numbers","code":400,"type":{}}}`), model.Error{StatusCode: 400, Message: "openai answered 400 Bad Request: numbers"}},

		// inside a stream
		{streaming(created, nested("server_error", `"server_error"`, "oops")), model.Error{StatusCode: 500, Retryable: true, Message: "openai answered 500 Internal Server Error: oops"}},
		{streaming(nested("insufficient_quota", `"insufficient_quota"`, "pay")), model.Error{StatusCode: 429, Message: "openai answered 429 Too Many Requests: pay"}},
		{streaming(nested("too_many_requests", `"too_many_requests"`, "slow")), model.Error{StatusCode: 429, Retryable: true, Message: "openai answered 429 Too Many Requests: slow"}},
		{streaming(created, msgAdded, textOne, flat("rate_limit_exceeded", "slow")), model.Error{StatusCode: 429, Retryable: true, Message: "openai answered 429 Too Many Requests: slow"}},
		{streaming(flat("server_error", "oops")), model.Error{StatusCode: 500, Retryable: true, Message: "openai answered 500 Internal Server Error: oops"}},
		{streaming(flat("", "oops")), model.Error{StatusCode: 500, Retryable: true, Message: "openai answered 500 Internal Server Error: oops"}},
		{streaming(flat("503", "oops")), model.Error{StatusCode: 503, Retryable: true, Message: "openai answered 503 Service Unavailable: oops"}},
		{streaming(nested("invalid_request_error", "null", "no "+key)), model.Error{StatusCode: 400, Message: "openai answered 400 Bad Request: no [redacted]"}},
		{streaming(nested("invalid_request_error", `"context_length_exceeded"`, "too long")), model.Error{StatusCode: 400, Message: "openai answered 400 Bad Request: too long"}},
		{streaming(created, textOne, failed("server_error", "oops")), model.Error{Usage: usage, StatusCode: 500, Retryable: true, Message: "openai answered 500 Internal Server Error: oops"}},
		{streaming(failed("rate_limit_exceeded", "slow")), model.Error{Usage: usage, StatusCode: 429, Retryable: true, Message: "openai answered 429 Too Many Requests: slow"}},
		{streaming(failed("invalid_image_format", "what is it")), model.Error{Usage: usage, StatusCode: 400, Message: "openai answered 400 Bad Request: what is it"}},
		{streaming(failed("bio_policy", "no")), model.Error{Usage: usage, StatusCode: 400, Message: "openai answered 400 Bad Request: no"}},
		{streaming(failed("vector_store_timeout", "late")), model.Error{Usage: usage, StatusCode: 504, Retryable: true, Message: "openai answered 504 Gateway Timeout: late"}},
		{streaming(failed("news", "")), model.Error{Usage: usage, StatusCode: 500, Retryable: true, Message: "openai answered 500 Internal Server Error: news"}},
		{streaming(`{"type":"response.failed","response":{"error":null}}`), model.Error{StatusCode: 500, Retryable: true, Message: "openai answered 500 Internal Server Error: no reason given"}},
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
		"garbage", "{", "[]", `{"type":5}`, `{"type":"a","type":"b"}`,
		`{"type":"response.output_item.added","output_index":0}`, `{"type":"response.output_item.done","output_index":"x"}`,
		ended(0, `5`), ended(0, `{"type":"function_call","name":5}`), ended(0, `{"type":"message","content":[{"type":"output_text","text":5}]}`),
		ended(0, `{"type":"reasoning","summary":[5]}`), `{"type":"response.completed","response":{"output":5}}`,
		`{"type":"response.completed","response":{"usage":5}}`, `{"type":"response.completed","response":{"output":[5]}}`,
		`{"type":"news","x":` + strings.Repeat("[", 201) + strings.Repeat("]", 201) + `}`,
		strings.Repeat(`{"a":`, 100_000),
	} {
		_, _, err := ask(t.Context(), serve(t, streaming(created, event, done), nil), hello())
		if e := failure(t, err); e.Name != "InvalidAnswer" || e.Retryable || len(e.Message) > 3000 {
			t.Errorf("%.60s: %+v", event, e)
		}
	}
}
