package event

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
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
	out       *bufio.Writer
	options   json.Options // of an event
	inMessage json.Options
	messages  map[*Message]encodedMessage
	kept      int // bytes of long texts that are kept encoded

	mark  []byte     // written in place of a message in an event, and of a long text in a message
	found []*Message // the messages of the current event, in order
	long  []string   // the long texts of the current message, in order

	piece, quoted []byte // of the text that is being written
}

// An encodedMessage is a message in JSON, escaped, with the mark for each of its long texts.
type encodedMessage struct {
	frame []byte
	long  []string
}

const (
	longText = 4 << 10
	// maxKept is how many bytes of long texts are kept encoded beside the messages. A
	// conversation that has more would be in memory twice; the rest of its texts is
	// encoded each time.
	maxKept = 16 << 20
)

// chunk is how much is written at once. A line can be a whole conversation, and is never
// assembled in memory.
const chunk = 64 << 10

// NewWriter returns a Writer that writes to w. A line that is not longer than a chunk is one
// Write call.
func NewWriter(w io.Writer) *Writer {
	out := &Writer{out: bufio.NewWriterSize(w, chunk), messages: make(map[*Message]encodedMessage)}
	// The mark is random, so no text in an event can be mistaken for it.
	out.mark = []byte(`"` + rand.Text() + `"`)
	out.options = json.JoinOptions(encoding,
		json.WithMarshalers(json.JoinMarshalers(json.MarshalToFunc(out.message), marshalers)))
	out.inMessage = json.JoinOptions(encoding,
		json.WithMarshalers(json.JoinMarshalers(json.MarshalToFunc(out.text), marshalers)))
	return out
}

// Write writes e.
func (w *Writer) Write(e Event) error {
	w.found = w.found[:0]
	frame, err := json.Marshal(e, w.options)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	messages := make([]encodedMessage, len(w.found))
	for i, m := range w.found { // all of them first, or a failure would leave half a line
		if messages[i], err = w.encoded(m); err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
	}
	frame = escapeInvisible(frame)
	for _, m := range messages {
		before, after, _ := bytes.Cut(frame, w.mark)
		w.out.Write(before) // its error comes again below
		w.writeMessage(w.out, m)
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

func (w *Writer) encoded(m *Message) (encodedMessage, error) {
	if known, ok := w.messages[m]; ok {
		return known, nil
	}
	w.long = nil
	frame, err := json.Marshal(*m, w.inMessage)
	if err != nil {
		return encodedMessage{}, err
	}
	e := encodedMessage{escapeInvisible(frame), w.long}
	size := 0
	for _, text := range e.long {
		size += len(text)
	}
	if size > 0 && w.kept+size <= maxKept {
		w.kept += size
		whole := bytes.NewBuffer(make([]byte, 0, len(e.frame)+size+size/16))
		w.writeMessage(whole, e)
		e = encodedMessage{frame: whole.Bytes()}
	}
	w.messages[m] = e
	return e, nil
}

// text puts the mark where a long text belongs.
func (w *Writer) text(enc *jsontext.Encoder, text string) error {
	if len(text) < longText {
		return errors.ErrUnsupported
	}
	w.long = append(w.long, text)
	return enc.WriteValue(w.mark)
}

// writeMessage writes a message with its long texts. An error of out comes again when the
// line is flushed.
func (w *Writer) writeMessage(out io.Writer, m encodedMessage) {
	frame := m.frame
	for _, text := range m.long {
		before, after, _ := bytes.Cut(frame, w.mark)
		_, _ = out.Write(before)
		w.writeText(out, text)
		frame = after
	}
	_, _ = out.Write(frame)
}

// writeText writes a text as a JSON string, a chunk at a time.
func (w *Writer) writeText(out io.Writer, text string) {
	_, _ = io.WriteString(out, `"`)
	for len(text) > 0 {
		n := min(len(text), chunk)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		w.piece = append(w.piece[:0], text[:n]...)
		w.quoted, _ = jsontext.AppendQuote(w.quoted[:0], w.piece) // what is not valid is replaced
		_, _ = out.Write(escapeInvisible(w.quoted[1 : len(w.quoted)-1]))
		text = text[n:]
	}
	_, _ = io.WriteString(out, `"`)
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
