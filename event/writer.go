package event

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Writer writes events as JSON lines. Full output repeats the conversation in every
// checkpoint, so each message is encoded once, and an event is encoded around its
// messages: what is repeated is copied, not encoded again. A Writer is for one goroutine.
type Writer struct {
	out      *bufio.Writer
	options  json.Options
	messages map[*Message][]byte // encoded and escaped

	mark  []byte     // written in place of a message
	found []*Message // the messages of the current event, in order
}

// chunk is how much is written at once. A line can be a whole conversation, and is never
// assembled in memory.
const chunk = 64 << 10

// NewWriter returns a Writer that writes to w. A line that is not longer than a chunk is one
// Write call.
func NewWriter(w io.Writer) *Writer {
	out := &Writer{out: bufio.NewWriterSize(w, chunk), messages: make(map[*Message][]byte)}
	// The mark is random, so no text in an event can be mistaken for it.
	out.mark = []byte(`"` + rand.Text() + `"`)
	out.options = json.JoinOptions(encoding,
		json.WithMarshalers(json.JoinMarshalers(json.MarshalToFunc(out.message), marshalers)))
	return out
}

// Write writes e.
func (w *Writer) Write(e Event) error {
	w.found = w.found[:0]
	frame, err := json.Marshal(e, w.options)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	texts := make([][]byte, len(w.found))
	for i, m := range w.found { // all of them first, or a failure would leave half a line
		if texts[i], err = w.encoded(m); err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
	}
	frame = escapeInvisible(frame)
	for _, text := range texts {
		before, after, _ := bytes.Cut(frame, w.mark)
		w.out.Write(before) // its error comes again below
		w.out.Write(text)
		frame = after
	}
	return w.end(frame)
}

// end writes the rest of a line.
func (w *Writer) end(rest []byte) error {
	w.out.Write(rest) // a writer that failed once fails from then on
	w.out.WriteByte('\n')
	return w.out.Flush()
}

// WriteLine writes an event that is encoded already.
func (w *Writer) WriteLine(line []byte) error {
	return w.end(escapeInvisible(line))
}

// message puts the mark where a message belongs.
func (w *Writer) message(enc *jsontext.Encoder, m *Message) error {
	w.found = append(w.found, m)
	return enc.WriteValue(w.mark)
}

func (w *Writer) encoded(m *Message) ([]byte, error) {
	if text, ok := w.messages[m]; ok {
		return text, nil
	}
	text, err := json.Marshal(*m, encoding)
	if err != nil {
		return nil, err
	}
	text = escapeInvisible(text)
	w.messages[m] = text
	return text, nil
}

// escapeInvisible writes characters that control a terminal, reorder text or are invisible as
// JSON escapes. JSON itself requires that for the first 32 characters only. Such characters
// are in strings only, so the meaning does not change.
func escapeInvisible(line []byte) []byte {
	if bytes.IndexFunc(line, isInvisible) < 0 {
		return line
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
