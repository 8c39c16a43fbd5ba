package edit

import (
	"errors"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

const (
	firstChip = '\U000f0000' // of the private characters that no clean text has
	maxChips  = 1000
	chipBytes = 4
	tabWidth  = 4
)

func isChip(r rune) bool { return r >= firstChip && r < firstChip+maxChips }

func (e *Editor) chip(r rune) (Chip, bool) {
	if i := int(r - firstChip); isChip(r) && i < len(e.chips) {
		return e.chips[i], true
	}
	return Chip{}, false
}

// add adds a chip. The place of one that was deleted is used again, so that its text is not kept.
func (e *Editor) add(c Chip) error {
	if size := e.size() + len(c.Text); size > Limit {
		return &TooLarge{Size: int64(size)}
	}
	place := 0
	for e.uses(firstChip + rune(place)) {
		place++
	}
	if place == maxChips {
		return errors.New("the input has too many pastes and attachments; send it, or delete some")
	}
	if place == len(e.chips) {
		e.chips = append(e.chips, c)
	}
	e.chips[place] = c
	e.replace(e.cursor, e.cursor, string(firstChip+rune(place)))
	return nil
}

// AttachFor replaces a text of the input by a chip for an attachment, where it stands last. It reports
// whether the text was there: the user can have changed it.
func (e *Editor) AttachFor(text, label, id string) (bool, error) {
	at := strings.LastIndex(e.text, text)
	if at < 0 || text == "" {
		return false, nil
	}
	e.accept()
	cursor := e.cursor
	e.replace(at, at+len(text), "")
	if err := e.Attach(label, text, id); err != nil {
		e.replace(at, at, text)
		e.moveTo(cursor)
		return true, err
	}
	switch {
	case cursor >= at+len(text):
		e.moveTo(cursor - len(text) + chipBytes)
	case cursor <= at:
		e.moveTo(cursor)
	}
	return true, nil
}

// Attachments is how many chips of attachments the input has.
func (e *Editor) Attachments() int { return len(e.Message().Attachments) }

// uses reports whether a text has a chip, or one to which the user can return.
func (e *Editor) uses(chip rune) bool {
	if strings.ContainsRune(e.text, chip) {
		return true
	}
	for _, d := range e.past.visited {
		if strings.ContainsRune(d.text, chip) {
			return true
		}
	}
	return false
}

// units yields the parts of a text that the cursor moves over, with the columns that they take:
// graphemes and chips. A line feed takes none.
func (e *Editor) units(text string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for g, width := range columns.Graphemes(text) {
			// What has no width joins the character before; a chip is none.
			if r, _ := utf8.DecodeRuneInString(g); isChip(r) {
				if !yield(g[:chipBytes], paint.TextWidth(e.show(g[:chipBytes]))) {
					return
				}
				if g, width = g[chipBytes:], 0; g == "" {
					continue
				}
			}
			switch g {
			case "\n":
				width = 0
			case "\t":
				width = tabWidth
			}
			if !yield(g, width) {
				return
			}
		}
	}
}

// show is how a unit looks.
func (e *Editor) show(unit string) string {
	if unit == "\t" {
		return strings.Repeat(" ", tabWidth)
	}
	if r, _ := utf8.DecodeRuneInString(unit); isChip(r) {
		c, _ := e.chip(r)
		return "[" + c.Label + "]"
	}
	return unit
}
