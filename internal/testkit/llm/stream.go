package llm

import (
	"bytes"
	"context"
	"net/http"
	"time"
)

// A stream writes events to a client and remembers that it has left.
type stream struct {
	ctx   context.Context
	w     http.ResponseWriter
	pause time.Duration // before each event
	gone  bool
}

// send writes at once: a client sees an event when it is made, and what came before a
// cut has really arrived.
func (s *stream) send(text []byte) bool {
	if s.gone = s.gone || !sleep(s.ctx, s.pause); s.gone {
		return false
	}
	_, err := s.w.Write(text)
	if err == nil {
		err = http.NewResponseController(s.w).Flush()
	}
	s.gone = err != nil
	return !s.gone
}

// events sends events one by one if there is a pause between them, else all at once: a
// thousand clients would wait for as many thousand writes otherwise.
func (s *stream) events(events [][]byte) {
	if s.pause > 0 {
		for _, e := range events {
			s.send(e)
		}
		return
	}
	if all := bytes.Join(events, nil); len(all) > 0 {
		s.send(all)
	}
}

// sleep reports whether the time has passed before the client left.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
