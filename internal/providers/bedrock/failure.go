package bedrock

import (
	"cmp"
	"regexp"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// apiError is a failure as the service describes it, in a body or inside a stream.
type apiError struct {
	Message string `json:"message"`
	Upper   string `json:"Message"` // as what stands before the service spells it
	Type    string `json:"__type"`
	// What the model's own server answered, if it was that which failed.
	Original int `json:"originalStatusCode"`
}

func (e apiError) problem() wire.Problem {
	message := withoutRequest(cmp.Or(e.Message, e.Upper, e.Type))
	return wire.Problem{
		Message: message,
		// What is used up for today does not come back while a run waits.
		Final:   strings.Contains(message, "per day"),
		Passing: e.Original == 429 || e.Original >= 500,
	}
}

// withoutRequest cuts off the whole request, which the service repeats when its signature
// is not the right one: what helps is in the first sentence.
func withoutRequest(message string) string {
	at := canonical().FindStringIndex(message)
	if at == nil {
		return message
	}
	first, _, _ := strings.Cut(message[:at[0]], ". ")
	return cmp.Or(strings.TrimSpace(first), "the signature is not the right one")
}

var canonical = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)the canonical string`) })

func explain(_ int, body []byte) wire.Problem {
	var e apiError
	if wire.Decode(body, &e) != nil {
		return wire.Problem{} // a page of some proxy, most likely
	}
	return e.problem()
}

// exception is a failure inside a stream, of a kind that the service declares or of one
// that it does not.
func exception(client *wire.Client, m eventstream.Message, kind string) *model.Error {
	var e apiError
	if kind == "error" {
		e.Message = header(m, ":error-message")
		kind = header(m, ":error-code")
	} else {
		kind = header(m, ":exception-type")
		_ = wire.Decode(m.Payload, &e) // what cannot be read is a failure all the same
	}
	problem := e.problem()
	if problem.Message == "" {
		problem.Message = kind
	}
	status := statusOf(kind)
	// The model's server broke off in the middle; the service says to ask again.
	problem.Passing = problem.Passing || strings.EqualFold(kind, "modelStreamErrorException")
	return client.Failure(status, problem)
}

// statusOf is the HTTP status that the service documents for a kind: inside a stream
// there is no other.
func statusOf(kind string) int {
	return cmp.Or(statuses[strings.ToLower(strings.TrimSuffix(kind, "Exception"))], 500)
}

var statuses = map[string]int{
	"validation": 400, "servicequotaexceeded": 400, "conflict": 400, "accessdenied": 403, "expiredtoken": 403, "unrecognizedclient": 403,
	"resourcenotfound": 404, "modeltimeout": 408, "modelerror": 424, "modelstreamerror": 424, "throttling": 429, "modelnotready": 429,
	"serviceunavailable": 503,
}

func header(m eventstream.Message, name string) string {
	v, _ := m.Headers.Get(name).(eventstream.StringValue)
	return string(v)
}
