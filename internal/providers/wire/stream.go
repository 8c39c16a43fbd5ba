package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/perstack-go/perstack/model"
)

// A Stream is an answer as it arrives. It is read by one goroutine, as events by
// [Stream.Next], as lines by [Stream.Line], or as bytes by [Stream.Read]. Failures are
// [*model.Error], or the context's own.
type Stream struct {
	client *Client
	ctx    context.Context
	body   io.ReadCloser
	watch  *watchdog

	lines     *bufio.Reader
	line      []byte
	data      []byte
	begun     bool
	left      int // bytes that the answer may still have
	maxEvent  int
	maxStream int
}

// An Event is one event of a stream. Data is valid until the next one is read.
type Event struct {
	Name string
	Data []byte
}

func newStream(ctx context.Context, c *Client, body io.ReadCloser, watch *watchdog) *Stream {
	s := &Stream{client: c, ctx: ctx, body: body, watch: watch}
	s.maxEvent, s.maxStream = cmp.Or(c.MaxEvent, DefaultMaxEvent), cmp.Or(c.MaxStream, DefaultMaxStream)
	s.left = s.maxStream
	s.lines = bufio.NewReaderSize(s, 4<<10) // lines are short, and there may be a thousand streams
	return s
}

// What may follow the last event of an answer, and how long it is waited for.
const (
	maxRest  = 16 << 10
	restWait = 200 * time.Millisecond
)

// Finish reads what little follows the last event: a connection whose answer was read to
// its end serves the next call too. One that keeps sending is given up.
func (s *Stream) Finish() {
	s.watch.expect(restWait, errRest)
	_, _ = io.CopyN(io.Discard, s.body, maxRest) // the answer is complete, whatever comes of it
	s.watch.rest()
}

// Close ends the call, whether or not the answer was read to its end.
func (s *Stream) Close() error {
	s.watch.rest()
	s.watch.cancel(nil)
	return s.body.Close()
}

// Read reads what comes next, within the limits of the client.
func (s *Stream) Read(p []byte) (int, error) {
	s.watch.expect(cmp.Or(s.client.Idle, DefaultIdle), errIdle)
	n, err := s.body.Read(p)
	s.watch.rest()
	if s.left -= n; s.left < 0 {
		return 0, s.client.Malformed(fmt.Errorf("an answer of more than %d bytes", s.maxStream))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, s.client.brokenError(s.ctx, err)
	}
	return n, err
}

// Next returns the next server-sent event that has data. At the end of the stream it
// returns io.EOF; an event without its closing blank line was cut off and is left out.
func (s *Stream) Next() (Event, error) {
	var name string
	var has bool
	s.data = s.data[:0]
	for {
		line, err := s.Line()
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if has {
				return Event{name, s.data}, nil
			}
			name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":")) // a comment has an empty field
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			if has {
				s.data = append(s.data, '\n')
			}
			if len(s.data)+len(value) > s.maxEvent {
				return Event{}, s.tooBig()
			}
			s.data, has = append(s.data, value...), true
		}
	}
}

// Line returns the next line, without its end. It is valid until the next one is read.
// A last line without an end was cut off, and is reported as io.EOF.
func (s *Stream) Line() ([]byte, error) {
	s.line = s.line[:0]
	for {
		part, err := s.lines.ReadSlice('\n')
		if len(s.line)+len(part) > s.maxEvent {
			return nil, s.tooBig() // before it is kept: memory stays bounded
		}
		s.line = append(s.line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		}
		line := bytes.TrimSuffix(bytes.TrimSuffix(s.line, []byte("\n")), []byte("\r"))
		if !s.begun { // a byte order mark may stand before the first line
			s.begun, line = true, bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		return line, nil
	}
}

func (s *Stream) tooBig() *model.Error {
	return s.client.Malformed(fmt.Errorf("an event of more than %d bytes", s.maxEvent))
}

var (
	errFirstByte = errors.New("the answer did not begin in time; try again later")
	errIdle      = errors.New("the answer stopped in the middle; try again later")
	errRest      = errors.New("the answer is complete, but the connection stays open")
)

// A watchdog cancels a call that waits too long for the other side. Time that our own
// side takes does not count.
type watchdog struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// expect starts a wait. At its end the call is cancelled with the cause.
func (w *watchdog) expect(limit time.Duration, cause error) {
	w.rest()
	if limit > 0 {
		w.timer = time.AfterFunc(limit, func() { w.cancel(cause) })
	}
}

// rest ends the wait.
func (w *watchdog) rest() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}
