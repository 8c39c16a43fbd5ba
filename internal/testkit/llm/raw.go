package llm

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
)

// The bodies that are no answer.
const (
	rawGarbage     = "garbage"
	rawHTML        = "html"
	rawEmptyBody   = "emptyBody"
	rawWrongType   = "wrongType"
	rawEndless     = "endless"
	rawEndlessPing = "endlessPing"
	rawHugeLine    = "hugeLine"
	rawDeep        = "deep"
)

var rawModes = []string{rawGarbage, rawHTML, rawEmptyBody, rawWrongType, rawEndless, rawEndlessPing, rawHugeLine, rawDeep}

const (
	maxMiB     = 4096
	maxNesting = 1_000_000
)

// rawBody reads what belongs to a raw body.
func (t turnTable) rawBody(out *turn) error {
	out.raw, out.mib, out.depth = t.Raw, t.MiB, t.Depth
	sized := []string{rawEndless, rawEndlessPing, rawHugeLine}
	switch {
	case t.Raw != "" && !slices.Contains(rawModes, t.Raw):
		return fmt.Errorf("unknown raw %q; use one of %s", t.Raw, strings.Join(rawModes, ", "))
	case t.MiB < 0 || t.MiB > maxMiB || t.MiB > 0 && !slices.Contains(sized, t.Raw):
		return fmt.Errorf("mib is %d; it belongs to %s and is at most %d", t.MiB, strings.Join(sized, ", "), maxMiB)
	case t.Depth < 0 || t.Depth > maxNesting || t.Depth > 0 && t.Raw != rawDeep:
		return fmt.Errorf("depth is %d; it belongs to %s and is at most %d", t.Depth, rawDeep, maxNesting)
	}
	if out.depth == 0 {
		out.depth = 100_000
	}
	if out.mib == 0 {
		out.mib = 512
		if t.Raw == rawHugeLine {
			out.mib = 100
		}
	}
	return nil
}

// body sends a short one.
func (t *turn) body(w http.ResponseWriter) {
	if t.failure != nil {
		t.failure.head(w.Header())
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	var text []byte
	switch t.raw {
	case rawHTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		text = []byte("<!doctype html>\n<html><head><title>Please sign in</title></head>\n<body><p>Sign in to use this network.</p></body></html>\n")
	case rawGarbage:
		text = make([]byte, 16<<10)
		noise := rand.NewChaCha8([32]byte{1}) // the same bytes every time
		_, _ = noise.Read(text)               // never fails
	}
	w.WriteHeader(t.status())
	_, _ = w.Write(text) // a client that has left needs no body
}

// flood sends what is too much in one way or another, and reports whether it did.
func (t *turn) flood(out *stream, re reply) bool {
	const mib = 1 << 20
	begun := []sse{
		t.start(re), {"content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`}, ping,
	}
	ended := append([]sse{{"content_block_stop", `{"type":"content_block_stop","index":0}`}}, t.end()...)
	switch t.raw {
	case rawEndless, rawEndlessPing:
		out.events(begun)
		event := ping.String()
		if t.raw == rawEndless {
			event = delta(0, `{"type":"text_delta","text":`+quote(strings.Repeat("on and ", 1000))+`}`).String()
		} else if t.eventDelay == 0 {
			event = strings.Repeat(event, 200) // else flushing each takes minutes
		}
		for sent := 0; sent < t.mib*mib && out.send(event); {
			sent += len(event)
		}
	case rawHugeLine:
		out.events(begun)
		whole := delta(0, `{"type":"text_delta","text":"@"}`).String()
		before, after, _ := strings.Cut(whole, "@")
		out.send(before)
		piece := strings.Repeat("a", mib)
		out.pause = 0 // it is one event
		for range t.mib {
			if !out.send(piece) {
				return true
			}
		}
		out.send(after)
		out.events(ended)
	case rawDeep:
		out.events(begun)
		out.events([]sse{delta(0, `{"type":"text_delta","text":"deep","extra":`+nested(t.depth)+`}`)})
		out.events(ended)
	default:
		return false
	}
	return true
}
