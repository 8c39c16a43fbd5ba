package hostlink

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/providers/wire"
)

// A Reader reads lines of the other side.
type Reader struct {
	lines *bufio.Reader
	max   int
}

// NewReader returns a Reader of lines up to [MaxLine].
func NewReader(r io.Reader) *Reader { return &Reader{bufio.NewReaderSize(r, 64<<10), MaxLine} }

// Line returns the next line without its end. It is valid until the next call. A line that
// is too long, or that has no end, is an error.
func (r *Reader) Line() ([]byte, error) {
	line, err := r.lines.ReadSlice('\n')
	if err == nil {
		return line[:len(line)-1], nil
	}
	var long []byte
	for errors.Is(err, bufio.ErrBufferFull) {
		if long = append(long, line...); len(long) > r.max {
			return nil, fmt.Errorf("a line is longer than %d MiB", r.max>>20)
		}
		line, err = r.lines.ReadSlice('\n')
	}
	switch {
	case errors.Is(err, io.EOF) && len(long)+len(line) > 0:
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	}
	long = append(long, line...)
	return long[:len(long)-1], nil
}

// decode reads a line as one JSON object and nothing else: names are compared exactly, may
// not repeat and must be known.
func decode[T any](line []byte) (v T, err error) {
	if err := json.Unmarshal(line, &v, json.RejectUnknownMembers(true)); err != nil {
		return v, fmt.Errorf("a line cannot be understood: %w", err)
	}
	return v, nil
}

// Up returns the next line that came out of a container.
func (r *Reader) Up() (Up, error) {
	line, err := r.Line()
	if err != nil {
		return Up{}, err
	}
	if err := wire.Bound(line); err != nil {
		return Up{}, fmt.Errorf("a line has %w", err)
	}
	up, err := decode[Up](line)
	if err == nil && up.members() != 1 {
		err = errors.New("a line must say one thing")
	}
	return up, err
}

// members counts what a line says.
func (u Up) members() (n int) {
	for _, set := range []bool{u.Hello != nil, u.Check != nil, u.Append != nil, u.Commit != 0, u.Decide != nil, u.Ask != nil, len(u.Show) > 0, u.Alive, u.Log != nil, u.Note != nil, u.Found != nil, u.End != nil} {
		if set {
			n++
		}
	}
	return n
}

// A Writer writes lines. It is safe for concurrent use.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Encode returns an [Up] or a [Down] as one line, without its end.
func Encode(v any) ([]byte, error) {
	// Text that is no valid UTF-8 is replaced: a tool may hand over any bytes.
	data, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("encode a line: %w", err)
	}
	return data, nil
}

// Write writes an [Up] or a [Down].
func (w *Writer) Write(v any) error {
	data, err := Encode(v)
	if err != nil {
		return err
	}
	return w.Raw(data)
}

// Raw writes a line as it is.
func (w *Writer) Raw(line []byte) error {
	if len(line) >= MaxLine {
		return fmt.Errorf("a line of %d bytes is longer than %d MiB", len(line), MaxLine>>20)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.w.Write(append(line[:len(line):len(line)], '\n'))
	return err
}
