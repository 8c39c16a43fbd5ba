package mcp

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/internal/wording"
)

// A transport is one way to connect to a remote server.
type transport struct {
	name    string // in errors
	version string // of the protocol to ask for; "" means the newest
	connect func(context.Context) (sdk.Connection, error)
}

// The transports, as errors name them. With streamable HTTP every message is a POST, which the
// server answers with JSON or with a stream of events. With the older SSE the server sends on one
// stream that does not end, and names the address to which messages are posted.
const (
	streamableHTTP = "streamable HTTP"
	olderSSE       = "SSE"
)

// label is the server of the endpoint. The rest of the URL can contain a key.
func (r *Remote) label() string { return wording.Cut(withoutURLs(r.Endpoint), lastLineBytes) }

// A warning tells the user about a failure outside of calls.
type warning func(what string, why error)

// transports returns the transports in the order in which they are tried. The next one is tried
// when a handshake fails with an error that [isNotOffered].
func (r *Remote) transports(warn warning) []transport {
	all := []transport{{name: streamableHTTP, connect: func(ctx context.Context) (sdk.Connection, error) { return openHTTP(ctx, r, warn) }}}
	if r.SSE {
		all = append(all, transport{olderSSE, lastHello, func(ctx context.Context) (sdk.Connection, error) { return openSSE(ctx, r) }})
	}
	return all
}

// client returns the client of one connection. It sends the version of the protocol as soon as
// one is agreed on.
func (r *Remote) client(transport string, version func() string) (*http.Client, error) {
	endpoint, err := url.Parse(r.Endpoint)
	if err != nil {
		return nil, errBadEndpoint // the text of err repeats the URL
	}
	own := *r.Client
	own.Transport = &wire{remote: r, endpoint: endpoint, transport: transport, version: version}
	return &own, nil
}

// A wire sends the requests of one connection with the headers of the skill, and turns answers
// that no MCP server gives into errors.
type wire struct {
	remote    *Remote
	endpoint  *url.URL
	transport string
	version   func() string // of the protocol; "" while it is not known
}

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"

	maxErrorBody = 64 << 10
)

// RoundTrip sends one request.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	own := r.Clone(r.Context())
	own.Header.Set("User-Agent", "perstack/"+version.String())
	// The client refuses other origins, too. Headers can contain keys, so they are checked twice.
	if egress.SameOrigin(r.URL, w.endpoint) {
		for name, value := range w.remote.Header {
			own.Header.Set(name, value)
		}
	}
	if v := w.version(); v != "" && own.Header.Get(versionHeader) == "" {
		own.Header.Set(versionHeader, v)
	}
	resp, err := w.remote.Client.Transport.RoundTrip(own)
	if err != nil {
		return nil, err
	}
	return w.check(own, resp)
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] work.
func (w *wire) CloseIdleConnections() {
	w.remote.Client.CloseIdleConnections()
}

// check makes an error of an answer that is not for the library.
func (w *wire) check(r *http.Request, resp *http.Response) (*http.Response, error) {
	failure := &statusError{transport: w.transport, only: !w.remote.SSE, method: r.Method, status: resp.StatusCode}
	switch {
	case resp.StatusCode < 300:
		if !isOtherType(r, resp) {
			return resp, nil
		}
		failure.otherType = bodyType(resp)
	case resp.StatusCode < 400:
		return resp, nil // the client follows it or not
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		// With a token the user does not want to log in: it is wrong or has expired.
		failure.login = resp.Header.Get("WWW-Authenticate") != "" && r.Header.Get("Authorization") == ""
	case resp.StatusCode == http.StatusNotFound && r.Header.Get(sessionHeader) != "":
		// The session has expired. The library knows that by the status, and would misread
		// some bodies.
		_ = resp.Body.Close()
		resp.Body = http.NoBody
		return resp, nil
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode >= 500:
		// The library does not read what such a server says.
	default:
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		if err == nil && isErrorMessage(body) {
			resp.Body = struct {
				io.Reader
				io.Closer
			}{bytes.NewReader(body), resp.Body}
			return resp, nil
		}
	}
	_ = resp.Body.Close()
	return nil, failure
}

// wantsAnswer marks the context of a request. The answers to notifications are not read.
type wantsAnswer struct{}

// isOtherType reports an answer that is neither a message nor a stream.
func isOtherType(r *http.Request, resp *http.Response) bool {
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

// bodyType is the content type that the server names.
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
