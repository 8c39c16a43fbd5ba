package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/wording"
)

const (
	maxShown   = 500
	maxRefusal = 8 << 10 // of the text of a refusal
)

// shown makes a text of a server fit for an error.
func shown(text string) string { return wording.Visible(wording.Cut(text, maxShown)) }

// An action is what is done with a reference, for errors.
type action struct {
	operation string
	ref       expert.OCI
}

func (a action) failf(kind client.Kind, format string, args ...any) *client.Error {
	return &client.Error{Kind: kind, Host: a.ref.Host, Registry: "oci://" + a.ref.Host, Operation: a.operation + " " + a.ref.String(), Message: fmt.Sprintf(format, args...)}
}

func (a action) fail(kind client.Kind, err error) *client.Error {
	return &client.Error{Kind: kind, Host: a.ref.Host, Registry: "oci://" + a.ref.Host, Operation: a.operation + " " + a.ref.String(), Err: err}
}

// lie says that what a server answered is not what was asked for.
func (a action) lie(format string, args ...any) *client.Error {
	return a.failf(client.Unverified, format, args...)
}

// within does one thing with a server, in the time that is allowed for it. Errors of an unknown sort have the
// kind otherwise.
func (s *Source) within(ctx context.Context, a action, otherwise client.Kind, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	err := do(limited)
	if err == nil {
		return nil
	}
	if wrapped, ok := errors.AsType[*client.Error](err); ok {
		return wrapped
	}
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return a.fail(client.Timeout, ctx.Err())
	case ctx.Err() != nil:
		return a.fail(client.Cancelled, ctx.Err())
	case limited.Err() != nil:
		e := a.failf(client.Timeout, "there was no whole answer within %s", s.options.Timeout)
		e.Hint = "try again later"
		return e
	}
	return a.classify(err, otherwise)
}

// A refusal is an answer that is no success.
type refusal struct {
	status int
	asked  *http.Request
	token  bool   // it came from the server that gives tokens
	reason string // the registry's own, as it came; can be empty
}

func (r *refusal) Error() string {
	message := fmt.Sprintf("the registry answered %d", r.status)
	if r.token {
		message = fmt.Sprintf("the server that gives tokens answered %d", r.status)
	}
	if r.reason != "" {
		message += ": " + shown(r.reason)
	}
	return message
}

// readRefusal reads an answer that is no success, and closes it.
func readRefusal(response *http.Response) *refusal {
	defer response.Body.Close()
	r := &refusal{status: response.StatusCode, asked: response.Request}
	var body struct {
		Errors []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	// What cannot be read says nothing: the status is enough. The first reason is, too.
	text, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	if err == nil && json.Unmarshal(text, &body) == nil && len(body.Errors) > 0 {
		r.reason = body.Errors[0].Code + " " + body.Errors[0].Message
	}
	return r
}

// isNotFound reports whether the registry says that something does not exist.
func isNotFound(err error) bool {
	answer, ok := errors.AsType[*refusal](err)
	return ok && answer.status == http.StatusNotFound && !answer.token
}

// classify makes an error of why a request failed, whose texts can be those of the server.
func (a action) classify(err error, otherwise client.Kind) *client.Error {
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return a.fail(client.Refused, refused)
	}
	if wrong, ok := errors.AsType[*answerError](err); ok {
		return a.fail(otherwise, wrong)
	}
	if answer, ok := errors.AsType[*refusal](err); ok {
		return a.answered(answer)
	}
	var netError net.Error
	switch {
	case errors.Is(err, errNoLogin):
		return a.unauthorized(err.Error())
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return a.failf(client.Network, "the answer ended too early")
	case errors.As(err, &netError):
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the address, which can have a query
		}
		e := a.fail(client.Network, errors.New(shown(err.Error())))
		e.Message = "the host " + a.ref.Host + " cannot be reached"
		return e
	}
	return a.failf(otherwise, "%s", shown(err.Error()))
}

func (a action) unauthorized(message string) *client.Error {
	e := a.failf(client.Unauthorized, "%s", message)
	e.Hint = "log in to " + origin(a.ref.Host)
	return e
}

// answered makes an error of an answer that is no success.
func (a action) answered(answer *refusal) *client.Error {
	message := answer.Error()
	var e *client.Error
	switch {
	case answer.status == http.StatusUnauthorized, answer.status == http.StatusForbidden:
		e = a.unauthorized(message)
		if from := netaddr.Origin(answer.asked.URL); answer.token && from != origin(a.ref.Host) {
			e.Hint = "the registry takes tokens of " + shown(from) + ", which gets no login from perstack"
		}
	case answer.status == http.StatusTooManyRequests:
		e = a.failf(client.RateLimited, "%s", message)
		e.Hint = "try again later"
	case answer.token:
		e = a.failf(client.Refused, "%s", message)
	case answer.status == http.StatusNotFound && answer.asked.Method == http.MethodGet:
		e = a.failf(client.NotFound, "it does not exist, or your login cannot see it")
	case answer.status == http.StatusNotFound, answer.status == http.StatusGone:
		e = a.failf(client.NotFound, "%s", message)
	default:
		e = a.failf(client.Refused, "%s", message)
	}
	e.Status = answer.status
	return e
}
