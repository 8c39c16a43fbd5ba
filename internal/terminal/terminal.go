// Package terminal makes untrusted text safe to print on a terminal. Everything that
// shows text of a model, a tool, a file or an untrusted configuration to a person calls
// [Clean] or [CleanLine] on it, and nothing else in the program strips sequences. A command
// that a person can paste is written by [ShellJoin], which takes nothing out.
//
// What a terminal acts upon is removed, and so is what draws nothing: invisible text must
// not hide in text that a person reads. What a script or an emoji needs to look right
// stays. The package knows nothing about colours or widths; our own colours are added after
// text was cleaned.
//
// Start reading at [Clean].
package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes untrusted text safe to print:
//
//   - control sequences go, whole: CSI, OSC, DCS, APC, PM and SOS, in the form with ESC
//     and in the one with a C1 control;
//   - every other control character goes; line feeds and tabs stay, and whatever else
//     some program takes for the end of a line becomes a line feed. So a lone carriage
//     return cannot overwrite what was printed before;
//   - marks that reorder text go, and so does what draws nothing (see isInvisible);
//   - bytes that are not UTF-8 become U+FFFD.
//
// Clean(Clean(x)) is Clean(x).
func Clean(text string) string { return rewrite(text, false) }

// Reveal makes visible what [Clean] would take out: a control character, or one that
// draws nothing, becomes its number, as in <U+200B>. It is for text that a model reads as
// well: what a person reviews and what the model gets must be the same. Line feeds and tabs
// stay, and so does what an emoji or a script needs to look right.
//
// Reveal(Reveal(x)) is Reveal(x), and Clean leaves it as it is.
func Reveal(text string) string { return rewrite(text, true) }

// rewrite removes or reveals what must not reach a terminal.
func rewrite(text string, reveal bool) string {
	if isPlain(text) {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	last := rune(-1) // what was written before
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		rest := text[size:]
		text = rest
		switch {
		case r == '\r' && strings.HasPrefix(rest, "\n"):
			continue
		case r == '\n' || r == '\t':
		case !reveal && (r == esc || r >= 0x80 && r <= 0x9f && r != nextLine):
			text = afterSequence(r, rest)
			continue
		case !reveal && endsLine(r):
			r = '\n'
		case unicode.IsControl(r), endsLine(r), isInvisible(r) && !isNeeded(last, r, rest):
			if reveal {
				fmt.Fprintf(&out, "<U+%04X>", r)
				last = '>'
			}
			continue
		}
		out.WriteRune(r) // U+FFFD for a byte that is not UTF-8
		last = r
	}
	return out.String()
}

// CleanLine is [Clean] for text that must stay on one line.
func CleanLine(text string) string {
	return strings.Join(strings.Fields(Clean(text)), " ")
}

// isPlain reports whether text is printable ASCII, as most text is.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' && c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

const nextLine = '\u0085'

// endsLine reports whether some terminal, editor or reader begins a new line here.
func endsLine(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', nextLine, '\u2028', '\u2029':
		return true
	}
	return false
}

// RevealLine is [Reveal] for text that must stay on one line.
func RevealLine(text string) string {
	return strings.Join(strings.Fields(Reveal(text)), " ")
}
