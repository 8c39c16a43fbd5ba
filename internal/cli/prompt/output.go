package prompt

import (
	"bytes"
	"io"
	"sync"
)

// maxHeld is how much output is kept back. Then its writers wait.
const maxHeld = 1 << 20

// Output keeps back what others write to the terminal while a question is there, so that it is not
// written over. It is written when the question is answered, in its order.
type Output struct {
	mu   sync.Mutex
	held *held // while a question is there
}

type held struct {
	parts []part
	size  int
	over  chan struct{} // closed when the question is answered
}

type part struct {
	to   io.Writer
	data []byte
}

// Writer returns a writer to w that waits for questions.
func (o *Output) Writer(w io.Writer) io.Writer { return &outputWriter{o, w} }

type outputWriter struct {
	output *Output
	w      io.Writer
}

func (w *outputWriter) Write(data []byte) (int, error) {
	for {
		full, err := w.output.write(w.w, data)
		if full == nil {
			return len(data), err
		}
		<-full.over
	}
}

// write writes, or keeps back. It returns what is held if there is no more space.
func (o *Output) write(to io.Writer, data []byte) (full *held, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held == nil {
		_, err := to.Write(data)
		return nil, err
	}
	if o.held.size+len(data) > maxHeld {
		return o.held, nil
	}
	o.held.parts = append(o.held.parts, part{to, bytes.Clone(data)})
	o.held.size += len(data)
	return nil, nil
}

// hold begins to keep output back.
func (o *Output) hold() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = &held{over: make(chan struct{})}
}

// release writes what was kept back. An error shows itself at the next write.
func (o *Output) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.held.parts {
		_, _ = p.to.Write(p.data)
	}
	close(o.held.over)
	o.held = nil
}
