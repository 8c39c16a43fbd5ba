package llm

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

const mib = 1 << 20

// body sends a short one.
func (p *performance) body(w http.ResponseWriter) {
	w.Header().Set("Content-Type", p.wire.ContentType)
	var text []byte
	switch p.answer.Raw {
	case script.RawHTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		text = []byte("<!doctype html>\n<html><head><title>Please sign in</title></head>\n<body><p>Sign in to use this network.</p></body></html>\n")
	case script.RawGarbage:
		text = make([]byte, 16<<10)
		noise := rand.NewChaCha8([32]byte{1}) // the same bytes every time
		_, _ = noise.Read(text)               // never fails
	}
	w.WriteHeader(p.answer.Status())
	_, _ = w.Write(text) // a client that has left needs no body
}

// flood sends what is too much in one way or another, and reports whether it did.
func (p *performance) flood(out *stream) bool {
	a := p.answer
	switch a.Raw {
	case script.RawEndless, script.RawEndlessPing:
		out.events(p.wire.Begin(&a.Turn, p.reply))
		out.repeat(p.drop(), a.MiB*mib)
	case script.RawHugeLine:
		out.events(p.wire.Begin(&a.Turn, p.reply))
		head, tail := p.wire.Huge(a.MiB * mib)
		out.send(head)
		out.pause = 0 // it is one event
		out.repeat(bytes.Repeat([]byte("a"), mib), a.MiB*mib)
		out.send(tail)
		out.events(p.wire.End(&a.Turn, p.reply))
	case script.RawDeep:
		out.events(p.wire.Begin(&a.Turn, p.reply))
		out.events([][]byte{p.wire.Delta("deep", script.Nested(a.Depth))})
		out.events(p.wire.End(&a.Turn, p.reply))
	case script.RawGzip:
		out.send(packed(bytes.Join(p.wire.Events(&a.Turn, p.reply), nil)))
	case script.RawGzipBomb:
		piece := packed(make([]byte, mib))
		out.repeat(piece, a.MiB*len(piece))
	default:
		return false
	}
	return true
}

// drop is what an endless answer is made of.
func (p *performance) drop() []byte {
	if p.answer.Raw == script.RawEndless {
		return p.wire.Delta(strings.Repeat("on and ", 1000), "")
	}
	ping := p.wire.Ping
	if ping == nil {
		ping = p.wire.Delta("", "")
	}
	if p.answer.EventDelay == 0 {
		return bytes.Repeat(ping, 200) // else flushing each takes minutes
	}
	return ping
}

// repeat sends a piece until that many bytes are sent.
func (s *stream) repeat(piece []byte, size int) {
	for sent := 0; sent < size && s.send(piece); {
		sent += len(piece)
	}
}

// packed is text in gzip. What was packed piece by piece is one text when it is unpacked.
func packed(text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text) // into memory: it never fails
	_ = w.Close()
	return b.Bytes()
}
