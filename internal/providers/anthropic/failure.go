package anthropic

import (
	"github.com/perstack-go/perstack/internal/providers/wire"
)

// apiError is a failure as the API describes it, in a body or inside a stream.
type apiError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// status is the HTTP status that the API documents for the type: inside a stream there
// is no other.
func (e apiError) status() int {
	switch e.Type {
	case "invalid_request_error":
		return 400
	case "authentication_error":
		return 401
	case "billing_error":
		return 402
	case "permission_error":
		return 403
	case "not_found_error":
		return 404
	case "request_too_large":
		return 413
	case "rate_limit_error":
		return 429
	case "timeout_error":
		return 504
	case "overloaded_error":
		return 529
	}
	return 500
}

func (e apiError) problem() wire.Problem {
	message := e.Message
	if message == "" {
		message = e.Type
	}
	return wire.Problem{Message: message, Final: e.Type == "billing_error"}
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
