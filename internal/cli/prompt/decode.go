package prompt

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/tui/edit"
)

// A press is a key that was pressed, or a text that was typed or pasted.
type press struct {
	key  string // its name, as package edit has it; "" for text
	text string
	// pasted is the size of a text that was pasted; 0 for one that was typed. It is more than the
	// text has if the text is too large to be kept.
	pasted int64
}

// A decoder turns what a terminal sends into keys for an editor. A sequence that it does not know is
// left out, even if its parts come one after the other.
type decoder struct {
	state    state
	sequence []byte // after ESC [
	pending  []byte // the beginning of a character
	paste    *paste // while one arrives
}

// A paste arrives between two marks.
type paste struct {
	text    []byte
	size    int64
	matched int // bytes of the second mark
}

const (
	pasteBegins = "200~" // after ESC [
	pasteEnds   = "\x1b[201~"
	// maxSequence is how long a sequence can be that means something.
	maxSequence = 16
)

// inside reports whether more of a sequence can follow.
func (d *decoder) inside() bool { return d.state != inText }

// idle says that nothing followed for a while: an ESC that is alone is a key.
func (d *decoder) idle() []press {
	alone := d.state == inEscape
	d.state, d.sequence = inText, nil
	if alone {
		return []press{{key: "esc"}}
	}
	return nil
}

// read returns the keys of a chunk. Characters that follow each other are one text.
func (d *decoder) read(chunk []byte) (all []press) {
	var typed []byte
	for i, b := range chunk {
		p, ok := d.next(b, i == len(chunk)-1)
		switch {
		case !ok:
			continue
		case p.key == "" && p.pasted == 0:
			typed = append(typed, p.text...)
			continue
		case len(typed) > 0:
			all, typed = append(all, press{text: string(typed)}), nil
		}
		all = append(all, p)
	}
	if len(typed) > 0 {
		all = append(all, press{text: string(typed)})
	}
	return all
}

// next takes a byte. last says that no other came with it.
func (d *decoder) next(b byte, last bool) (press, bool) {
	switch {
	case d.paste != nil:
		return d.pasted(b)
	case d.state == inEscape && b == '[':
		d.state, d.sequence = inSequence, nil
		return press{}, false
	case d.state == inEscape && b == 'O':
		d.state = inOne
		return press{}, false
	case d.state == inEscape:
		d.state = inText
		return named("alt+" + altKey(b))
	case d.state == inOne:
		d.state = inText
		return named(cursorKey(b))
	case d.state == inSequence:
		return d.sequenceByte(b)
	case b == escape:
		d.state, d.pending = inEscape, nil
		return press{}, false
	case b == '\r' && !last: // pasted into a terminal that does not mark it
		return named("ctrl+j")
	case b < ' ' || b == 0x7f:
		d.pending = nil
		return named(controlKey(b))
	}
	d.pending = append(d.pending, b)
	if !utf8.FullRune(d.pending) {
		return press{}, false
	}
	text := string(d.pending)
	d.pending = nil
	return press{text: text}, utf8.ValidString(text)
}

func named(key string) (press, bool) {
	return press{key: key}, key != "" && !strings.HasSuffix(key, "+")
}

func (d *decoder) sequenceByte(b byte) (press, bool) {
	if len(d.sequence) <= maxSequence {
		d.sequence = append(d.sequence, b)
	}
	if b < 0x40 || b > 0x7e {
		return press{}, false
	}
	sequence := string(d.sequence)
	d.state, d.sequence = inText, nil
	switch {
	case sequence == pasteBegins:
		d.paste = &paste{}
		return press{}, false
	case len(sequence) > maxSequence:
		return press{}, false
	}
	return named(sequenceKey(sequence))
}

// pasted takes a byte of a paste.
func (d *decoder) pasted(b byte) (press, bool) {
	p := d.paste
	if b != pasteEnds[p.matched] {
		p.add(pasteEnds[:p.matched])
		p.matched = 0
	}
	if b != pasteEnds[p.matched] {
		p.add(string([]byte{b}))
		return press{}, false
	}
	if p.matched++; p.matched < len(pasteEnds) {
		return press{}, false
	}
	d.paste = nil
	text := bytes.ReplaceAll(p.text, []byte("\r\n"), []byte("\n"))
	text = bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
	return press{text: strings.ToValidUTF8(string(text), "\ufffd"), pasted: p.size}, p.size > 0
}

// add keeps no more than an editor can take.
func (p *paste) add(text string) {
	if p.size += int64(len(text)); p.size <= edit.Limit {
		p.text = append(p.text, text...)
	}
}

// sequenceKey names what follows ESC [.
func sequenceKey(sequence string) string {
	numbers, final := sequence[:len(sequence)-1], sequence[len(sequence)-1]
	number, modifier, _ := strings.Cut(numbers, ";")
	key := cursorKey(final)
	if final == '~' {
		switch number {
		case "1", "7":
			key = "home"
		case "3":
			key = "delete"
		case "4", "8":
			key = "end"
		}
	}
	if key == "" {
		return ""
	}
	switch modifier {
	case "":
		return key
	case "2":
		return "shift+" + key
	case "3":
		return "alt+" + key
	case "5":
		return "ctrl+" + key
	}
	return ""
}

func cursorKey(b byte) string {
	switch b {
	case 'A':
		return "up"
	case 'B':
		return "down"
	case 'C':
		return "right"
	case 'D':
		return "left"
	case 'F':
		return "end"
	case 'H':
		return "home"
	}
	return ""
}

func controlKey(b byte) string {
	switch {
	case b == '\r':
		return "enter"
	case b == '\t':
		return "tab"
	case b == 0x7f:
		return "backspace"
	case b >= 1 && b <= 26:
		return "ctrl+" + string('a'+b-1)
	}
	return ""
}

// altKey names the key that was pressed together with Alt.
func altKey(b byte) string {
	switch {
	case b == '\r' || b == '\n':
		return "enter"
	case b == 0x7f:
		return "backspace"
	case b >= 'a' && b <= 'z':
		return string(b)
	}
	return ""
}
