package hostlink

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/store"
)

// A Conn is the container's end of the hostlink.
type Conn struct {
	in       *Reader
	out      *Writer
	document *Document
	history  [][]byte

	stopped chan Stop
	heard   chan struct{}
	gone    chan struct{}

	sending sync.Mutex
	ended   bool // the end was sent

	inbox engine.Inbox

	mu      sync.Mutex
	last    int64 // number of the newest request
	waiting map[int64]chan Done
	over    bool // there are no more answers
}

// ErrGone says that the host went away.
var ErrGone = errors.New("the host went away")

// Dial greets the host and reads the document and the history.
func Dial(in io.Reader, out io.Writer) (*Conn, error) {
	c := &Conn{
		in: NewReader(in), out: NewWriter(out),
		stopped: make(chan Stop, 1), heard: make(chan struct{}, 1), gone: make(chan struct{}), waiting: make(map[int64]chan Done),
	}
	if err := c.Send(Up{Hello: &Hello{Protocol, version.String()}}); err != nil {
		return nil, err
	}
	down, err := c.next()
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the document: %w", err)
	case down.Document == nil:
		return nil, errors.New("the first line is not a document")
	case down.Document.Protocol != Protocol:
		return nil, fmt.Errorf("the host speaks version %d of the protocol (perstack %s), this is version %d (perstack %s); use the same perstack on both sides",
			down.Document.Protocol, down.Document.Version, Protocol, version.String())
	}
	c.document = down.Document
	for range c.document.Records {
		line, err := c.in.Line()
		if err != nil {
			return nil, fmt.Errorf("read the history: %w", err)
		}
		c.history = append(c.history, append([]byte(nil), line...))
	}
	return c, nil
}

// Document returns what the host said.
func (c *Conn) Document() *Document { return c.document }

// Send writes a line to the host. It is safe for concurrent use. The end is the last line:
// the host would take another one for an attack, also that of a commit which was still on
// its way when the engine had ended.
func (c *Conn) Send(up Up) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	if c.ended {
		return ErrGone
	}
	c.ended = up.End != nil
	return c.out.Write(up)
}

// Stopped has a value when the host tells the engine to stop.
func (c *Conn) Stopped() <-chan Stop { return c.stopped }

// Heard has a value when the host has said something since the last one was taken.
func (c *Conn) Heard() <-chan struct{} { return c.heard }

// Gone is closed when the host went away: nothing can be recorded any more.
func (c *Conn) Gone() <-chan struct{} { return c.gone }

// Store returns the history as the engine sees it. [Conn.Serve] must be running when
// something is written to it.
func (c *Conn) Store() store.Store { return (*hostStore)(c) }

// Inbox takes the answers of the user that the host passes on.
func (c *Conn) Inbox() *engine.Inbox { return &c.inbox }

// Serve passes on what the host says, until the host goes away.
func (c *Conn) Serve() error {
	defer c.hangUp()
	for {
		down, err := c.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case c.heard <- struct{}{}:
		default: // it was told before
		}
		switch {
		case down.Done != nil:
			c.answer(*down.Done)
		case down.Answered != nil:
			// On its own goroutine, because the host must be heard meanwhile. If the answer does not
			// count any more, the host is asked when the call is.
			go func() { _ = c.inbox.Answer(*down.Answered) }()
		case down.Stop != nil:
			select {
			case c.stopped <- *down.Stop:
			default: // it was told before
			}
		}
	}
}

func (c *Conn) next() (Down, error) {
	line, err := c.in.Line()
	if err != nil {
		return Down{}, err
	}
	return decode[Down](line)
}

// ask sends a request and waits for its answer.
func (c *Conn) ask(request func(id int64) Up) (Done, error) { return c.askUntil(nil, request) }

// errStopped says that an answer is not waited for any more.
var errStopped = errors.New("the request was given up")

// askUntil is ask until stop is closed.
func (c *Conn) askUntil(stop <-chan struct{}, request func(id int64) Up) (Done, error) {
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return Done{}, ErrGone
	}
	c.last++
	id, answer := c.last, make(chan Done, 1)
	c.waiting[id] = answer
	c.mu.Unlock()
	forget := func() {
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
	}
	if err := c.Send(request(id)); err != nil {
		forget()
		return Done{}, err
	}
	select {
	case done, ok := <-answer:
		if !ok {
			return Done{}, ErrGone
		}
		return done, done.err()
	case <-stop:
		forget()
		return Done{}, errStopped
	}
}

func (c *Conn) answer(d Done) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.waiting[d.ID]; ok {
		delete(c.waiting, d.ID)
		answer <- d
	}
}

// hangUp ends all waiting requests.
func (c *Conn) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for id, answer := range c.waiting {
		delete(c.waiting, id)
		close(answer)
	}
	close(c.gone)
}

// err is what the host could not do.
func (d Done) err() error {
	switch {
	case d.Full:
		return fmt.Errorf("%w: %s", store.ErrFull, d.Error)
	case d.Error != "":
		return errors.New(d.Error)
	}
	return nil
}
