package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	wire "github.com/perstack-go/perstack/internal/skills/mcp/frame"
	"github.com/perstack-go/perstack/rawjson"
)

const (
	maxOpen      = 64       // requests that wait for their answers
	maxOpenBytes = 64 << 20 // of their messages together
)

// A connection reads and writes messages on two streams, one a line. It is both the transport and
// the connection of the protocol library, since there is one session.
//
// The library ends the session at any error of a read, so bad frames are answered and skipped
// here. It also ends all calls when the stream ends. Here the end is reported after the last
// answers are written, so that a script that writes its requests and closes the stream gets them.
type connection struct {
	frames chan frame
	closed chan struct{}   // closed by the library
	halt   <-chan struct{} // closed by the caller of Run
	over   chan struct{}   // closed when the end has been reported to the library
	reason error           // of that end; nil when the client closed the stream, or halt
	stop   func()          // stops all calls

	writing sync.Mutex
	out     io.Writer

	mu     sync.Mutex
	open   map[jsonrpc.ID]request // that have no answer yet
	bytes  int                    // of all of them
	awaits int                    // how many of them are not endless
	idle   chan struct{}          // has a value when the last of those was answered
	once   sync.Once
}

type request struct {
	size    int
	endless bool // it ends only when the client cancels it
}

type frame struct {
	data []byte
	err  error
}

func newConnection(in io.Reader, out io.Writer, halt <-chan struct{}, stop func()) *connection {
	c := &connection{
		frames: make(chan frame),
		closed: make(chan struct{}),
		halt:   halt,
		over:   make(chan struct{}),
		stop:   stop,
		out:    out,
		open:   make(map[jsonrpc.ID]request),
		idle:   make(chan struct{}, 1),
	}
	go c.readAll(bufio.NewReaderSize(in, 64<<10))
	return c
}

// readAll reads frames until the stream ends. A read of standard input cannot be cancelled, so it
// has its own goroutine, which can outlive the connection.
func (c *connection) readAll(in *bufio.Reader) {
	for {
		data, err := wire.Read(in)
		select {
		case c.frames <- frame{data, err}:
		case <-c.closed:
			return
		}
		if err != nil && !errors.As(err, new(*wire.Error)) {
			return
		}
	}
}

// Connect returns c itself.
func (c *connection) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID is empty: there is one session.
func (c *connection) SessionID() string { return "" }

// Read returns the next good message.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case <-c.halt:
			return nil, c.end(0, io.EOF)
		case f := <-c.frames:
			message, err := c.accept(f)
			if bad, ok := errors.AsType[*wire.Error](err); ok {
				if err := c.writeLine(refusal(bad)); err != nil {
					return nil, err
				}
				continue
			}
			if err != nil {
				return nil, c.end(lastAnswers, err)
			}
			return message, nil
		}
	}
}

// accept parses a frame, and refuses a request when too many are open.
func (c *connection) accept(f frame) (jsonrpc.Message, error) {
	if f.err != nil {
		return nil, f.err
	}
	message, err := wire.Parse(f.data)
	if err != nil {
		return nil, err
	}
	call, ok := message.(*jsonrpc.Request)
	if !ok || !call.IsCall() {
		return message, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= maxOpen || c.bytes+len(f.data) > maxOpenBytes {
		return nil, &wire.Error{ID: wire.ID(f.data), Code: codeBusy, Message: fmt.Sprintf("too many requests at once: %d wait for their answers; wait for some of them", len(c.open))}
	}
	if _, twice := c.open[call.ID]; !twice { // the library refuses an id that is in use
		r := request{size: len(f.data), endless: call.Method == listenMethod}
		c.open[call.ID] = r
		c.bytes += r.size
		if !r.endless {
			c.awaits++
		}
	}
	return message, nil
}

// codeBusy is one of the codes that JSON-RPC reserves for servers.
const codeBusy = -32000

// end waits for the open requests. Those that take longer than limit are stopped and answered as
// stopped. Then it reports err to the library as the end of the stream.
func (c *connection) end(limit time.Duration, err error) error {
	c.await(limit)
	c.stop()
	c.await(grace)
	if !errors.Is(err, io.EOF) {
		c.reason = fmt.Errorf("read from the client: %w", err)
	}
	close(c.over)
	return err
}

func (c *connection) isOver() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// await waits until every request that is not endless is answered, or the time is over.
func (c *connection) await(limit time.Duration) {
	expired := time.After(limit)
	for {
		c.mu.Lock()
		awaits := c.awaits
		c.mu.Unlock()
		if awaits == 0 {
			return
		}
		select {
		case <-c.idle:
		case <-c.closed:
			return
		case <-expired:
			return
		}
	}
}

// Write sends a message.
func (c *connection) Write(_ context.Context, message jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	err = c.writeLine(data)
	if response, ok := message.(*jsonrpc.Response); ok {
		c.answered(response.ID)
	}
	return err
}

func (c *connection) writeLine(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write to the client: %w", err)
	}
	return nil
}

func (c *connection) answered(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.open[id]
	delete(c.open, id)
	c.bytes -= r.size
	if !ok || r.endless {
		return
	}
	if c.awaits--; c.awaits == 0 {
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
}

// Close ends the session. The streams belong to the caller.
func (c *connection) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// refusal returns the answer to an invalid frame.
func refusal(bad *wire.Error) []byte {
	id := bad.ID
	if len(id) == 0 {
		id = rawjson.Value("null")
	}
	type problem struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	frame, err := json.Marshal(struct {
		JSONRPC string        `json:"jsonrpc"`
		ID      rawjson.Value `json:"id"`
		Error   problem       `json:"error"`
	}{"2.0", id, problem{bad.Code, bad.Message}}, jsontext.AllowInvalidUTF8(true))
	if err != nil { // the id was checked to be JSON
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	return frame
}
