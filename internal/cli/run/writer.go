package run

import (
	"context"
	"errors"
	"io"
	"time"
)

// patience is how long a run that was told to stop waits for its output to be read.
const patience = 2 * time.Second

// errUnread is the error of a write that the reader does not take.
var errUnread = errors.New("the output is not being read")

// A patientWriter writes like the writer in it, until its context is done. From then on
// a write that does not come through is given up, so that a reader who has stopped
// reading cannot keep a run from ending. It is for one goroutine.
type patientWriter struct {
	ctx  context.Context
	w    io.Writer
	work chan []byte
	done chan error
	err  error
}

func newPatientWriter(ctx context.Context, w io.Writer) *patientWriter {
	p := &patientWriter{ctx: ctx, w: w, work: make(chan []byte), done: make(chan error, 1)}
	go func() {
		for data := range p.work {
			_, err := w.Write(data)
			p.done <- err
		}
	}()
	return p
}

// Write hands data to the goroutine that writes, and waits for it. After a failure
// every further write fails the same way.
func (p *patientWriter) Write(data []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	p.work <- data
	select {
	case p.err = <-p.done:
	case <-p.ctx.Done():
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case p.err = <-p.done:
		case <-timer.C:
			p.err = errUnread // the goroutine stays with its write; the process ends soon
		}
	}
	if p.err != nil {
		return 0, p.err
	}
	return len(data), nil
}

// Close ends the goroutine.
func (p *patientWriter) Close() { close(p.work) }
