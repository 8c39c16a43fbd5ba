package edit

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/terminal"
)

// maxHistory is how many inputs are kept.
const maxHistory = 1000

// A history is the inputs that were sent, the oldest first, and where the user is in it.
type history struct {
	entries []string
	// back is how many entries the user went back; 0 is the input that was not sent yet.
	back int
	// visited are the inputs that the user left, as they were then. Edits are not lost by looking
	// around.
	visited map[int]draft
}

type draft struct {
	text   string
	cursor int
}

// SetHistory sets the inputs that were sent before, the oldest first.
func (e *Editor) SetHistory(entries []string) {
	e.past = history{entries: slices.Clone(entries[max(0, len(entries)-maxHistory):])}
}

// rest returns to the input that was not sent yet.
func (h *history) rest() { h.back, h.visited = 0, nil }

func (h *history) add(text string) {
	if strings.TrimSpace(text) == "" || len(h.entries) > 0 && h.entries[len(h.entries)-1] == text {
		return
	}
	h.entries = append(h.entries, text)
	h.entries = h.entries[max(0, len(h.entries)-maxHistory):]
}

// older shows the input that was sent before, and reports whether there is one. The cursor is in the
// first row, so that the next Up goes further back.
func (e *Editor) older() bool {
	if !e.visit(e.past.back + 1) {
		return false
	}
	rows := e.rows()
	e.moveTo(rows[0].end)
	if len(rows) > 1 && rows[1].begin == rows[0].end {
		e.moveTo(e.previous())
	}
	return true
}

// newer shows the input that was sent after, or the one that was not sent yet.
func (e *Editor) newer() bool {
	if !e.visit(e.past.back - 1) {
		return false
	}
	e.moveTo(len(e.text))
	return true
}

func (e *Editor) visit(back int) bool {
	h := &e.past
	if back < 0 || back > len(h.entries) {
		return false
	}
	if h.visited == nil {
		h.visited = map[int]draft{}
	}
	h.visited[h.back] = draft{e.text, e.cursor}
	h.back = back
	d, ok := h.visited[back]
	if !ok {
		d.text = cleanEntry(h.entries[len(h.entries)-back])
	}
	e.text = d.text
	return true
}

// cleanEntry is an entry as an input: a file can have anything.
func cleanEntry(text string) string {
	if text = terminal.Clean(text); len(text) > Limit {
		return ""
	}
	return text
}

// A Draft is an input that is put aside, with its chips.
type Draft struct {
	text   string
	chips  []Chip
	pastes int
}

// Draft returns the input as it is.
func (e *Editor) Draft() Draft { return Draft{e.text, slices.Clone(e.chips), e.pastes} }

// Restore replaces the input by one that was put aside.
func (e *Editor) Restore(d Draft) {
	e.Clear()
	e.text, e.chips, e.pastes = d.text, slices.Clone(d.chips), d.pastes
	e.moveTo(len(e.text))
}
