package mcp

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
	"github.com/perstack-go/perstack/internal/version"
)

// A wire sends the requests of one connection: with the headers of the skill, and with
// errors for answers that no MCP server gives. The library knows of neither.
type wire struct {
	next      http.RoundTripper
	endpoint  *url.URL
	header    map[string]string
	transport string
	only      bool          // there is no other transport
	version   func() string // of the protocol; "" while it is not known
}

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"

	maxErrorBody = 64 << 10 // of what explains a failure
)

// RoundTrip sends one request.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	own := r.Clone(r.Context())
	own.Header.Set("User-Agent", "perstack/"+version.String())
	// The client refuses other origins by itself. A key is worth two locks.
	if egress.SameOrigin(r.URL, w.endpoint) {
		for name, value := range w.header {
			own.Header.Set(name, value)
		}
	}
	if v := w.version(); v != "" && own.Header.Get(versionHeader) == "" {
		own.Header.Set(versionHeader, v)
	}
	resp, err := w.next.RoundTrip(own)
	if err != nil {
		return nil, err
	}
	return w.judge(own, resp)
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] work.
func (w *wire) CloseIdleConnections() {
	if c, ok := w.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// judge makes an error of an answer that is not for the library.
func (w *wire) judge(r *http.Request, resp *http.Response) (*http.Response, error) {
	failure := &statusError{transport: w.transport, only: w.only, method: r.Method, status: resp.StatusCode}
	switch {
	case resp.StatusCode < 300:
		if !isForeign(r, resp) {
			return resp, nil
		}
		failure.foreign = bodyType(resp)
	case resp.StatusCode < 400:
		return resp, nil // the client follows it or not
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		// Whoever sends a token does not want to log in; it is wrong, or too old.
		failure.login = resp.Header.Get("WWW-Authenticate") != "" && r.Header.Get("Authorization") == ""
	case resp.StatusCode == http.StatusNotFound && r.Header.Get(sessionHeader) != "":
		// The server has forgotten the session. The library knows that by the status, and
		// would be misled by some bodies.
		_ = resp.Body.Close()
		resp.Body = http.NoBody
		return resp, nil
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode >= 500:
		// The library does not read what such a server says.
	default:
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		if err == nil && isErrorMessage(body) {
			resp.Body = &replayed{bytes.NewReader(body), resp.Body}
			return resp, nil
		}
	}
	_ = resp.Body.Close()
	return nil, failure
}

// wantsAnswer marks the context of a request that asks something. What comes back for the
// others is not read, and may be anything.
type wantsAnswer struct{}

// isForeign reports an answer that is neither a message nor a stream of them.
func isForeign(r *http.Request, resp *http.Response) bool {
	kind := bodyType(resp)
	return kind != "application/json" && kind != "text/event-stream" && r.Context().Value(wantsAnswer{}) != nil
}

// isErrorMessage reports whether a body is an error of the protocol, which the library
// understands.
func isErrorMessage(body []byte) bool {
	message, err := frame.Parse(bytes.TrimSpace(body))
	response, ok := message.(*jsonrpc.Response)
	return err == nil && ok && response.Error != nil
}

// replayed is a body whose beginning was read and is read again; the rest is left out.
type replayed struct {
	io.Reader
	body io.Closer
}

func (r *replayed) Close() error { return r.body.Close() }

// bodyType is the kind of a body, as its server calls it.
func bodyType(resp *http.Response) string {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		kind, _, _ = strings.Cut(strings.ToLower(resp.Header.Get("Content-Type")), ";")
	}
	if kind = strings.TrimSpace(kind); kind == "" {
		kind = "nothing"
	}
	return kind[:min(len(kind), 100)]
}
