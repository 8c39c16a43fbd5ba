// Package wire is what the clients of all providers share: one HTTP call that streams
// its answer, with limits on size, depth and time, and failures sorted into classes.
//
// It knows no provider: what a body means is the business of the packages beside it. It
// never follows a redirect with a key (which would go along), never reads an environment
// variable, and never puts a key into an error. Start reading at [Client.Post], then
// [Stream.Next]; what a wire is told is [Config], what it puts together is a [Draft].
//
// A [Fetcher] gets what users name by its address, where a provider does not fetch it
// itself: without keys, from public hosts, within limits.
package wire

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/model"
)

// What holds where a [Client] says nothing else. Providers send something every few
// seconds; the two waits are long because some think before their first one.
const (
	DefaultFirstByte = 2 * time.Minute
	DefaultIdle      = 2 * time.Minute
	DefaultMaxEvent  = 8 << 20
	DefaultMaxStream = 64 << 20 // a long answer in words of one token has a quarter of it
)

// A Client talks to one provider at one address.
type Client struct {
	Provider string // for messages
	BaseURL  string
	Header   http.Header // with the key
	Secrets  []string    // values that no error may show
	HTTP     *http.Client
	Accept   string // media type of the stream; text/event-stream if empty

	// AllowHTTP lets it reach other machines by plain http: for services without keys, on
	// the user's own word. What is said to them can be read on the way.
	AllowHTTP bool

	// Hints say what to do about a status, instead of what is said otherwise; "" says
	// nothing. NoServer says what to do if nothing listens at the address. If it is set, and
	// the address is on this machine, that is final: waiting does not start a server.
	Hints    map[int]string
	NoServer string

	// FirstByte and Idle bound the wait for the head of an answer and for each further
	// piece of it. 0 means the default; less than 0 that only the context bounds them.
	FirstByte, Idle time.Duration

	// MaxEvent and MaxStream bound, in bytes, one event and a whole answer. 0 means the
	// default.
	MaxEvent, MaxStream int

	// Authorize puts onto a request what proves who sends it, when a fixed header cannot:
	// a token that ages, or a signature over the body. It may be nil. Its error is one of
	// the configuration, unless it is a [*model.Error].
	Authorize func(r *http.Request, body [][]byte) error

	// Explain finds the provider's own words in the body of a failed answer. It may be
	// nil, and what it is given may be anything.
	Explain func(status int, body []byte) Problem

	// PassingWords are words of this provider, in lower case, by which a failure says that it
	// passes although its status does not say so.
	PassingWords []string
}

// A Problem is a failure in the words of a provider.
type Problem struct {
	Message string // empty if there are none
	Final   bool   // it looks passing but is not, like a used-up quota
	Passing bool   // it looks final but is not
	BadKey  bool   // it is about the key, though the status does not say so
	Hint    string // what to do, instead of what is said otherwise

	// RetryAfter is what the body asks for, where the head says nothing; 0 if neither does.
	RetryAfter time.Duration
}

// SetHeaders sets the headers of every request: those of the wire, and over them those that
// the user set by hand, which are in Header until then. No error ever shows the secrets.
func (c *Client) SetHeaders(own map[string]string, secrets ...string) {
	header := http.Header{}
	for name, value := range own {
		if value != "" {
			header.Set(name, value)
		}
	}
	for name, values := range c.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	c.Header, c.Secrets = header, append(secrets, c.Secrets...)
}

// Check says what is wrong with the client's address. A key travels in the clear to
// this machine only; so does a header, which may hold one.
func (c *Client) Check() error {
	u, err := url.Parse(c.BaseURL)
	switch {
	case err != nil || u.Host == "":
		return fmt.Errorf("%s: the base URL is not a URL; it looks like https://host/path", c.Provider)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fmt.Errorf("%s: the base URL of %s has a user, a query or a fragment; give the key as a key, and the rest as headers", c.Provider, u.Host)
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	case u.Scheme == "http" && c.AllowHTTP && (len(c.Header) > 0 || len(c.Secrets) > 0 || c.Authorize != nil):
		return fmt.Errorf("%s: the base URL of %s is not https, and headers, which may hold a key, would go there in the clear; use https, or remove the headers", c.Provider, u.Host)
	case u.Scheme == "http" && c.AllowHTTP:
		return nil
	}
	return fmt.Errorf("%s: the base URL of %s is not https; only a server on this machine may be reached without", c.Provider, u.Host)
}

