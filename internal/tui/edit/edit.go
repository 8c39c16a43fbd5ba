// Package edit is the input of the terminal program: a text of several lines with a cursor, the
// texts that were sent before, and chips, which are long pastes and attachments that show as one
// word.
//
// Everything that enters is cleaned, so the text has no control characters but line feeds and
// tabs. The package reads no keys, files or clocks: the caller maps keys with [Editor.Key] and
// gives text to [Editor.Insert] and [Editor.Paste]. Start reading at [Editor].
package edit

import (
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

const (
	// Limit is how many bytes an input can have, long pastes included.
	Limit = 1 << 20
	// pasteLines is how many lines a paste can have that is shown as it is.
	pasteLines = 10
)

// An Editor is an input. The zero Editor is empty.
//
// A chip is one private character in the text. Clean text has none, so nothing that is typed or
// pasted can be taken for a chip.
type Editor struct {
	text   string
	cursor int // a byte of the text, where a unit begins
	chips  []Chip
	pastes int // so many pastes have a number
	goal   int // the column that Up and Down aim at, plus 1; 0 if the last key was another
	top    int // the first row that is shown
	laid   layout
	past   history
	search *search
}

// A Chip is part of the input that is shown, moved over and deleted as one.
type Chip struct {
	Label string // shown in brackets
	Text  string // what is sent in its place
	ID    string // of an attachment, as the caller named it; "" for a paste
}

// A Message is an input that is sent.
type Message struct {
	Text        string   // with the text of chips in their place
	Attachments []string // their IDs, in the order of the text
}

// TooLarge is the error for an input or paste that is not taken. The input stays as it was.
type TooLarge struct{ Size int64 }

func (e *TooLarge) Error() string {
	return fmt.Sprintf("the input would have %s and can have %s; attach a file instead", wording.Bytes(e.Size), wording.Bytes(Limit))
}

// Insert adds what is typed. While a search is open, it is what to look for.
func (e *Editor) Insert(text string) error {
	if len(text) > Limit {
		return &TooLarge{Size: int64(e.size() + len(text))}
	}
	clean := terminal.Clean(text)
	if e.search != nil {
		e.extend(clean)
		return nil
	}
	return e.put(clean)
}

// Paste adds what is pasted. More than a few lines become a chip.
func (e *Editor) Paste(text string) error {
	if len(text) > Limit {
		return &TooLarge{Size: int64(e.size() + len(text))}
	}
	clean := terminal.Clean(text)
	lines := strings.Count(strings.TrimSuffix(clean, "\n"), "\n") + 1
	if e.search != nil || lines <= pasteLines {
		return e.Insert(clean)
	}
	err := e.add(Chip{Label: fmt.Sprintf("paste %d: %s", e.pastes+1, wording.Count(lines, "line")), Text: clean})
	if err == nil {
		e.pastes++
	}
	return err
}

// Attach adds a chip for an attachment. The label is shown; the text is sent in its place; the ID is
// what the caller knows it by.
func (e *Editor) Attach(label, text, id string) error {
	e.accept()
	return e.add(Chip{Label: terminal.CleanLine(label), Text: terminal.Clean(text), ID: id})
}

// Newline begins a new line.
func (e *Editor) Newline() error {
	e.accept()
	return e.put("\n")
}

// put adds clean text.
func (e *Editor) put(clean string) error {
	if size := e.size() + len(clean); size > Limit {
		return &TooLarge{Size: int64(size)}
	}
	e.replace(e.cursor, e.cursor, clean)
	return nil
}

// replace puts clean text in the place of another, and the cursor after it.
func (e *Editor) replace(from, to int, clean string) {
	e.text = e.text[:from] + clean + e.text[to:]
	e.cursor = e.boundary(from+len(clean), true)
	e.goal = 0
}

// SetText replaces everything. A text that is too long is refused.
func (e *Editor) SetText(text string) error {
	clean := terminal.Clean(text)
	if len(clean) > Limit {
		return &TooLarge{Size: int64(len(clean))}
	}
	e.Clear()
	return e.put(clean)
}

// Clear removes everything.
func (e *Editor) Clear() {
	e.search = nil
	e.past.rest()
	e.text, e.cursor, e.goal, e.top = "", 0, 0, 0
	e.chips, e.pastes = nil, 0
}

// IsEmpty reports whether there is nothing to send.
func (e *Editor) IsEmpty() bool { return strings.TrimSpace(e.text) == "" }

// Message is what would be sent.
func (e *Editor) Message() Message {
	var m Message
	var b strings.Builder
	for _, r := range e.text {
		if c, ok := e.chip(r); ok {
			b.WriteString(c.Text)
			if c.ID != "" {
				m.Attachments = append(m.Attachments, c.ID)
			}
			continue
		}
		b.WriteRune(r)
	}
	m.Text = b.String()
	return m
}

// Take returns what is sent, and clears the input. The text is the last of the history then.
func (e *Editor) Take() Message {
	m := e.Message()
	e.Clear()
	e.past.add(m.Text)
	return m
}

// BeforeCursor is the text of the line before the cursor, from the last chip on: what completion
// looks at.
func (e *Editor) BeforeCursor() string {
	before := e.text[e.lineStart(e.cursor):e.cursor]
	if i := strings.LastIndexFunc(before, isChip); i >= 0 {
		before = before[i+chipBytes:]
	}
	return before
}

// DeleteBefore removes so many bytes before the cursor, at most those that BeforeCursor returns. What
// was chosen from a completion can take their place.
func (e *Editor) DeleteBefore(n int) {
	n = min(max(n, 0), len(e.BeforeCursor()))
	e.replace(e.boundary(e.cursor-n, false), e.cursor, "")
}

// size is the number of bytes that would be sent.
func (e *Editor) size() int {
	n := len(e.text)
	for _, r := range e.text {
		if c, ok := e.chip(r); ok {
			n += len(c.Text) - chipBytes
		}
	}
	return n
}
