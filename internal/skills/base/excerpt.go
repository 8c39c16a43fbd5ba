package base

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// Limits of one answer of readTextFile.
const (
	maxLines = 2000
	maxBytes = 256 << 10
)

var (
	errBinary  = errors.New("binary")
	errTooLong = errors.New("too long")
)

// An excerpt is a range of the lines of a text, cut to a size. Its lines are the pieces
// that "\n" separates, so an empty text has one, and a final newline adds an empty one.
type excerpt struct {
	from, to int64 // to is -1 for "up to the end"
	maxLines int64
	maxBytes int

	text      []byte
	line      int64 // the line being read; the last one, when done
	begun     bool  // there is something in that line
	next      int64 // the first line that is not in text
	truncated bool  // lines of the range were left out for their size
	lineCut   bool  // the last line of text lacks its end
}

// read reads all of r, in bounded memory: it counts the lines and checks that all of it is text.
func (e *excerpt) read(ctx context.Context, r io.Reader, limit int64) error {
	buf := make([]byte, 4<<10) // most files are small, and many Experts can read in parallel
	e.next = e.from
	var total int64
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.Read(buf)
		chunk := buf[:n]
		if total += int64(n); total > limit {
			return errTooLong // it has grown since it was opened, or its size was wrong
		}
		if bytes.IndexByte(chunk, 0) >= 0 {
			return errBinary
		}
		e.add(chunk)
		if n == len(buf) && n < 64<<10 {
			buf = make([]byte, 64<<10)
		}
		if errors.Is(err, io.EOF) {
			e.finish()
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (e *excerpt) wanted() bool {
	return e.line >= e.from && (e.to < 0 || e.line < e.to)
}

// add takes the next piece of the text, line by line. A newline belongs to the text if
// the line after it is in the range too; it is written before that line.
func (e *excerpt) add(chunk []byte) {
	for len(chunk) > 0 {
		end := bytes.IndexByte(chunk, '\n')
		piece := chunk
		if end >= 0 {
			piece = chunk[:end]
		}
		e.take(piece)
		if end < 0 {
			e.begun = true
			return
		}
		e.finish()
		e.line++
		e.begun = false
		if e.wanted() && e.line > e.from {
			e.begin()
		}
		chunk = chunk[end+1:]
	}
}

// begin separates the line from the one before.
func (e *excerpt) begin() {
	if e.truncated {
		return
	}
	if e.line-e.from >= e.maxLines || len(e.text)+1 > e.maxBytes {
		e.truncated = true
		return
	}
	e.text = append(e.text, '\n')
}

// take adds a piece of the current line. A line that does not fit is left out, unless it is the
// first, of which the beginning is shown.
func (e *excerpt) take(piece []byte) {
	if !e.wanted() || e.truncated {
		return
	}
	space := e.maxBytes - len(e.text)
	if len(piece) <= space {
		e.text = append(e.text, piece...)
		return
	}
	e.truncated = true
	if e.line == e.from {
		e.text = append(e.text, piece[:space]...)
		e.lineCut = true
		e.next = e.line + 1
		return
	}
	e.text = e.text[:bytes.LastIndexByte(e.text, '\n')]
}

// finish ends the current line.
func (e *excerpt) finish() {
	if e.wanted() && !e.truncated {
		e.next = e.line + 1
	}
}

// end is the "to" of the answer: the argument or the end of the text, or the first line that was
// left out.
func (e *excerpt) end() int64 {
	switch {
	case e.truncated:
		return e.next
	case e.to >= 0:
		return e.to
	}
	return e.line + 1
}

// lines counts as people do: the newline at the end of the last line adds none.
func (e *excerpt) lines() int64 {
	if e.begun {
		return e.line + 1
	}
	return e.line
}
