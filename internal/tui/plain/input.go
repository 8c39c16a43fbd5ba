package plain

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"time"
)

// maxLine is how long a line of input can be.
const maxLine = 1 << 20

// A line is what was entered, and when it arrived.
type line struct {
	text string
	size int // in bytes; more than text has if the line is too long
	at   time.Time
	err  error // the input has ended
}

// read sends the lines of the input until it ends or stop is closed. A read that waits for a terminal
// cannot be ended: the goroutine ends with the program.
func read(in io.Reader, now func() time.Time, to chan<- line, stop <-chan struct{}) {
	r := bufio.NewReader(in)
	for {
		l := next(r)
		l.at = now()
		select {
		case to <- l:
		case <-stop:
			return
		}
		if l.err != nil {
			return
		}
	}
}

// next reads a line. What is longer than a line can be is read and dropped.
func next(r *bufio.Reader) (l line) {
	var text strings.Builder
	for {
		part, err := r.ReadSlice('\n')
		l.size += len(part)
		if l.size <= maxLine {
			text.Write(part)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && l.size == 0 {
			l.err = err
		}
		l.text = strings.TrimRight(text.String(), "\r\n")
		return l
	}
}
