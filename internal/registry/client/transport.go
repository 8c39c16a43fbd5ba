package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/wording"
)

const (
	// maxAnswer bounds an answer in JSON.
	maxAnswer = 1 << 20
	// maxResolved bounds the answer to a resolve, which has all definitions of a closure. 255 of the largest
	// ones would be 340 MiB; a closure of real ones is some hundred kilobytes.
	maxResolved = 64 << 20

	// maxPublished bounds the answer to a publication, which has the definition and proofs.
	maxPublished = 4 << 20

	maxTries     = 3
	maxRedirects = 3
	firstWait    = 500 * time.Millisecond
	// longestWait is the longest that a registry can ask to wait before another try is left to the user.
	longestWait = 10 * time.Second
)

// A request is one question.
type request struct {
	operation string // for errors
	method    string
	path      []string // segments below the address of the registry; each is escaped
	query     url.Values
	body      any // JSON; nil is none
	header    http.Header
	withKey   bool // send the API key
	again     bool // it changes nothing, so it can be sent again
	limit     int64
	optional  bool // an answer that it does not exist is no error
	text      bool // the answer is not JSON
}

// errRedirect is why a redirect was not followed.
type errRedirect struct{ to, why string }

func (e *errRedirect) Error() string { return "it redirects to " + shown(e.to) + ", " + e.why }

// checkRedirect follows a redirect within the origin, if it has no key.
func checkRedirect(r *http.Request, via []*http.Request) error {
	to := r.URL.Scheme + "://" + r.URL.Host
	switch first := via[0]; {
	case first.Header.Get("Authorization") != "":
		return &errRedirect{to, "and a request with a key does not follow"}
	case r.URL.Scheme != first.URL.Scheme || !strings.EqualFold(r.URL.Host, first.URL.Host):
		return &errRedirect{to, "which is another origin"}
	case len(via) > maxRedirects:
		return &errRedirect{to, "again and again"}
	}
	return nil
}

// do sends a request, and again if that can help, and returns the body of the answer. It is nil without an
// error if the request is optional, and what it asks for does not exist.
func (c *Client) do(ctx context.Context, r request) ([]byte, error) {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body, json.Deterministic(true)); err != nil {
			return nil, c.fail(Configuration, r.operation, err)
		}
	}
	for try := 1; ; try++ {
		answer, err := c.try(ctx, r, body)
		if err == nil {
			return answer, nil
		}
		pause, ok := again(err, try)
		if !ok || !r.again || try == maxTries {
			return nil, err
		}
		c.options.Log.WarnContext(ctx, "the registry is asked again", "registry", c.base.String(), "in", pause.Round(time.Millisecond), "because", err.Message)
		if c.options.Wait(ctx, pause) != nil {
			return nil, c.cancelled(ctx, r.operation)
		}
	}
}

// again reports whether another try can succeed, and how long to wait before it.
func again(err *Error, try int) (time.Duration, bool) {
	pause := jitter(firstWait << (try - 1))
	switch {
	case err.Kind == Network:
		_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
		return pause, !untrusted // the certificate will be the same
	case err.Status == http.StatusTooManyRequests:
		return max(pause, err.RetryAfter), err.RetryAfter <= longestWait
	case err.Status >= http.StatusBadGateway && err.Status <= http.StatusGatewayTimeout:
		return max(pause, err.RetryAfter), err.RetryAfter <= longestWait
	}
	return 0, false
}

func isRedirect(err error) bool {
	_, ok := errors.AsType[*errRedirect](err)
	return ok
}

// try sends a request once.
func (c *Client) try(ctx context.Context, r request, body []byte) ([]byte, *Error) {
	within, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	u := c.base.JoinPath() // a copy
	u.Path, u.RawPath = c.base.Path, c.base.EscapedPath()
	for _, segment := range r.path {
		u.Path, u.RawPath = u.Path+"/"+segment, u.RawPath+"/"+escapeSegment(segment)
	}
	u.RawQuery = r.query.Encode()
	httpRequest, err := http.NewRequestWithContext(within, r.method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, c.fail(Configuration, r.operation, err)
	}
	for name, values := range r.header {
		httpRequest.Header[name] = values
	}
	httpRequest.Header.Set("Accept-Encoding", "identity") // what is unpacked here could be of any size
	httpRequest.Header.Set("User-Agent", c.options.UserAgent)
	if body != nil {
		httpRequest.Header.Set("Content-Type", "application/json")
	}
	if r.withKey && c.options.Key != "" {
		httpRequest.Header.Set("Authorization", "Bearer "+c.options.Key)
	}
	response, err := c.http.Do(httpRequest)
	if err != nil {
		return nil, c.noAnswer(ctx, within, r.operation, err)
	}
	defer response.Body.Close()
	limit := r.limit
	if limit == 0 || response.StatusCode != http.StatusOK {
		limit = maxAnswer
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil:
		return nil, c.noAnswer(ctx, within, r.operation, err)
	case int64(len(answer)) > limit:
		return nil, c.failf(WrongAnswer, r.operation, "the answer has more than %s", wording.Bytes(limit))
	case response.StatusCode == http.StatusNotFound && r.optional:
		return nil, nil
	case response.StatusCode != http.StatusOK:
		return nil, c.refusal(r, response, answer)
	}
	if packing := response.Header.Get("Content-Encoding"); packing != "" && !strings.EqualFold(packing, "identity") {
		return nil, c.failf(WrongAnswer, r.operation, "the answer is packed as %s, although that was not requested", wording.Quote(packing))
	}
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); !r.text && kind != "application/json" {
		return nil, c.failf(WrongAnswer, r.operation, "the answer has the type %s, not application/json; check the URL", wording.Quote(kind))
	}
	if answer == nil {
		answer = []byte{}
	}
	return answer, nil
}

