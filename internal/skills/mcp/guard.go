package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
)

// A guard stands between a server and the protocol library, whatever the transport. It
// lets through answers to what was asked, and nothing else:
//
//   - requests of the server are answered here: a ping with a pong, all others, such as
//     for our model, our directories or our user's input, with a refusal;
//   - notifications are heard here, one by one, so that none can pile up;
//   - answers that nobody waits for are dropped, and so is what is no message;
//   - an error text is shortened, and the results of tools go to the asker as they came:
//     the library would lose some of it and stumble over the rest.
type guard struct {
	inner sdk.Connection
	hear  hearing
	now   func() time.Time

	ctx    context.Context // of the connection
	cancel context.CancelFunc
	ended  chan struct{} // nothing more can be read
	reply  chan *jsonrpc.Response

	mu      sync.Mutex
	open    map[jsonrpc.ID]*question
	probing bool // the first question, which old servers may not survive, has no answer
	err     error

	noise  int // messages of this minute that nobody asked for
	minute time.Time
}

// A hearing takes what a server says on its own. Its methods return at once.
type hearing interface {
	progress(params []byte)
	said(params []byte)
	listChanged()
	dropped(why string)
	redact(text string) string
}

// A question is a request that has no answer yet.
type question struct {
	id     jsonrpc.ID
	method string
	canned string // what the library gets in place of the result

	// What came, set before the library has its answer: the result as it was sent, or
	// what the server said against it. An error without a problem is one of the transport.
	// An asker who gives up may look while the answer comes in.
	result  []byte
	problem atomic.Pointer[jsonrpc.Error]
}

const (
	discoverMethod = "server/discover"
	listMethod     = "tools/list"
	callMethod     = "tools/call"

	maxReplies = 64      // answers to a server that wait for it to read
	maxNoise   = 200_000 // messages in a minute that nobody asked for
)

// errFlood ends a server that only talks.
var errFlood = fmt.Errorf("the server sent more than %d messages in a minute that were not asked for", maxNoise)

// newGuard takes a connection. The context gives its values, not its end.
func newGuard(ctx context.Context, inner sdk.Connection, hear hearing, now func() time.Time) *guard {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	g := &guard{
		inner: inner, hear: hear, now: now, ctx: ctx, cancel: cancel,
		ended: make(chan struct{}), reply: make(chan *jsonrpc.Response, maxReplies),
		open: make(map[jsonrpc.ID]*question),
	}
	go g.replyAll()
	return g
}

// Connect returns g itself: it is its own transport.
func (g *guard) Connect(context.Context) (sdk.Connection, error) { return g, nil }

// SessionID is that of the connection.
func (g *guard) SessionID() string { return g.inner.SessionID() }

type questionKey struct{}

// asking returns a context by which the result of a request comes back as it was sent.
func asking(ctx context.Context, q *question) context.Context {
	return context.WithValue(ctx, questionKey{}, q)
}

// Write sends a message of the library, and remembers what it asks.
func (g *guard) Write(ctx context.Context, message jsonrpc.Message) error {
	request, ok := message.(*jsonrpc.Request)
	if !ok || !request.IsCall() {
		return g.inner.Write(ctx, message)
	}
	q, ok := ctx.Value(questionKey{}).(*question)
	if !ok {
		q = &question{}
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

// forget drops a question whose asker has gone.
func (g *guard) forget(q *question) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[q.id] == q {
		delete(g.open, q.id)
	}
}

// take finds the question of an answer. It can be answered once.
func (g *guard) take(id jsonrpc.ID) *question {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.open[id]
	delete(g.open, id)
	if q != nil && q.method == discoverMethod {
		g.probing = false
	}
	return q
}

// Read returns the next answer that somebody waits for.
func (g *guard) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		message, err := g.inner.Read(ctx)
		var answer *jsonrpc.Response
		if bad, ok := isBadMessage(err); ok {
			answer, err = g.giveUp(bad), nil
		} else if err == nil {
			answer = g.judge(message)
		}
		if err == nil && answer == nil {
			err = g.count()
		}
		switch {
		case err != nil:
			g.fail(err)
			return nil, err
		case answer != nil:
			return answer, nil
		}
	}
}

// judge decides about a message. Only an answer that is waited for goes on.
func (g *guard) judge(message jsonrpc.Message) *jsonrpc.Response {
	switch m := message.(type) {
	case *jsonrpc.Request:
		g.listen(m)
	case *jsonrpc.Response:
		if q := g.take(m.ID); q != nil {
			return q.answer(m, g.hear.redact)
		}
		g.hear.dropped("an answer without a request")
	}
	return nil
}

// listen takes what a server wants from us.
func (g *guard) listen(m *jsonrpc.Request) {
	if m.IsCall() {
		response := &jsonrpc.Response{ID: m.ID, Result: []byte("{}")}
		if m.Method != "ping" {
			response = &jsonrpc.Response{ID: m.ID, Error: &jsonrpc.Error{
				Code: jsonrpc.CodeMethodNotFound, Message: "this client does not do that for a server",
			}}
		}
		select {
		case g.reply <- response:
		default: // it asks without reading what it is told
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

// replyAll writes the answers to a server beside the reading: a server that sends and
// does not read would block both sides for ever.
func (g *guard) replyAll() {
	for {
		select {
		case <-g.ctx.Done():
			return
		case r := <-g.reply:
			if g.inner.Write(g.ctx, r) != nil {
				return // whoever asks next learns that the server is gone
			}
		}
	}
}

// giveUp answers the question to which a bad message was probably the answer, so that
// nobody waits in vain.
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

// count bounds what a server can say without being asked.
func (g *guard) count() error {
	if now := g.now(); now.Sub(g.minute) >= time.Minute {
		g.minute, g.noise = now, 0
	}
	if g.noise++; g.noise > maxNoise {
		return errFlood
	}
	return nil
}

func (g *guard) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
		close(g.ended)
	}
}

// failure says why nothing more can be read, after ended is closed.
func (g *guard) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// diedProbing reports that the server was asked the first question of the newer protocol
// and said nothing any more.
func (g *guard) diedProbing() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.probing
}

// Close ends the connection. Read ends when the streams do.
func (g *guard) Close() error {
	g.cancel()
	return g.inner.Close()
}

// errNoAnswer is what the library is told about an answer that is none.
var errNoAnswer = errors.New("the server answered with neither a result nor an error, or with both")
