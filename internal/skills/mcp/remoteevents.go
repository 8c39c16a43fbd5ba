package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
)

// A serverEvent is one entry of a stream of events.
type serverEvent struct {
	name string // "" means message
	id   string
	data []byte
}

// events reads a stream of events. The size of an event is limited, comments and unknown fields
// included; the length of the stream is not.
type events struct{ in *bufio.Reader }

func newEvents(r io.Reader) *events { return &events{bufio.NewReaderSize(r, 64<<10)} }

// maxEvent leaves space for the names of fields.
const maxEvent = frame.MaxBytes + 64<<10

var errLargeEvent = fmt.Errorf("the server sent an event of more than %d bytes", maxEvent)

// next returns the next complete event with a name, an id or data.
func (e *events) next() (serverEvent, error) {
	var event serverEvent
	hasData, size := false, 0
	for {
		line, err := e.line(maxEvent - size)
		if err != nil {
			return serverEvent{}, err
		}
		size += len(line)
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if hasData || event.name != "" || event.id != "" {
				return event, nil
			}
			size = 0
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(bytes.TrimPrefix(field, []byte("\ufeff"))) { // a stream may begin with a mark
		case "event":
			event.name = string(value)
		case "id":
			event.id = string(value)
		case "data":
			if hasData {
				event.data = append(event.data, '\n')
			}
			event.data, hasData = append(event.data, value...), true
		}
	}
}

// line reads to the next line break, but no more than is left.
func (e *events) line(left int) ([]byte, error) {
	var line []byte
	for {
		piece, err := e.in.ReadSlice('\n')
		if len(line)+len(piece) > left {
			return nil, errLargeEvent
		}
		line = append(line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