// escapeSegment escapes everything that could end a segment or mean something in it: a key is one segment.
func escapeSegment(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return strings.NewReplacer("@", "%40", "+", "%2B").Replace(url.PathEscape(s))
}

// noAnswer says why there is no answer: the caller has cancelled, time is up, or the network.
func (c *Client) noAnswer(ctx, within context.Context, operation string, err error) *Error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the address, whose query can be long
	}
	switch {
	case ctx.Err() != nil:
		return c.cancelled(ctx, operation)
	case within.Err() != nil || isTimeout(err):
		e := c.failf(Timeout, operation, "there was no whole answer within %s", c.options.Timeout)
		e.Hint = "try again later"
		return e
	case isRedirect(err):
		return c.fail(Refused, operation, err)
	}
	e := c.fail(Network, operation, err)
	e.Message = "the host " + c.base.Host + " cannot be reached"
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		e.Message = "the answer ended too early"
	}
	return e
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// cancelled says that the caller's context has ended.
func (c *Client) cancelled(ctx context.Context, operation string) *Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return c.fail(Timeout, operation, ctx.Err())
	}
	return c.fail(Cancelled, operation, ctx.Err())
}

// refusal makes an error of an answer that is no success: what the registry says, and its request id.
func (c *Client) refusal(r request, response *http.Response, body []byte) *Error {
	e := c.failf(Refused, r.operation, "the registry answered %d", response.StatusCode)
	e.Status = response.StatusCode
	var said struct {
		Message   string `json:"error"`
		Reason    any    `json:"reason"` // the original can answer anything
		Field     string `json:"field"`
		Hint      string `json:"hint"`
		RequestID string `json:"requestId"`
	}
	if json.Unmarshal(body, &said) == nil && said.Message != "" {
		e.Message = shown(said.Message)
		if said.Reason != nil {
			e.Message += ": " + shown(fmt.Sprint(said.Reason))
		}
		e.Field, e.Hint = shown(said.Field), shown(said.Hint)
	}
	e.RequestID = said.RequestID
	if e.RequestID == "" {
		e.RequestID = response.Header.Get(api.RequestIDHeader)
	}
	e.RequestID = wording.Visible(wording.Cut(e.RequestID, 100))
	e.RetryAfter = c.retryAfter(response.Header.Get("Retry-After"))
	switch {
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		e.Kind = Unauthorized
	case e.Status == http.StatusNotFound || e.Status == http.StatusGone:
		e.Kind = NotFound
	case e.Status == http.StatusTooManyRequests:
		e.Kind = RateLimited
	case e.Status/100 == 3:
		e.Message += ", and redirects elsewhere"
	case e.Status < 400:
		e.Kind = WrongAnswer
	}
	return e
}

// retryAfter reads a number of seconds or a date.
func (c *Client) retryAfter(text string) time.Duration {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(0, t.Sub(c.options.Clock()))
	}
	return 0
}

// ask sends a request and decodes its answer. Members that this version does not know are left out: what
// they say is not proved, and a newer registry has to be able to add some.
func (c *Client) ask(ctx context.Context, r request, into any) error {
	body, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	return c.decode(r.operation, body, into)
}

func (c *Client) decode(operation string, body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return c.failf(WrongAnswer, operation, "the answer cannot be read: %s", shown(err.Error()))
	}
	return nil
}

// needKey refuses what needs a key before anything is sent.
func (c *Client) needKey(operation string) error {
	if c.options.Key == "" {
		e := c.failf(Unauthorized, operation, "there is no API key for this registry")
		e.Hint = "set PERSTACK_API_KEY, or log in"
		return e
	}
	return nil
}
