package mcp

import (
	"context"
	"net/http"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A transport is one way to speak to a remote server.
type transport struct {
	sdk.Transport
	name    string // as errors name it
	version string // of the protocol to ask for; "" means the newest that is known
}

// The transports, as errors name them.
const (
	streamableHTTP = "streamable HTTP"
	olderSSE       = "SSE"
)

// label is the server of the endpoint. The rest of it may hold a key.
func (r *Remote) label() string { return clip(withoutURLs(r.Endpoint), lastLineBytes) }

// A warning tells the user what went wrong beside the calls.
type warning func(what string, why error)

// transports lists the ways to reach the server, in the order in which they are tried.
// The next one is tried when a handshake fails with an error that [isNotOffered].
func (r *Remote) transports(warn warning) []transport {
	ways := []transport{{Transport: httpTransport{r, warn}, name: streamableHTTP}}
	if r.SSE {
		ways = append(ways, transport{Transport: sseTransport{r}, name: olderSSE, version: lastHello})
	}
	return ways
}

// client returns the client of one connection, with what every request of it needs.
// The version is sent as soon as one was agreed on.
func (r *Remote) client(transport string, version func() string) (*http.Client, error) {
	endpoint, err := url.Parse(r.Endpoint)
	if err != nil {
		return nil, errBadEndpoint // the text of err repeats the URL
	}
	own := *r.Client
	own.Transport = &wire{
		next: r.Client.Transport, endpoint: endpoint, header: r.Header, transport: transport, only: !r.SSE, version: version,
	}
	return &own, nil
}

// httpTransport is the newer transport: every message is a POST, which the server answers
// with JSON or with a stream of events.
type httpTransport struct {
	remote *Remote
	warn   warning
}

func (t httpTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	return openHTTP(ctx, t.remote, t.warn)
}

// sseTransport is the older one: the server speaks on one stream that does not end, and
// names the address to which messages are posted.
type sseTransport struct{ remote *Remote }

func (t sseTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	return openSSE(ctx, t.remote)
}
