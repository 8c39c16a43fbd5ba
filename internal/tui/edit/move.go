package edit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lineStart is where the line begins that has a place of the text.
func (e *Editor) lineStart(at int) int { return strings.LastIndexByte(e.text[:at], '\n') + 1 }

func (e *Editor) lineEnd(at int) int {
	if i := strings.IndexByte(e.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(e.text)
}

// boundary is the beginning of a unit that is nearest to a place of the text: the next one, or the
// one before.
func (e *Editor) boundary(at int, next bool) int {
	at = min(max(at, 0), len(e.text))
	begin := e.lineStart(at)
	for unit := range e.units(e.text[begin:e.lineEnd(at)]) {
		switch end := begin + len(unit); {
		case begin >= at:
			return begin
		case end <= at:
			begin = end
		case next:
			return end
		default:
			return begin
		}
	}
	return begin
}

// previous is where the unit before the cursor begins.
func (e *Editor) previous() int {
	if e.cursor == e.lineStart(e.cursor) {
		return max(e.cursor-1, 0) // a line feed
	}
	return e.boundary(e.cursor-1, false)
}

// next is where the unit at the cursor ends.
func (e *Editor) next() int {
	if e.cursor == len(e.text) {
		return e.cursor
	}
	for unit := range e.units(e.text[e.cursor:e.lineEnd(e.cursor)]) {
		return e.cursor + len(unit)
	}
	return e.cursor + 1
}

// moveTo moves the cursor.
func (e *Editor) moveTo(at int) { e.cursor, e.goal = at, 0 }

// Left moves over one unit, Right as well.
func (e *Editor) Left() { e.moveTo(e.previous()) }

// Right moves over one unit.
func (e *Editor) Right() { e.moveTo(e.next()) }

// Home moves to the beginning of the line, End to its end.
func (e *Editor) Home() { e.moveTo(e.lineStart(e.cursor)) }

// End moves to the end of the line.
func (e *Editor) End() { e.moveTo(e.lineEnd(e.cursor)) }

// Start moves to the beginning of the text.
func (e *Editor) Start() { e.moveTo(0) }

// Finish moves to the end of the text.
func (e *Editor) Finish() { e.moveTo(len(e.text)) }

// wordLeft moves to the beginning of a word.
func (e *Editor) wordLeft() { e.moveTo(e.wordBegin(isWord)) }

// wordRight moves to the end of a word.
func (e *Editor) wordRight() { e.moveTo(e.wordEnd()) }

// Backspace removes the unit before the cursor.
func (e *Editor) Backspace() { e.replace(e.previous(), e.cursor, "") }

// Delete removes the unit at the cursor.
func (e *Editor) Delete() { e.replace(e.cursor, e.next(), "") }

// deleteWord removes what is before the cursor, up to a blank.
func (e *Editor) deleteWord() { e.replace(e.wordBegin(isNotBlank), e.cursor, "") }

// deleteWordLeft removes what is before the cursor, to the beginning of a word.
func (e *Editor) deleteWordLeft() { e.replace(e.wordBegin(isWord), e.cursor, "") }

// deleteWordRight removes what is at the cursor, to the end of a word.
func (e *Editor) deleteWordRight() { e.replace(e.cursor, e.wordEnd(), "") }

// deleteToEnd removes the rest of the line. At its end, it removes the line feed.
func (e *Editor) deleteToEnd() {
	if end := e.lineEnd(e.cursor); end > e.cursor {
		e.replace(e.cursor, end, "")
		return
	}
	e.Delete()
}

// deleteToStart removes the line before the cursor. At its beginning, it removes the line feed.
func (e *Editor) deleteToStart() {
	if begin := e.lineStart(e.cursor); begin < e.cursor {
		e.replace(begin, e.cursor, "")
		return
	}
	e.Backspace()
}

// isWord reports whether a character is part of a word. Accents are, and so is what joins letters.
func isWord(r rune) bool {
	return r == '_' || unicode.In(r, unicode.L, unicode.N, unicode.M) || r == '\u200c' || r == '\u200d'
}

func isNotBlank(r rune) bool { return !unicode.IsSpace(r) }

// wordBegin is where the word before the cursor begins. A chip is a word.
func (e *Editor) wordBegin(in func(rune) bool) int {
	at, inside := e.cursor, false
	for at > 0 {
		r, size := utf8.DecodeLastRuneInString(e.text[:at])
		switch {
		case isChip(r) && !inside:
			return at - size
		case isChip(r), inside && !in(r):
			return e.boundary(at, false)
		}
		inside = inside || in(r)
		at -= size
	}
	return at
}

// wordEnd is where the word at or after the cursor ends.
func (e *Editor) wordEnd() int {
	at, inside := e.cursor, false
	for at < len(e.text) {
		r, size := utf8.DecodeRuneInString(e.text[at:])
		switch {
		case isChip(r) && !inside:
			return e.boundary(at+size, true)
		case isChip(r), inside && !isWord(r):
			return e.boundary(at, true)
		}
		inside = inside || isWord(r)
		at += size
	}
	return at
}
