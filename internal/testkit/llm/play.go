package llm

import (
	"net"
	"net/http"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// A performance is an answer on a wire.
type performance struct {
	wire    *script.Wire
	problem *script.Problem // why there is none
	answer  *script.Answer
	reply   script.Reply
}

// find gets the answer from the script.
func (p *performance) find(s *Script, a script.Asked) {
	if p.answer, p.problem = s.Find(a); p.problem != nil {
		return
	}
	p.answer = p.answer.Within(a.MaxTokens)
	if p.answer.Whole() {
		return
	}
	if _, err := p.answer.Last(len(p.wire.Events(&p.answer.Turn, p.reply))); err != nil {
		p.problem = script.KindProblem(http.StatusBadRequest, "the script does not fit to the wire %s: %v", p.wire.Name, err)
	}
}

// play sends the answer.
func (p *performance) play(w http.ResponseWriter, r *http.Request) {
	a := p.answer
	if !sleep(r.Context(), a.Delay) {
		return
	}
	if a.RetryAfter != nil {
		w.Header().Set("Retry-After", *a.RetryAfter)
	}
	if a.RetryAfterMS != nil {
		w.Header().Set("Retry-After-Ms", *a.RetryAfterMS)
	}
	switch {
	case a.Redirect != "":
		w.Header().Set("Location", strings.ReplaceAll(a.Redirect, "{port}", port(r)))
		w.WriteHeader(a.Status())
		return
	case a.Raw == script.RawHTML || a.Raw == script.RawEmptyBody || a.Raw == script.RawGarbage:
		p.body(w)
		return
	case a.Failure != nil && a.ErrorAfter == nil:
		p.wire.Refuse(w, *a.Failure, p.reply.ID)
		return
	}
	out := &stream{ctx: r.Context(), w: w, pause: a.EventDelay}
	w.Header().Set("Content-Type", p.wire.ContentType)
	w.Header().Set("Cache-Control", "no-cache")
	switch a.Raw {
	case script.RawWrongType:
		w.Header().Set("Content-Type", "application/json")
	case script.RawGzip, script.RawGzipBomb:
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.WriteHeader(http.StatusOK)
	if !p.flood(out) {
		p.tell(out, p.wire.Events(&a.Turn, p.reply))
	}
}

// tell sends the events, or as many as the script allows.
func (p *performance) tell(out *stream, events [][]byte) {
	a := p.answer
	last, _ := a.Last(len(events)) // was checked before
	if a.Silence > 0 && last > 1 {
		out.events(events[:1])
		if !sleep(out.ctx, a.Silence) {
			return
		}
		out.events(events[1:last])
	} else {
		out.events(events[:last])
	}
	switch {
	case a.ErrorAfter != nil:
		out.send(p.wire.Error(*a.Failure))
	case a.CutAfter != nil:
		if a.CutInside {
			out.send(events[last][:len(events[last])/2])
		} else if last == 0 {
			_ = http.NewResponseController(out.w).Flush() // the head; a client that has left needs none
		}
		panic(http.ErrAbortHandler) // the way of net/http to close a connection without a last word
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
