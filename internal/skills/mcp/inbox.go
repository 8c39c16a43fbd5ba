package mcp

import (
	"bytes"
	"context"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
)

// An inbox collects the messages of the streams of one connection. It has no buffer: a sender
// waits for the reader.
type inbox struct {
	ctx      context.Context // of the connection
	cancel   context.CancelFunc
	messages chan delivery
}

type delivery struct {
	message jsonrpc.Message
	err     error
}

// newInbox uses the values of a context, not its end.
func newInbox(ctx context.Context) inbox {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return inbox{own, cancel, make(chan delivery)}
}

// Read returns the next message. An error that is a [frame.Error] is one bad message;
// every other is the end.
func (b inbox) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case d := <-b.messages:
		return d.message, d.err
	case <-b.ctx.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// deliver waits until the message is read.
func (b inbox) deliver(message jsonrpc.Message, err error) error {
	select {
	case b.messages <- delivery{message, err}:
		return nil
	case <-b.ctx.Done():
		return b.ctx.Err()
	}
}

// end makes all following reads fail.
func (b inbox) end(err error) {
	for b.deliver(nil, err) == nil { // until the connection is closed
	}
}

// takeAll delivers the messages of a stream until it ends. It returns the id of the last event,
// from which a stream can be resumed.
func (b inbox) takeAll(stream *events) (last string, err error) {
	for {
		event, err := stream.next()
		if err != nil {
			return last, err
		}
		if event.id != "" {
			last = event.id
		}
		if len(event.data) == 0 || event.name != "" && event.name != "message" {
			continue
		}
		if err := b.take(event.data); err != nil {
			return last, err
		}
	}
}

// take delivers a message or a list of them.
func (b inbox) take(data []byte) error {
	data = frame.FixUTF8(bytes.TrimSpace(data))
	list, isList := frame.Split(data)
	if !isList {
		return b.deliver(frame.Parse(data))
	}
	for _, each := range list {
		if err := b.deliver(frame.Parse(each)); err != nil {
			return err
		}
	}
	return nil
}
