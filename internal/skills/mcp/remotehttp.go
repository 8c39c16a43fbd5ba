package mcp

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
	"github.com/perstack-go/perstack/rawjson"
)

// httpConn is a connection over streamable HTTP. The library posts messages and reads their
// answers. With our guard in between, it does not send the agreed version with every request, and
// does not listen to the server's own stream. Both are done here.
type httpConn struct {
	inbox
	posts    sdk.Connection
	client   *http.Client
	endpoint string
	warn     warning
	once     sync.Once

	mu      sync.Mutex
	opening jsonrpc.ID // of the request that agrees on a version
	version string
	opened  bool // the server's own stream was requested
}

func openHTTP(ctx context.Context, r *Remote, warn warning) (sdk.Connection, error) {
	c := &httpConn{inbox: newInbox(ctx), endpoint: r.Endpoint, warn: warn}
	client, err := r.client(streamableHTTP, c.agreed)
	if err != nil {
		return nil, err
	}
	c.client = client
	c.posts, err = (&sdk.StreamableClientTransport{
		Endpoint: r.Endpoint, HTTPClient: client, MaxEventSize: maxEvent, DisableStandaloneSSE: true,
	}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	go c.takeAnswers()
	return c, nil
}

// takeAnswers delivers what the library reads. Its parser is lenient, so messages are checked here.
func (c *httpConn) takeAnswers() {
	for {
		message, err := c.posts.Read(c.ctx)
		if err != nil {
			c.end(err)
			return
		}
		message, bad := recheck(message)
		c.notice(message)
		if c.deliver(message, bad) != nil {
			return
		}
	}
}

// recheck checks the content of a message as strictly as a frame.
func recheck(message jsonrpc.Message) (jsonrpc.Message, error) {
	var content *rawjson.Value
	var id rawjson.Value
	switch m := message.(type) {
	case *jsonrpc.Request:
		content = (*rawjson.Value)(&m.Params)
	case *jsonrpc.Response:
		content = (*rawjson.Value)(&m.Result)
		id, _ = json.Marshal(m.ID.Raw())
	}
	if content == nil || len(*content) == 0 {
		return message, nil
	}
	*content = frame.FixUTF8(*content)
	if err := frame.Check(*content); err != nil {
		return nil, &frame.Error{Guess: id, Code: jsonrpc.CodeParseError, Message: "the message is not valid JSON: " + err.Error()}
	}
	return message, nil
}

// notice reads the agreed version from the answer to initialize. Newer versions have no such
// answer: they are named in every message, and have no stream of the server.
func (c *httpConn) notice(message jsonrpc.Message) {
	answer, ok := message.(*jsonrpc.Response)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ok || !c.opening.IsValid() || answer.ID != c.opening {
		return
	}
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(answer.Result, &result) == nil {
		c.version = result.ProtocolVersion
	}
}

func (c *httpConn) agreed() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Write posts a message. After the last one of the handshake it listens.
func (c *httpConn) Write(ctx context.Context, message jsonrpc.Message) error {
	request, ok := message.(*jsonrpc.Request)
	if ok && request.Method == "initialize" {
		c.mu.Lock()
		c.opening = request.ID
		c.mu.Unlock()
	}
	if ok && request.IsCall() {
		ctx = context.WithValue(ctx, wantsAnswer{}, true)
	}
	err := unsent(c.posts.Write(ctx, message))
	if err == nil && ok && request.Method == "notifications/initialized" {
		c.listen(ctx)
	}
	return err
}

// listenTimeout is how long the handshake waits for the server's own stream, so that no message
// is lost. Some servers open it only with their first message.
const listenTimeout = time.Second

func (c *httpConn) listen(ctx context.Context) {
	c.mu.Lock()
	opened := c.opened
	c.opened = true
	c.mu.Unlock()
	if opened {
		return
	}
	open := make(chan struct{})
	go c.listenAll(sync.OnceFunc(func() { close(open) }))
	select {
	case <-open:
	case <-time.After(listenTimeout):
	case <-ctx.Done():
	case <-c.ctx.Done():
	}
}

// A stream that breaks is opened again, after a pause that grows while it has no events.
const (
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// listenAll reads the server's own stream, which reports changes of its tools. It calls ready when
// the stream is open, or when the server does not offer one. Other failures are retried.
func (c *httpConn) listenAll(ready func()) {
	defer ready()
	header := http.Header{}
	listened, warned := false, false
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if id := c.posts.SessionID(); id != "" {
			header.Set(sessionHeader, id)
		}
		resp, err := openStream(c.ctx, c.client, c.endpoint, header)
		if refused, ok := errors.AsType[*statusError](err); ok && refused.hasNoStream() {
			if listened {
				c.warn("the server does not tell any more when its tools change", &statusError{status: refused.status})
			}
			return
		}
		if err == nil {
			ready()
			listened = true
			var last string
			last, err = c.takeAll(newEvents(resp.Body))
			_ = resp.Body.Close()
			if last != "" {
				pause = firstPause
				header.Set("Last-Event-ID", last)
			}
			if errors.Is(err, errLargeEvent) && !warned {
				warned = true
				c.warn("a message of the server was lost", err)
			}
		}
		select {
		case <-time.After(pause):
		case <-c.ctx.Done():
			return
		}
	}
}

// hasNoStream reports that the server has no stream of its own, or refuses it.
func (e *statusError) hasNoStream() bool {
	switch e.status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnauthorized, http.StatusForbidden:
		return true
	}
	return false
}

// Close ends the session at the server.
func (c *httpConn) Close() error {
	var err error
	c.once.Do(func() {
		err = c.posts.Close()
		c.cancel()
		c.client.CloseIdleConnections()
	})
	return err
}

// SessionID is what the server calls the session.
func (c *httpConn) SessionID() string { return c.posts.SessionID() }
