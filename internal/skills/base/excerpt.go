package base

import (
	"bufio"
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
	in := bufio.NewReader(r) // it has a small buffer: many Experts can read in parallel
	e.next = e.from
	for total := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		piece, err := in.ReadSlice('\n')
		if total += int64(len(piece)); total > limit {
			return errTooLong // it has grown since it was opened, or its size was wrong
		}
		if bytes.IndexByte(piece, 0) >= 0 {
			return errBinary
		}
		e.add(piece)
		switch {
		case errors.Is(err, io.EOF):
			e.finish()
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}

func (e *excerpt) wanted() bool {
	return e.line >= e.from && (e.to < 0 || e.line < e.to)
}

// add takes a line, or a piece of a long one. A newline belongs to the text if the line after it
// is in the range too; it is written before that line.
func (e *excerpt) add(piece []byte) {
	text, ended := bytes.CutSuffix(piece, []byte("\n"))
	e.take(text)
	if !ended {
		e.begun = e.begun || len(piece) > 0
		return
	}
	e.finish()
	e.line++
	e.begun = false
	if e.wanted() && e.line > e.from {
		e.begin()
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
