package mcp

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
)

// A guard filters the messages of a server, whatever the transport. The protocol library gets
// the answers to its own requests, and nothing else:
//
//   - requests of the server are answered here: a ping with a pong, all others, such as those for
//     our model, directories or user input, with a refusal;
//   - notifications are handled here, one by one, so that none can pile up;
//   - answers without a request are dropped, and so are invalid messages;
//   - error texts are shortened, and the results of tools go to the caller as they were sent: the
//     library would lose some of them and fail on others.
type guard struct {
	inner sdk.Connection
	hear  notified
	now   func() time.Time

	ctx    context.Context // of the connection
	cancel context.CancelFunc
	ended  context.Context // nothing more can be read; its cause says why
	end    context.CancelCauseFunc
	reply  chan *jsonrpc.Response

	mu      sync.Mutex
	open    map[jsonrpc.ID]*pendingRequest
	probing bool // the first request, at which some old servers end, has no answer

	noise  int // messages of this minute that were not asked for
	minute time.Time
}

// A notified handles what a server sends without being asked. Its methods return at once.
type notified interface {
	progress(params []byte)
	said(params []byte)
	listChanged()
	dropped(why string)
	redact(text string) string
}

// A pendingRequest has no answer yet.
type pendingRequest struct {
	id     jsonrpc.ID
	method string
	canned string // what the library gets in place of the result

	// The answer, set before the library gets its own: the result as it was sent, or the
	// server's error. An error without a problem is one of the transport. A caller that gives
	// up can read this while the answer arrives.
	result  []byte
	problem atomic.Pointer[jsonrpc.Error]
}

const (
	discoverMethod = "server/discover"

	maxReplies = 64      // answers to a server that it has not read
	maxNoise   = 200_000 // messages in a minute that were not asked for
)

var errFlood = fmt.Errorf("the server sent more than %d messages in a minute that were not asked for", maxNoise)

// newGuard uses the values of a context, not its end.
func newGuard(ctx context.Context, inner sdk.Connection, hear notified, now func() time.Time) *guard {
	g := &guard{
		inner: inner, hear: hear, now: now,
		reply: make(chan *jsonrpc.Response, maxReplies), open: make(map[jsonrpc.ID]*pendingRequest),
	}
	ctx = context.WithoutCancel(ctx)
	g.ctx, g.cancel = context.WithCancel(ctx)
	g.ended, g.end = context.WithCancelCause(ctx)
	go g.replyAll()
	return g
}

// Connect returns g itself: it is its own transport.
func (g *guard) Connect(context.Context) (sdk.Connection, error) { return g, nil }

// SessionID is that of the connection.
func (g *guard) SessionID() string { return g.inner.SessionID() }

type pendingKey struct{}

// withPending returns a context in which the request of the library fills q.
func withPending(ctx context.Context, q *pendingRequest) context.Context {
	return context.WithValue(ctx, pendingKey{}, q)
}

// Write sends a message of the library, and remembers requests.
func (g *guard) Write(ctx context.Context, message jsonrpc.Message) error {
	request, ok := message.(*jsonrpc.Request)
	if !ok || !request.IsCall() {
		return g.inner.Write(ctx, message)
	}
	q, ok := ctx.Value(pendingKey{}).(*pendingRequest)
	if !ok {
		q = &pendingRequest{}
	}
	q.id, q.method = request.ID, request.Method
	g.mu.Lock()
	g.open[q.id] = q
	g.probing = q.method == discoverMethod
	g.mu.Unlock()
	err := g.inner.Write(ctx, message)
	if err != nil {
		g.forget(q)
	}
	return err
}

// forget drops a request whose caller has given up.
func (g *guard) forget(q *pendingRequest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[q.id] == q {
		delete(g.open, q.id)
	}
}

// take removes and returns the request of an answer; nil if there is none.
func (g *guard) take(id jsonrpc.ID) *pendingRequest {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.open[id]
	delete(g.open, id)
	if q != nil && q.method == discoverMethod {
		g.probing = false
	}
	return q
}

// Read returns the next answer to a request.
func (g *guard) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		message, err := g.inner.Read(ctx)
		var answer *jsonrpc.Response
		if bad, ok := isBadMessage(err); ok {
			answer, err = g.giveUp(bad), nil
		} else if err == nil {
			answer = g.filter(message)
		}
		if err == nil && answer == nil {
			err = g.count()
		}
		switch {
		case err != nil:
			g.end(err)
			return nil, err
		case answer != nil:
			return answer, nil
		}
	}
}

// filter handles a message. It returns an answer to a request, and nil for all others.
func (g *guard) filter(message jsonrpc.Message) *jsonrpc.Response {
	switch m := message.(type) {
	case *jsonrpc.Request:
		g.handle(m)
	case *jsonrpc.Response:
		if q := g.take(m.ID); q != nil {
			return q.answer(m, g.hear.redact)
		}
		g.hear.dropped("an answer without a request")
	}
	return nil
}

// handle handles a request or notification of the server.
func (g *guard) handle(m *jsonrpc.Request) {
	if m.IsCall() {
		response := &jsonrpc.Response{ID: m.ID, Result: []byte("{}")}
		if m.Method != "ping" {
			response = &jsonrpc.Response{ID: m.ID, Error: &jsonrpc.Error{
				Code: jsonrpc.CodeMethodNotFound, Message: "this client does not do that for a server",
			}}
		}
		select {
		case g.reply <- response:
		default: // the server does not read its answers
		}
		return
	}
	switch m.Method {
	case "notifications/progress":
		g.hear.progress(m.Params)
	case "notifications/message":
		g.hear.said(m.Params)
	case "notifications/tools/list_changed":
		g.hear.listChanged()
	}
}

// replyAll answers the server in its own goroutine: a server that sends and does not read would
// block both sides for ever.
func (g *guard) replyAll() {
	for {
		select {
		case <-g.ctx.Done():
			return
		case r := <-g.reply:
			if g.inner.Write(g.ctx, r) != nil {
				return // the next request reports that the server has ended
			}
		}
	}
}

// giveUp refuses the request to which a bad message was probably the answer, so that its caller
// does not wait for nothing.
func (g *guard) giveUp(bad *frame.Error) *jsonrpc.Response {
	g.hear.dropped(bad.Message)
	id, ok := wireID(bad.Guess)
	if !ok {
		return nil
	}
	q := g.take(id)
	if q == nil {
		return nil
	}
	return q.refuse(id, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the server's answer cannot be used: " + bad.Message})
}

// count limits messages that were not asked for.
func (g *guard) count() error {
	if now := g.now(); now.Sub(g.minute) >= time.Minute {
		g.minute, g.noise = now, 0
	}
	if g.noise++; g.noise > maxNoise {
		return errFlood
	}
	return nil
}

// endedProbing reports that the server ended without answering the first request of the newer
// protocol.
func (g *guard) endedProbing() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.probing
}

// Close ends the connection. Read ends when the streams do.
func (g *guard) Close() error {
	g.cancel()
	return g.inner.Close()
}
