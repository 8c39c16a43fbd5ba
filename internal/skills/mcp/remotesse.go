package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// sseConn is a connection over the older transport.
type sseConn struct {
	inbox
	client *http.Client
	posts  *url.URL // where messages go
	stream io.Closer
}

func openSSE(ctx context.Context, r *Remote) (sdk.Connection, error) {
	client, err := r.client(olderSSE, func() string { return "" })
	if err != nil {
		return nil, err
	}
	// The stream outlives the handshake.
	box := newInbox(ctx)
	release := context.AfterFunc(ctx, box.cancel)
	defer release()
	c, err := startSSE(box, client, r.Endpoint)
	if err != nil {
		box.cancel()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return c, nil
}

func startSSE(box inbox, client *http.Client, endpoint string) (*sseConn, error) {
	resp, err := openStream(box.ctx, client, endpoint, nil)
	if err != nil {
		return nil, err
	}
	stream := newEvents(resp.Body)
	posts, err := readEndpoint(stream, resp.Request.URL)
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	c := &sseConn{inbox: box, client: client, posts: posts, stream: resp.Body}
	go func() {
		defer c.stream.Close()
		_, err := c.takeAll(stream)
		c.end(err)
	}()
	return c, nil
}

// readEndpoint reads the first event, which says where messages are posted. The client refuses
// any other server.
func readEndpoint(stream *events, base *url.URL) (*url.URL, error) {
	first, err := stream.next()
	if err != nil {
		return nil, fmt.Errorf("the server ended the stream before it was ready: %w", err)
	}
	if first.name != "endpoint" {
		return nil, errors.New("this is a stream of events, but not that of an MCP server")
	}
	posts, err := base.Parse(strings.TrimSpace(string(first.data)))
	if err != nil {
		return nil, errors.New("the server wants messages at what is not a URL")
	}
	return posts, nil
}

// openStream requests a stream of events.
func openStream(ctx context.Context, client *http.Client, endpoint string, header http.Header) (*http.Response, error) {
	ctx = context.WithValue(ctx, wantsAnswer{}, true)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, http.NoBody)
	if err != nil {
		return nil, errBadEndpoint
	}
	maps.Copy(r.Header, header)
	r.Header.Set("Accept", "text/event-stream")
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK || bodyType(resp) != "text/event-stream" {
		_ = resp.Body.Close()
		if resp.StatusCode >= 300 {
			return nil, &statusError{method: http.MethodGet, status: resp.StatusCode}
		}
		return nil, errNoStream
	}
	return resp, nil
}

var errNoStream = errors.New("the server did not answer with a stream of events: this is not the address of an MCP server; check the endpoint")

// Write posts a message.
func (c *sseConn) Write(ctx context.Context, message jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	if c.ctx.Err() != nil {
		return io.ErrClosedPipe
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.posts.String(), bytes.NewReader(data))
	if err != nil {
		return errBadEndpoint
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.client.Do(r)
	if err != nil {
		return unsent(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return &statusError{transport: olderSSE, method: http.MethodPost, status: resp.StatusCode}
	}
	_, _ = io.CopyN(io.Discard, resp.Body, maxErrorBody) // so that the connection can be used again
	return nil
}

// Close ends the stream, and with it the session.
func (c *sseConn) Close() error {
	c.cancel()
	_ = c.stream.Close()
	c.client.CloseIdleConnections()
	return nil
}

// SessionID is empty: the session is the stream.
func (c *sseConn) SessionID() string { return "" }
