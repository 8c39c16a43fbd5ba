package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
	"github.com/perstack-go/perstack/rawjson"
)

// A pipe carries messages over the two streams of a process, one a line.
type pipe struct {
	inbox
	out    io.Writer
	frames chan []byte // to be written

	strayed chan struct{} // closed when a line was not a message

	mu     sync.Mutex
	broken error  // of writing
	stray  string // the first line that was not a message
	spoke  bool   // a line was a message
}

// writeAhead is how many messages are buffered for a server that reads slowly.
const writeAhead = 16

// newPipe uses the values of a context, not its end.
func newPipe(ctx context.Context, in io.Reader, out io.Writer) *pipe {
	p := &pipe{inbox: newInbox(ctx), out: out, frames: make(chan []byte, writeAhead), strayed: make(chan struct{})}
	go p.readAll(bufio.NewReaderSize(in, 64<<10))
	go p.writeAll()
	return p
}

// SessionID is empty: a process serves one session.
func (p *pipe) SessionID() string { return "" }

// readAll reads until the stream ends. A read cannot be cancelled, so it has its own goroutine,
// which ends with the process. It reads a message when the one before was taken.
func (p *pipe) readAll(in *bufio.Reader) {
	for {
		data, err := frame.Read(in)
		switch _, bad := isBadMessage(err); {
		case bad:
			err = p.deliver(nil, err)
		case err != nil:
			p.end(err)
			return
		default:
			p.notice(data)
			err = p.take(data)
		}
		if err != nil { // closed
			return
		}
	}
}

// notice keeps the first line that is not a message, for the error about a failed start.
func (p *pipe) notice(line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if line[0] == '{' || rawjson.Value(line).IsValid() {
		p.spoke = true
		return
	}
	if p.stray == "" {
		p.stray = string(line[:min(len(line), maxLineBytes)])
		close(p.strayed)
	}
}

func (p *pipe) hasSpoken() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spoke
}

func (p *pipe) firstStray() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stray
}

// Write hands a message to the goroutine that writes. A server that does not read blocks its
// callers until they are cancelled, and not the goroutine that reads.
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
	case <-p.ctx.Done():
		return io.ErrClosedPipe
	}
}

func (p *pipe) writeAll() {
	for {
		select {
		case <-p.ctx.Done():
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
	p.cancel()
	return nil
}

// isBadMessage reports that one message was bad, and the next can be read.
func isBadMessage(err error) (*frame.Error, bool) { return errors.AsType[*frame.Error](err) }
