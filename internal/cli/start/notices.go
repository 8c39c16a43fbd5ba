package start

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// notices take what commands print to standard error while a program has the screen. Lines that come
// while no job runs are kept for later.
type notices struct {
	mu   sync.Mutex
	line []byte // its end has not come yet
	tell func(string)
	kept bytes.Buffer
}

// maxKept bounds what is kept.
const maxKept = 64 << 10

// to sends lines to tell until back is called.
func (n *notices) to(tell func(string)) (back func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tell = tell
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.tell = nil
	}
}

// Write implements [io.Writer]. Lines come cleaned: they are meant for a terminal.
func (n *notices) Write(data []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.line = append(n.line, data...)
	for {
		line, rest, ok := bytes.Cut(n.line, []byte("\n"))
		if !ok {
			return len(data), nil
		}
		n.line = rest
		switch {
		case n.tell != nil:
			n.tell(strings.TrimPrefix(string(line), "perstack: "))
		case n.kept.Len() < maxKept:
			n.kept.Write(append(line, '\n'))
		}
	}
}

// print writes what was kept.
func (n *notices) print(w io.Writer) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, err := w.Write(append(n.kept.Bytes(), n.line...))
	return err
}