// isLocal reports whether the client's address is on this machine.
func (c *Client) isLocal() bool {
	u, err := url.Parse(c.BaseURL)
	return err == nil && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// Post sends a body, made of pieces that are written one after another, and returns the
// stream of its answer. Failures are [*model.Error], or the context's own.
func (c *Client) Post(ctx context.Context, path string, header http.Header, body ...[]byte) (*Stream, error) {
	if err := c.Check(); err != nil {
		return nil, &model.Error{Name: "ConfigurationError", Message: err.Error()}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	watch := &watchdog{cancel: cancel}
	watch.expect(cmp.Or(c.FirstByte, DefaultFirstByte), errFirstByte)
	response, err := c.send(ctx, path, header, body) //nolint:bodyclose // the stream closes it
	watch.rest()
	if err != nil {
		err = c.transportError(ctx, err)
		cancel(nil)
		return nil, err
	}
	stream := newStream(ctx, c, response.Body, watch)
	if response.StatusCode/100 != 2 {
		defer stream.Close()
		return nil, c.statusError(stream, response)
	}
	if packing := response.Header.Get("Content-Encoding"); packing != "" && !strings.EqualFold(packing, "identity") {
		defer stream.Close()
		return nil, c.Malformed(fmt.Errorf("an answer packed as %.100q, although that was not requested; check the base URL", c.clean(packing)))
	}
	want := cmp.Or(c.Accept, eventStream)
	if kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); kind != want {
		defer stream.Close()
		return nil, c.Malformed(fmt.Errorf("an answer of type %.100q instead of %s; check the base URL", c.clean(kind), want))
	}
	return stream, nil
}

const eventStream = "text/event-stream"

func (c *Client) send(ctx context.Context, path string, header http.Header, body [][]byte) (*http.Response, error) {
	open := func() (io.ReadCloser, error) { return io.NopCloser(&pieces{rest: body}), nil }
	reader, _ := open()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(c.BaseURL, "/")+path, reader)
	if err != nil {
		return nil, err
	}
	request.GetBody = open
	for _, piece := range body {
		request.ContentLength += int64(len(piece))
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", userAgent())
	request.Header.Set("Accept", cmp.Or(c.Accept, eventStream))
	for _, h := range []http.Header{c.Header, header} {
		for name, values := range h {
			request.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if c.Authorize != nil {
		if err := c.Authorize(request, body); err != nil {
			return nil, cmp.Or(asError(err), &model.Error{Name: "ConfigurationError", Message: c.clean(fmt.Sprintf("%s: %v", c.Provider, err))})
		}
	}
	return Staying(c.HTTP).Do(request) // the key never goes to another host
}

// userAgent tells providers which program asks, and nothing about the machine or the user.
func userAgent() string { return "perstack/" + version.String() }

// pieces reads byte slices one after another. Unlike net.Buffers it fills what it is
// given, so that many small pieces do not become as many small frames.
type pieces struct {
	rest [][]byte
	at   int // in the first of rest
}

func (p *pieces) Read(buf []byte) (n int, err error) {
	for n < len(buf) && len(p.rest) > 0 {
		k := copy(buf[n:], p.rest[0][p.at:])
		n, p.at = n+k, p.at+k
		if p.at == len(p.rest[0]) {
			p.rest, p.at = p.rest[1:], 0
		}
	}
	if n == 0 && len(buf) > 0 {
		return 0, io.EOF
	}
	return n, nil
}
