package chat

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/rawjson"
)

// contentFilter is the name of the error that a filter makes: not the model has refused,
// and no other attempt will help. The engine gives answers that were filtered the same.
const contentFilter = "ContentFilter"

// apiError is a failure as a service describes it, in a body or inside a stream.
type apiError struct {
	Message string
	Type    string
	Code    string // a word, or a number
	Inner   struct {
		Code   string `json:"code"`
		Result map[string]struct {
			Filtered bool   `json:"filtered"`
			Severity string `json:"severity"`
		} `json:"content_filter_result"`
	}
}

// UnmarshalJSON reads what there is. Gateways have their own ideas of each member, and a
// failure must not be lost because one of them is odd.
func (e *apiError) UnmarshalJSON(data []byte) error {
	if rawjson.Value(data).Kind() == '"' {
		return wire.Decode(data, &e.Message)
	}
	var members map[string]rawjson.Value
	if err := wire.Decode(data, &members); err != nil {
		e.Message = "an error without a description"
		return nil
	}
	for name, into := range map[string]any{"message": &e.Message, "type": &e.Type, "innererror": &e.Inner} {
		if value := members[name]; value != nil {
			_ = wire.Decode(value, into) // what is odd stays out
		}
	}
	if code := members["code"]; code.Kind() != 'n' {
		e.Code = strings.Trim(string(code), `"`)
	}
	return nil
}

// status is the HTTP status that an error inside a stream stands for: there is no other.
func (e *apiError) status() int {
	if n, err := strconv.Atoi(e.Code); err == nil && n >= 400 && n < 600 {
		return n
	}
	words := strings.ToLower(e.Code + " " + e.Type)
	for _, known := range statuses {
		if strings.Contains(words, known.part) {
			return known.status
		}
	}
	return http.StatusInternalServerError
}

// statuses are by what the words of the services have in common. The first counts: with
// DeepSeek, everything is an invalid request as well.
var statuses = []struct {
	part   string
	status int
}{
	{"quota", http.StatusTooManyRequests},
	{"rate_limit", http.StatusTooManyRequests},
	{"too_many", http.StatusTooManyRequests},
	{"toomany", http.StatusTooManyRequests},
	{"authentication", http.StatusUnauthorized},
	{"invalid_api_key", http.StatusUnauthorized},
	{"permission", http.StatusForbidden},
	{"not_found", http.StatusNotFound},
	{"unavailable", http.StatusServiceUnavailable},
	{"overloaded", http.StatusServiceUnavailable},
	{"timeout", http.StatusGatewayTimeout},
	{"content_filter", http.StatusBadRequest},
	{"context_length", http.StatusBadRequest},
	{"invalid", http.StatusBadRequest},
}

func (e *apiError) isFiltered() bool {
	return e.Code == "content_filter" || e.Inner.Code == "ResponsibleAIPolicyViolation"
}

// problem returns the failure in the words of the service. Of a filter, what it found is
// said too: the message does not.
func (e *apiError) problem() wire.Problem {
	p := wire.Problem{Message: e.Message}
	for _, word := range []string{e.Code, e.Type} {
		if p.Message == "" {
			p.Message = word
		}
	}
	if found := e.found(); found != "" {
		p.Message += " (" + found + ")"
	}
	// A used-up quota has the status of a passing limit.
	p.Final = e.isFiltered() || e.Code == "insufficient_quota" || e.Type == "insufficient_quota"
	return p
}

// found lists what a content filter objects to.
func (e *apiError) found() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(e.Inner.Result)) {
		if r := e.Inner.Result[name]; r.Filtered {
			all = append(all, strings.TrimSuffix(name+": "+r.Severity, ": "))
		}
	}
	return strings.Join(all[:min(len(all), 10)], ", ")
}

// readError finds the failure in the body of an answer that is no success.
func readError(body []byte) (e apiError) {
	var failed struct {
		Error   *apiError `json:"error"`
		Message string    `json:"message"` // of gateways that have nothing around it
	}
	switch {
	case wire.Decode(body, &failed) != nil: // a page of some proxy, most likely
	case failed.Error != nil:
		return *failed.Error
	default:
		e.Message = failed.Message
	}
	return e
}
