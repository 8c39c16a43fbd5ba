package responses

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/rawjson"
)

// apiError is a failure as the API describes it, in a body or inside a stream.
type apiError struct {
	Type    string
	Code    string
	Message string
}

// asFailure reads a failure. Servers that speak this API as well put numbers where there
// should be words, or one text in the place of it all.
func asFailure(raw rawjson.Value) apiError {
	if raw.Kind() == '"' {
		return apiError{Message: word(raw)}
	}
	var members struct {
		Type    rawjson.Value `json:"type"`
		Code    rawjson.Value `json:"code"`
		Message rawjson.Value `json:"message"`
	}
	if raw.Kind() != '{' || wire.Decode(raw, &members) != nil {
		return apiError{}
	}
	return apiError{word(members.Type), word(members.Code), word(members.Message)}
}

func word(raw rawjson.Value) string {
	switch raw.Kind() {
	case '"':
		text, _ := jsontext.AppendUnquote(nil, raw) // it was decoded before
		return string(text)
	case '0':
		return string(raw)
	}
	return ""
}

// status is the HTTP status that the failure stands for: inside a stream there is no
// other.
func (e apiError) status() int {
	for _, word := range []string{e.Code, e.Type} {
		if n, err := strconv.Atoi(word); err == nil && n >= 400 && n <= 599 {
			return n
		}
		if n := statuses[word]; n != 0 {
			return n
		}
		if strings.Contains(word, "image") || strings.HasSuffix(word, "_policy") || strings.HasSuffix(word, "_violation") {
			return http.StatusBadRequest // of many that are about what was sent
		}
	}
	return http.StatusInternalServerError
}

var statuses = map[string]int{
	"invalid_request_error":   400,
	"invalid_prompt":          400,
	"context_length_exceeded": 400,
	"data_residency_mismatch": 400,
	"unsupported_value":       400,
	"invalid_api_key":         401,
	"authentication_error":    401,
	"permission_error":        403,
	"model_not_found":         404,
	"not_found_error":         404,
	"rate_limit_exceeded":     429,
	"rate_limit_error":        429,
	"too_many_requests":       429,
	"tokens":                  429,
	"requests":                429,
	"server_overloaded":       503,
	"overloaded_error":        503,
	"service_unavailable":     503,
	"slow_down":               503,
	"vector_store_timeout":    504,
}

// spent are the words for an account that has no money left. They come with the status of
// a limit that passes, but do not pass.
var spent = map[string]bool{
	"insufficient_quota": true, "credit_balance_exhausted": true, "billing_hard_limit_reached": true, "billing_not_active": true,
}

func (e apiError) isSpent() bool { return spent[e.Code] || spent[e.Type] }

func (e apiError) problem() wire.Problem {
	return wire.Problem{Message: cmp.Or(e.Message, e.Code, e.Type), Final: e.isSpent()}
}

// in is the failure inside a stream.
func (e apiError) in(client *wire.Client) error {
	status := e.status()
	if e.isSpent() {
		status = http.StatusTooManyRequests
	}
	return client.Failure(status, e.problem())
}

func explain(_ int, body []byte) wire.Problem {
	var failed struct {
		Error rawjson.Value `json:"error"`
	}
	if wire.Decode(body, &failed) != nil {
		return wire.Problem{} // a page of some proxy, most likely
	}
	return asFailure(failed.Error).problem()
}
