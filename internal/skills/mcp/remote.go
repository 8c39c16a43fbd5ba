package mcp

import (
	"context"
	"net/http"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
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
func (r *Remote) label() string { return clip(withoutURLs(r.Endpoint), lastLineBytes) }

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
	own.Transport = &wire{
		next: r.Client.Transport, endpoint: endpoint, header: r.Header, transport: transport, only: !r.SSE, version: version,
	}
	return &own, nil
}
