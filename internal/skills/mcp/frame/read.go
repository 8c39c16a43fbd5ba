package frame

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine is how much of a line that is too long is skipped before the connection ends.
const maxLine = 16 * MaxBytes

// ErrEndless ends a connection: nothing can be read after a line without an end.
var ErrEndless = fmt.Errorf("a message has no end: %d bytes were read", maxLine)

// Read reads the next line that is not blank. A line that is too long is an [Error], and is not
// kept in memory.
func Read(in *bufio.Reader) ([]byte, error) {
	for {
		line, err := readLine(in)
		if line = bytes.TrimSpace(line); err != nil || len(line) > 0 {
			return line, err
		}
	}
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var line line
	for {
		piece, err := in.ReadSlice('\n')
		line.add(piece)
		switch {
		case line.size > maxLine:
			return nil, ErrEndless
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case line.size > MaxBytes:
			return nil, &Error{Guess: guess(line.data, line.tail), Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("the message is longer than %d bytes", MaxBytes)}
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(line.data)) > 0:
			return line.data, nil // the end is reported by the next read
		}
		return line.data, err
	}
}

// A line is all of a line, or its two ends when it is too long.
type line struct {
	size       int
	data, tail []byte
}

// edge is how much of each end is kept, for finding the id.
const edge = 1 << 10

func (l *line) add(piece []byte) {
	l.size += len(piece)
	if l.size <= MaxBytes {
		l.data = append(l.data, piece...)
		return
	}
	if len(l.data) > edge {
		l.keepTail(l.data)
		l.data = bytes.Clone(l.data[:edge])
	}
	l.keepTail(piece)
}

func (l *line) keepTail(piece []byte) {
	l.tail = append(l.tail, piece[max(0, len(piece)-edge):]...)
	l.tail = l.tail[max(0, len(l.tail)-edge):]
}
