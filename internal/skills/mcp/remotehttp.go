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

// httpConn is a connection over streamable HTTP. Messages are posted, and their answers
// read, by the library. It does two things only when nobody stands between it and the
// transport, which our guard does: it tells the agreed version with every request, and it
// listens to what the server says on its own. So both are done here.
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
	opened  bool // the stream of the server's own messages was asked for
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

// takeAnswers delivers what the library reads. It parses leniently; what it was given is
// checked here.
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

// recheck checks the content of a message as strictly as a frame is.
func recheck(message jsonrpc.Message) (jsonrpc.Message, error) {
	switch m := message.(type) {
	case *jsonrpc.Request:
		if len(m.Params) > 0 {
			m.Params = frame.Mend(m.Params)
			if err := frame.Check(m.Params); err != nil {
				return nil, &frame.Error{Code: jsonrpc.CodeParseError, Message: "the message is not valid JSON: " + err.Error()}
			}
		}
	case *jsonrpc.Response:
		if len(m.Result) > 0 {
			m.Result = frame.Mend(m.Result)
			if err := frame.Check(m.Result); err != nil {
				id, _ := json.Marshal(m.ID.Raw())
				return nil, &frame.Error{Guess: rawjson.Value(id), Code: jsonrpc.CodeParseError, Message: "the message is not valid JSON: " + err.Error()}
			}
		}
	}
	return message, nil
}

// notice learns the agreed version from the answer that names it. Newer versions have no
// such answer: they are named in every message, and have no stream to listen to.
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

// listenPatience is how long the handshake waits for the server's own stream. Most servers
// open it at once, and then no message is lost; some do with their first message.
const listenPatience = time.Second

func (c *httpConn) listen(ctx context.Context) {
	c.mu.Lock()
	again := c.opened
	c.opened = true
	c.mu.Unlock()
	if again {
		return
	}
	open := make(chan struct{})
	go c.listenAll(sync.OnceFunc(func() { close(open) }))
	patience := time.NewTimer(listenPatience)
	defer patience.Stop()
	select {
	case <-open:
	case <-patience.C:
	case <-ctx.Done():
	case <-c.ctx.Done():
	}
}

// A stream that breaks is asked for again, more slowly each time in which it said nothing.
const (
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// listenAll takes the server's own messages. It calls ready when they are listened to, or
// when the server has none: it need not offer them. A server that is only busy or broken
// is asked again: on this stream it says that its tools are others now.
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
		if !c.pause(pause) {
			return
		}
	}
}

// hasNoStream reports that the server does not speak on its own, or not to us. Asking it
// again would not help.
func (e *statusError) hasNoStream() bool {
	switch e.status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnauthorized, http.StatusForbidden:
		return true
	}
	return false
}

func (c *httpConn) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// Close ends the session at the server, if it has one and answers soon.
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
