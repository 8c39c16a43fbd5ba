package wire

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/rawjson"
)

// An OpenAIError is a failure as the APIs of OpenAI describe it, in a body or inside a
// stream.
type OpenAIError struct {
	Message string
	Type    string
	Code    string        // a word, or a number
	Inner   rawjson.Value // what Azure adds
}

// UnmarshalJSON reads what there is. Services that speak these APIs put numbers where there
// should be words, or one text in the place of it all; a failure must not be lost by that.
func (e *OpenAIError) UnmarshalJSON(data []byte) error {
	if rawjson.Value(data).Kind() == '"' {
		e.Message = Word(data)
		return nil
	}
	members, _ := Split(data)
	e.Type, e.Code = Word(members.Get("type")), Word(members.Get("code"))
	if message := members.Get("message"); message.Kind() == '"' { // a number says nothing
		e.Message = Word(message)
	}
	e.Inner = members.Get("innererror").Clone() // data is not ours to keep
	return nil
}

// Word is a text, or a number as it is written; empty for anything else.
func Word(raw rawjson.Value) string {
	switch raw.Kind() {
	case '"':
		text, _ := jsontext.AppendUnquote(nil, raw) // what is odd in it was replaced
		return string(text)
	case '0':
		return string(raw)
	}
	return ""
}

// ReadOpenAIError finds the failure in the body of an answer that is no success. It is empty
// if there is none, as in a page of some proxy.
func ReadOpenAIError(body []byte) (e OpenAIError) {
	var failed struct {
		Error   *OpenAIError  `json:"error"`
		Message rawjson.Value `json:"message"` // of gateways that have nothing around it
	}
	switch {
	case Decode(body, &failed) != nil:
	case failed.Error != nil:
		return *failed.Error
	default:
		e.Message = Word(failed.Message)
	}
	return e
}

// Status is the HTTP status that an error inside a stream stands for: there is no other.
func (e *OpenAIError) Status() int {
	for _, word := range []string{e.Code, e.Type} {
		if n, err := strconv.Atoi(word); err == nil && n >= 400 && n < 600 {
			return n
		}
	}
	words := " " + strings.ToLower(e.Code+" "+e.Type) + " "
	for _, row := range openAIStatuses {
		if Says(words, row.words...) {
			return row.status
		}
	}
	return http.StatusInternalServerError
}

// openAIStatuses are by what the words of the services have in common. The first counts:
// with DeepSeek, everything is an invalid request as well.
var openAIStatuses = []struct {
	status int
	words  []string
}{
	{http.StatusTooManyRequests, []string{"quota", "credit_balance", "billing", "rate_limit", "too_many", "toomany", " tokens ", " requests "}},
	{http.StatusUnauthorized, []string{"authentication", "invalid_api_key"}},
	{http.StatusForbidden, []string{"permission"}},
	{http.StatusNotFound, []string{"not_found"}},
	{http.StatusServiceUnavailable, []string{"unavailable", "overloaded", "slow_down"}},
	{http.StatusGatewayTimeout, []string{"timeout"}},
	{http.StatusBadRequest, []string{"content_filter", "context_length", "data_residency", "unsupported", "invalid", "image", "_policy", "_violation"}},
}

// Problem returns the failure in the words of the service. An account without money left
// has the status of a limit that passes, but does not pass.
func (e *OpenAIError) Problem() Problem {
	spent := []string{"insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached", "billing_not_active"}
	return Problem{Message: cmp.Or(e.Message, e.Code, e.Type), Final: slices.Contains(spent, e.Code) || slices.Contains(spent, e.Type)}
}
