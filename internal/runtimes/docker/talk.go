package docker

import (
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/terminal"
)

// A talk is the lines that pass between a session and a container, each direction on a
// goroutine of its own: a container that does not read must not keep the session from
// noticing.
type talk struct {
	ups    chan hostlink.Up // closed when there are no more
	err    error            // why; set before ups is closed; nil at the end of the stream
	exited <-chan Exit
	stderr tail

	queue chan hostlink.Down
	over  chan struct{}
}

// maxWaiting is how many answers may wait to be written. An engine waits for each before
// it asks for much more.
const maxWaiting = 1024

// newTalk sends these lines first, and listens.
func newTalk(c *Container, first [][]byte) *talk {
	t := &talk{ups: make(chan hostlink.Up), exited: c.Exited, queue: make(chan hostlink.Down, maxWaiting), over: make(chan struct{})}
	go t.write(c.Stdin, first)
	go t.read(c.Stdout)
	go func() { _, _ = io.Copy(&t.stderr, c.Stderr) }() // what it could not read is no worse than silence
	return t
}

func (t *talk) send(down hostlink.Down) error {
	select {
	case t.queue <- down:
		return nil
	default:
		return errors.New("the container sends requests and does not read the answers")
	}
}

// write writes until the talk is over. A container that is gone shows on the other side.
func (t *talk) write(to io.WriteCloser, first [][]byte) {
	defer to.Close()
	w := hostlink.NewWriter(to)
	var err error
	for _, line := range first {
		if err == nil {
			err = w.Raw(line)
		}
	}
	pulse := time.NewTicker(hostlink.Pulse)
	defer pulse.Stop()
	for err == nil {
		select {
		case down := <-t.queue:
			err = w.Write(down)
		case <-pulse.C: // from here, since a stopped terminal can hold up the session
			err = w.Write(hostlink.Down{Alive: true})
		case <-t.over:
			return
		}
	}
}

func (t *talk) read(from io.Reader) {
	defer close(t.ups)
	r := hostlink.NewReader(from)
	for {
		up, err := r.Up()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.err = err
			return
		}
		select {
		case t.ups <- up:
		case <-t.over:
			t.err = errors.New("the session has ended")
			return
		}
	}
}

// hangUp ends both directions.
func (t *talk) hangUp() { close(t.over) }

// A tail keeps the end of what was written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

// maxTail is how much of what a container wrote to standard error is shown.
const maxTail = 2000

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	t.data = t.data[max(0, len(t.data)-maxTail):]
	return len(p), nil
}

// text is what was kept, safe to print.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(terminal.CleanLine(strings.ToValidUTF8(string(t.data), "")))
}
