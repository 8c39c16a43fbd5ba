package llm

import (
	"context"
	"net"
	"net/http"
	"strings"
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
func (s *stream) send(text string) bool {
	if s.gone = s.gone || !sleep(s.ctx, s.pause); s.gone {
		return false
	}
	_, err := s.w.Write([]byte(text))
	if err == nil {
		err = http.NewResponseController(s.w).Flush()
	}
	s.gone = err != nil
	return !s.gone
}

// events sends events one by one if there is a pause between them, else all at once: a
// thousand clients would wait for as many thousand writes otherwise.
func (s *stream) events(events []sse) {
	if s.pause > 0 {
		for _, e := range events {
			s.send(e.String())
		}
		return
	}
	var all strings.Builder
	for _, e := range events {
		all.WriteString(e.String())
	}
	if all.Len() > 0 {
		s.send(all.String())
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

// within is the turn as a request with a limit of tokens gets it. The service stops at
// the limit and counts no further; the text stays, so that a test knows what comes.
func (t *turn) within(limit int) *turn {
	if t.usage.Output <= limit {
		return t
	}
	cut := *t
	cut.stop = "max_tokens"
	cut.usage.Output = limit
	cut.usage.Reasoning = min(cut.usage.Reasoning, limit)
	return &cut
}

// status is that of the head.
func (t *turn) status() int {
	switch {
	case t.failure != nil && t.failure.status != 0:
		return t.failure.status
	case t.redirect != "":
		return http.StatusTemporaryRedirect
	}
	return http.StatusOK
}

// play sends the answer.
func (t *turn) play(w http.ResponseWriter, r *http.Request, re reply) {
	if !sleep(r.Context(), t.delay) {
		return
	}
	switch {
	case t.redirect != "":
		w.Header().Set("Location", strings.ReplaceAll(t.redirect, "{port}", port(r)))
		w.WriteHeader(t.status())
		return
	case t.raw == rawHTML || t.raw == rawEmptyBody || t.raw == rawGarbage:
		t.body(w)
		return
	case t.failure != nil && t.errorAt < 0:
		refuse(w, *t.failure, strings.TrimPrefix(re.id, "msg_"))
		return
	}
	out := &stream{ctx: r.Context(), w: w, pause: t.eventDelay}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if t.raw == rawWrongType {
		w.Header().Set("Content-Type", "application/json")
	}
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	if t.flood(out, re) {
		return
	}
	t.answer(out, t.events(re))
}

// answer sends the events, or as many as the script allows.
func (t *turn) answer(out *stream, events []sse) {
	switch {
	case t.errorAt >= 0:
		out.events(events[:t.errorAt])
		out.send(sse{"error", `{"type":"error","error":{"type":` + quote(t.failure.kind) + `,"message":` + quote(t.failure.message) + `}}`}.String())
	case t.endAt >= 0:
		out.events(events[:t.endAt])
	case t.cutAt >= 0:
		out.events(events[:t.cutAt])
		if t.half {
			text := events[t.cutAt].String()
			out.send(text[:len(text)/2])
		}
		if t.cutAt == 0 && !t.half {
			_ = http.NewResponseController(out.w).Flush() // the head; a client that has left needs none
		}
		panic(http.ErrAbortHandler) // the way of net/http to close a connection without a last word
	default:
		out.events(events)
	}
}

// port is the one on which the request arrived.
func port(r *http.Request) string {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if addr == nil {
		return ""
	}
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return ""
	}
	return port
}
