package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/model"
)

const (
	maxErrorBody    = 64 << 10
	maxErrorMessage = 2000           // runes: a message is read by people
	maxRetryAfter   = 24 * time.Hour // more is nonsense, or an overflow in the making
	minSecret       = 8              // shorter values are words, and words are everywhere
	apiCallError    = event.ProviderFailure
)

// Failure is what the provider says went wrong, by an HTTP status or one that stands
// for it. An Error never shows a secret.
func (c *Client) Failure(status int, problem Problem) *model.Error {
	message := cmp.Or(problem.Message, "no reason given")
	code := strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status))) // 529 has no text
	text := fmt.Sprintf("%s answered %s: %s", c.Provider, code, message)
	about := status
	if problem.BadKey {
		about = http.StatusUnauthorized
	}
	text = withHint(text, cmp.Or(problem.Hint, c.hint(about)))
	return &model.Error{
		Name:       apiCallError,
		Message:    c.clean(text),
		StatusCode: status,
		Retryable:  (passes(status) || problem.Passing || c.saysItPasses(status, message)) && !problem.Final,
		RetryAfter: min(max(problem.RetryAfter, 0), maxRetryAfter),
	}
}

var hints = map[int]string{
	http.StatusUnauthorized:          "check the API key",
	http.StatusForbidden:             "check what the API key may do",
	http.StatusNotFound:              "check the model's name and the base URL",
	http.StatusRequestEntityTooLarge: "the conversation is too large for one request",
}

func (c *Client) hint(status int) string {
	if own, ok := c.Hints[status]; ok {
		return own
	}
	return hints[status]
}

// withHint adds what to do. Providers end their sentences, and ours continues them.
func withHint(text, hint string) string {
	if hint == "" {
		return text
	}
	return strings.TrimSuffix(strings.TrimSpace(text), ".") + "; " + hint
}

func passes(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// saysItPasses reports whether the words of a failure say what its status does not: some
// gateways answer 403 to those who ask too often. A status that says what is wrong with
// the request itself goes before all words, which may be the user's own.
func (c *Client) saysItPasses(status int, message string) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return false
	}
	return Says(strings.ToLower(message), append(slices.Clip(c.PassingWords), "rate limit", "timeout", "service unavailable")...)
}

// RefusesThinking reports whether a request was refused because it asked for thoughts that
// the model does not have. Which models have some, only their server knows.
func RefusesThinking(err error) bool {
	return IsRefused(err, "does not support thinking", "invalid think value", "ChatRequest.think", "think must be")
}

// IsRefused reports whether the provider refused a request, and said one of these words.
func IsRefused(err error, words ...string) bool {
	e := asError(err)
	return e != nil && e.StatusCode == http.StatusBadRequest && Says(e.Message, words...)
}

// Says reports whether a message has one of these words.
func Says(message string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(message, w) })
}

// Incomplete is an answer without its end.
func (c *Client) Incomplete() *model.Error {
	return &model.Error{Name: "IncompleteAnswer", Message: c.Provider + ": the answer broke off before its end", Retryable: true}
}

// Malformed is an answer that cannot be understood.
func (c *Client) Malformed(err error) *model.Error {
	return &model.Error{Name: "InvalidAnswer", Message: c.clean(fmt.Sprintf("%s sent %v", c.Provider, err))}
}

func (c *Client) statusError(stream *Stream, response *http.Response) error {
	status := response.StatusCode
	if status/100 == 3 {
		return &model.Error{Name: apiCallError, StatusCode: status, Message: c.clean(fmt.Sprintf(
			"%s answered %d, a redirect to %.200q, which is not followed because the key would go along; set the base URL to the right address",
			c.Provider, status, target(response)))}
	}
	// What was read before the connection broke is still worth a look.
	body, err := io.ReadAll(io.LimitReader(stream, maxErrorBody))
	if stream.ctx.Err() != nil {
		return c.brokenError(stream.ctx, err)
	}
	var problem Problem
	if c.Explain != nil && response.Header.Get("Content-Encoding") == "" {
		problem = c.Explain(status, body)
	}
	failure := c.Failure(status, problem)
	if failure.Retryable && response.Header.Get("X-Should-Retry") == "false" {
		failure.Retryable = false
	}
	if asked := retryAfter(response.Header, time.Now()); asked > 0 {
		failure.RetryAfter = asked
	}
	if !failure.Retryable {
		failure.RetryAfter = 0
	}
	return failure
}

// target is the host that a redirect points to, and nothing else of the address.
func target(response *http.Response) string {
	location, err := response.Location()
	if err != nil {
		return "nowhere"
	}
	return location.Host
}

func retryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := duration(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	text := h.Get("Retry-After")
	if d, ok := duration(text, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

func duration(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(n) || n < 0 {
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(maxRetryAfter))), true
}

func (c *Client) transportError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return c.brokenError(ctx, err)
	}
	if known := asError(err); known != nil {
		return known // it was never sent, because nothing proves who sends it
	}
	var op *url.Error
	if errors.As(err, &op) {
		err = op.Err
	}
	hint, final := Unreachable(err)
	if hint == "" && c.NoServer != "" && isRefused(err) {
		hint, final = c.NoServer, c.isLocal()
	}
	// What remains may still quote an address, of a proxy for one.
	text := address().ReplaceAllString(err.Error(), "$1$2")
	text = withHint(fmt.Sprintf("cannot connect to %s: %s", c.Provider, text), hint)
	return &model.Error{Name: apiCallError, Message: c.clean(text), Retryable: !final}
}

// address matches a URL: its scheme, then who, then the host, then the rest.
var address = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)(?:[^\s"/?#]*@)?([^\s"/?#]*)[^\s"]*`)
})

// brokenError describes an answer that stopped: because we gave up, or by itself.
func (c *Client) brokenError(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errFirstByte), errors.Is(cause, errIdle):
		return &model.Error{Name: "TimeoutError", Message: c.Provider + ": " + cause.Error(), Retryable: true}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ctx.Err()
	case cause != nil:
		return cause
	}
	if known := asError(err); known != nil {
		return known
	}
	return c.Incomplete()
}

// asError is the failure that an error holds; nil if it holds none.
func asError(err error) *model.Error {
	var known *model.Error
	errors.As(err, &known)
	return known
}

// clean makes a text fit for printing: no secrets, no broken characters, not too long.
func (c *Client) clean(text string) string {
	for _, secret := range c.Secrets {
		if len(secret) < minSecret {
			continue
		}
		quoted, _ := jsontext.AppendQuote(nil, secret)
		for _, form := range []string{secret, string(quoted[1 : len(quoted)-1]), url.QueryEscape(secret), strings.ToLower(secret)} {
			text = strings.ReplaceAll(text, form, "[redacted]")
		}
	}
	return wording.CutRunes(strings.ToValidUTF8(text, "\uFFFD"), maxErrorMessage, " …")
}
