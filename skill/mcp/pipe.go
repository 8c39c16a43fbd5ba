package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/skill/mcp/frame"
)

// A pipe carries messages over the two streams of a process, one a line. A read of it
// that fails with a [frame.Error] is one bad message; every other error is the end.
type pipe struct {
	out    io.Writer
	came   chan arrival
	frames chan []byte   // to be written
	closed chan struct{} // nobody reads or writes any more
	once   sync.Once

	mu     sync.Mutex
	broken error // of writing
}

// An arrival is a message that was read, or why there is none.
type arrival struct {
	message jsonrpc.Message
	err     error
}

// writeAhead is how many messages wait for a server that is slow to read.
const writeAhead = 16

func newPipe(in io.Reader, out io.Writer) *pipe {
	p := &pipe{
		out: out, came: make(chan arrival),
		frames: make(chan []byte, writeAhead), closed: make(chan struct{}),
	}
	go p.readAll(bufio.NewReaderSize(in, 64<<10))
	go p.writeAll()
	return p
}

// Connect returns p itself: there is one connection.
func (p *pipe) Connect(context.Context) (sdk.Connection, error) { return p, nil }

// SessionID is empty: a process serves one session.
func (p *pipe) SessionID() string { return "" }

// Read returns the next message.
func (p *pipe) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case a := <-p.came:
		return a.message, a.err
	case <-p.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// readAll reads until the stream ends. A read of a stream cannot be called off, so it has
// a goroutine of its own, which ends with the process. It reads no further than what was
// taken: a server that floods waits.
func (p *pipe) readAll(in *bufio.Reader) {
	for {
		data, err := frame.Read(in)
		if err != nil {
			if _, bad := isBadMessage(err); !p.arrive(arrival{err: err}) || !bad {
				return
			}
			continue
		}
		data = frame.Mend(data)
		list, isList := frame.Split(data)
		if !isList {
			list = []jsontext.Value{data}
		}
		for _, one := range list {
			message, err := frame.Parse(one)
			if !p.arrive(arrival{message, err}) {
				return
			}
		}
	}
}

// arrive hands over a message, and reports whether anybody still wants the next.
func (p *pipe) arrive(a arrival) bool {
	select {
	case p.came <- a:
		return true
	case <-p.closed:
		return false
	}
}

// Write hands a message to the goroutine that writes. A server that does not read holds
// up whoever sends until they lose patience, and nobody else: not even who reads.
func (p *pipe) Write(ctx context.Context, message jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	p.mu.Lock()
	err = p.broken
	p.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case p.frames <- append(data, '\n'):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closed:
		return io.ErrClosedPipe
	}
}

func (p *pipe) writeAll() {
	for {
		select {
		case <-p.closed:
			return
		case data := <-p.frames:
			if _, err := p.out.Write(data); err != nil {
				p.mu.Lock()
				p.broken = fmt.Errorf("the server does not read any more: %w", err)
				p.mu.Unlock()
			}
		}
	}
}

// Close ends reading and writing. The streams end with the process.
func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// isBadMessage reports that one message was bad, and the next can be read.
func isBadMessage(err error) (*frame.Error, bool) { return errors.AsType[*frame.Error](err) }
