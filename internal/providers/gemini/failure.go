package gemini

import (
	"bytes"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/rawjson"
)

// apiError is a failure as the API describes it, in a body or inside a stream.
type apiError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Status  string          `json:"status"`
	Details []rawjson.Value `json:"details"`
}

// status is the HTTP status that the error stands for.
func (e *apiError) status() int {
	if e.Code >= 400 && e.Code < 600 {
		return e.Code
	}
	switch e.Status {
	case "INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE":
		return 400
	case "UNAUTHENTICATED":
		return 401
	case "PERMISSION_DENIED":
		return 403
	case "NOT_FOUND":
		return 404
	case "ABORTED", "ALREADY_EXISTS":
		return 409
	case "RESOURCE_EXHAUSTED":
		return 429
	case "UNAVAILABLE":
		return 503
	case "DEADLINE_EXCEEDED":
		return 504
	}
	return 500
}

// problem says what the error means. What is used up for a day does not come back while
// a run waits; what is used up for a minute does, and the API says when.
func (e *apiError) problem() wire.Problem {
	p := wire.Problem{Message: e.Message}
	if p.Message == "" {
		p.Message = e.Status
	}
	for _, raw := range e.Details {
		var d struct {
			RetryDelay string `json:"retryDelay"`
			Reason     string `json:"reason"`
			Violations []struct {
				QuotaID string `json:"quotaId"`
			} `json:"violations"`
		}
		if wire.Decode(raw, &d) != nil {
			continue // of another kind
		}
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil {
			p.RetryAfter = wait
		}
		p.BadKey = p.BadKey || d.Reason == "API_KEY_INVALID" // which is a bad request
		for _, v := range d.Violations {
			p.Final = p.Final || strings.Contains(v.QuotaID, "PerDay")
		}
	}
	return p
}

// explain reads the body of an error: an object, or a list with one in it, which is how
// the streaming endpoint words it without SSE.
func explain(_ int, body []byte) wire.Problem {
	type answer struct {
		Error *apiError `json:"error"`
	}
	var all []answer
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		if wire.Decode(body, &all) != nil {
			return wire.Problem{}
		}
	} else {
		all = make([]answer, 1)
		if wire.Decode(body, &all[0]) != nil {
			return wire.Problem{} // a page of some proxy, most likely
		}
	}
	for _, a := range all {
		if a.Error != nil {
			return a.Error.problem()
		}
	}
	return wire.Problem{}
}
