package anthropic

import (
	"cmp"

	"github.com/perstack-go/perstack/internal/providers/wire"
)

// apiError is a failure as the API describes it, in a body or inside a stream.
type apiError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// status is the HTTP status that the API documents for the type: inside a stream there
// is no other.
func (e apiError) status() int { return cmp.Or(statuses[e.Type], 500) }

var statuses = map[string]int{
	"invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403, "not_found_error": 404,
	"request_too_large": 413, "rate_limit_error": 429, "timeout_error": 504, "overloaded_error": 529,
}

func (e apiError) problem() wire.Problem {
	return wire.Problem{Message: cmp.Or(e.Message, e.Type), Final: e.Type == "billing_error"}
}

func explain(_ int, body []byte) wire.Problem {
	var failed struct {
		Error apiError `json:"error"`
	}
	if wire.Decode(body, &failed) != nil {
		return wire.Problem{} // a page of some proxy, most likely
	}
	return failed.Error.problem()
}
