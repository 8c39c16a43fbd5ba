package llm

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// A failure is an error in the words of the wire.
type failure struct {
	status        int
	kind, message string
	retryAfter    *string
	retryAfterMS  *string
}

// The types of errors that the service has, with the status they come with.
var kinds = map[int]string{
	400: "invalid_request_error",
	401: "authentication_error",
	402: "billing_error",
	403: "permission_error",
	404: "not_found_error",
	413: "request_too_large",
	429: "rate_limit_error",
	500: "api_error",
	504: "timeout_error",
	529: "overloaded_error",
}

// kindOf is the type of an error that is only known by its status.
func kindOf(status int) string {
	switch kind := kinds[status]; {
	case kind != "":
		return kind
	case status >= 500:
		return kinds[500]
	}
	return kinds[400]
}

// failure reads the error of a turn. An error event has one even if none is written, so
// that there is a text to send.
func (t turnTable) failure() (*failure, error) {
	e := t.Error
	if e == nil {
		if t.ErrorAfter == nil {
			return nil, nil
		}
		e = &errorTable{Type: "overloaded_error", Message: "Overloaded"}
	}
	f := &failure{status: e.Status, kind: e.Type, message: e.Message, retryAfter: e.RetryAfter, retryAfterMS: e.RetryAfterMS}
	redirects := f.status >= 300 && f.status < 400
	switch {
	case f.status == 0 && t.ErrorAfter == nil:
		return nil, errors.New("the error has no status; give it one like 429")
	case f.status != 0 && (f.status < 300 || f.status > 599):
		return nil, fmt.Errorf("the error has the status %d; use 300 to 599", f.status)
	case t.Redirect != "" && !redirects:
		return nil, fmt.Errorf("the redirect has the status %d; use 301, 302, 303, 307 or 308", f.status)
	case f.status == 0 && (e.RetryAfter != nil || e.RetryAfterMS != nil):
		return nil, errors.New("an error inside the stream has no headers; remove retryAfter")
	}
	for _, header := range []*string{e.RetryAfter, e.RetryAfterMS} {
		if header != nil && strings.ContainsAny(*header, "\r\n\x00") {
			return nil, errors.New("retryAfter is a header and has one line")
		}
	}
	if f.kind == "" {
		f.kind = kindOf(f.status)
		if f.status == 0 {
			f.kind = "overloaded_error"
		}
	}
	if f.message == "" {
		f.message = "the script has an error here"
	}
	return f, nil
}

func (f *failure) head(h http.Header) {
	if f.retryAfter != nil {
		h.Set("Retry-After", *f.retryAfter)
	}
	if f.retryAfterMS != nil {
		h.Set("Retry-After-Ms", *f.retryAfterMS)
	}
}

// refuse writes an error as the service does.
func refuse(w http.ResponseWriter, f failure, id string) {
	f.head(w.Header())
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":%s,"message":%s},"request_id":"req_%s"}`, quote(f.kind), quote(f.message), id) // a client that has left needs no answer
}
