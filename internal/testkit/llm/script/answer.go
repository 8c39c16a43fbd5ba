package script

import (
	"fmt"
	"net/http"
	"time"

	"github.com/perstack-go/perstack/internal/providers/replay/turns"
)

// A Turn is one answer, as far as a wire has it. Parts are in this order: reasoning,
// redacted, hosted, text, calls.
type Turn struct {
	Reasoning, Signature string   // a thought; Signature is what proves it, on wires that have such a thing
	Redacted             string   // encrypted reasoning, on wires that have it
	Hosted               []string // what the provider ran itself: blocks of JSON in the words of the wire
	Text                 string
	Calls                []Call
	Stop                 string // the reason of the end in the words of the wire; "": what follows from the rest
	NoStop               bool   // no reason of the end is given
	Length               bool   // the answer was cut at the limit of the request
	Usage                Usage
}

// A Call is a call of a tool. A thought may stand before it.
type Call struct {
	ID, Tool, Args       string // ID may be empty: the wire makes one from its place, or has none
	Reasoning, Signature string
}

// Usage is what an answer used. Input is neither from the cache nor written to it; Output
// includes Reasoning. A wire that counts in another way adds up accordingly, so that a
// client that normalises gets the same from all.
type Usage struct {
	Input, Output, Cached, CacheWrite, Reasoning int
}

// An Answer is a turn, when it is given, and what goes wrong with it.
type Answer struct {
	Turn
	rules turns.Rules
	place string // which one it is, in the words of messages

	Delay, EventDelay time.Duration // before the head, and before each event
	Silence           time.Duration // after the first event

	Failure      *Failure // nil if nothing is wrong, or not in this way
	RetryAfter   *string  // headers of the failure, as they are written
	RetryAfterMS *string
	ErrorAfter   *int // after how many events the failure is one of the stream
	CutAfter     *int // after how many events the connection is cut
	CutInside    bool // half an event goes before the cut
	EndAfter     *int // after how many events the stream ends
	Redirect     string
	Raw          Raw
	MiB, Depth   int // of Raw
}

// Whole reports whether a client that is given the answer has one.
func (a *Answer) Whole() bool {
	return a.Failure == nil && a.Redirect == "" && a.Raw == "" && a.CutAfter == nil && a.EndAfter == nil
}

// Within is the answer as a request with a limit of tokens gets it. A service stops at
// the limit and counts no further; the text stays, so that a test knows what comes.
func (a *Answer) Within(limit int) *Answer {
	if limit <= 0 || a.Usage.Output <= limit {
		return a
	}
	cut := *a
	cut.Stop, cut.NoStop, cut.Length = "", false, true
	cut.Usage.Output = limit
	cut.Usage.Reasoning = min(cut.Usage.Reasoning, limit)
	return &cut
}

// Status is that of the head.
func (a *Answer) Status() int {
	switch {
	case a.ErrorAfter != nil:
		return http.StatusOK
	case a.Failure != nil:
		return a.Failure.Status
	case a.Redirect != "":
		return http.StatusTemporaryRedirect
	}
	return http.StatusOK
}

// Last is how many of the events of an answer are sent: all of them if it does not end
// early. A wire may have fewer than the script counts on.
func (a *Answer) Last(total int) (int, error) {
	for _, at := range []*int{a.ErrorAfter, a.CutAfter, a.EndAfter} { // one of them at the most
		if at == nil {
			continue
		}
		n := *at
		if n < 0 {
			n += total
		}
		if n < 0 || n > total || a.CutInside && n == total {
			return 0, fmt.Errorf("%s ends after %d events, but the answer has %d", a.place, *at, total)
		}
		return n, nil
	}
	return total, nil
}
