package gemini

import (
	"cmp"
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
	return cmp.Or(statuses[e.Status], 500)
}

var statuses = map[string]int{
	"INVALID_ARGUMENT": 400, "FAILED_PRECONDITION": 400, "OUT_OF_RANGE": 400, "UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403, "NOT_FOUND": 404,
	"ABORTED": 409, "ALREADY_EXISTS": 409, "RESOURCE_EXHAUSTED": 429, "UNAVAILABLE": 503, "DEADLINE_EXCEEDED": 504,
}

// problem says what the error means. What is used up for a day does not come back while
// a run waits; what is used up for a minute does, and the API says when.
func (e *apiError) problem() wire.Problem {
	p := wire.Problem{Message: cmp.Or(e.Message, e.Status)}
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
	all, kind := wire.Split(body)
	if kind != '[' {
		all = wire.Members{{Value: body}}
	}
	for _, one := range all {
		var failed struct {
			Error *apiError `json:"error"`
		}
		if wire.Decode(one.Value, &failed) == nil && failed.Error != nil {
			return failed.Error.problem()
		}
	}
	return wire.Problem{} // a page of some proxy, most likely
}
