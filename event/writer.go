package event

import (
	"bytes"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Writer writes events as JSON lines. It encodes each message once and reuses the
// bytes, since full output repeats the conversation in every checkpoint. A Writer is
// for one goroutine.
type Writer struct {
	w        io.Writer
	messages map[*Message]jsontext.Value
	options  json.Options
}

// NewWriter returns a Writer that writes to w, one Write call a line.
func NewWriter(w io.Writer) *Writer {
	out := &Writer{w: w, messages: make(map[*Message]jsontext.Value)}
	out.options = json.JoinOptions(encoding,
		json.WithMarshalers(json.MarshalToFunc(out.message)))
	return out
}

// Write writes e.
func (w *Writer) Write(e Event) error {
	line, err := json.Marshal(e, w.options)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	return w.WriteLine(line)
}

// WriteLine writes an event that is encoded already.
func (w *Writer) WriteLine(line []byte) error {
	_, err := w.w.Write(append(escapeInvisible(line), '\n'))
	return err
}

func (w *Writer) message(enc *jsontext.Encoder, m *Message) error {
	raw, ok := w.messages[m]
	if !ok {
		var err error
		if raw, err = json.Marshal(*m, encoding); err != nil {
			return err
		}
		w.messages[m] = raw
	}
	return enc.WriteValue(raw)
}

// escapeInvisible writes characters that act on a terminal, that reorder what a person
// reads, or that nobody can see, as JSON escapes. JSON itself only demands that for the
// first 32 characters. Such characters stand in strings only, so the meaning stays.
func escapeInvisible(line []byte) []byte {
	if bytes.IndexFunc(line, isInvisible) < 0 {
		return bytes.Clone(line)
	}
	out := make([]byte, 0, len(line)+64)
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		switch {
		case !isInvisible(r):
			out = append(out, line[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		line = line[n:]
	}
	return out
}

// isInvisible reports whether r is a control or format character (direction marks,
// zero-width characters, tags), or a line separator that JSON allows.
func isInvisible(r rune) bool {
	switch {
	case r < 0x7f:
		return false // JSON has escaped what is below a space
	case r == 0x2028, r == 0x2029, r == 0x7f:
		return true
	}
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r)
}
