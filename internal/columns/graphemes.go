package columns

import (
	"iter"
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// emojiStyle asks for the character before it as a picture, which is wide.
const emojiStyle = "\ufe0f"

// Graphemes yields what a person takes for the characters of a text: a letter with its accents, an
// emoji of several parts, a flag. Each comes with the columns that it takes on a terminal that draws
// it as one, as the terminal library does. [Of] counts the parts of an emoji instead, since other
// terminals draw them one after the other.
func Graphemes(text string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for all := graphemes.FromString(text); all.Next(); {
			if g := all.Value(); !yield(g, graphemeWidth(g)) {
				return
			}
		}
	}
}

// graphemeWidth is the width of the first part that has one. A flag has two letters, which are
// narrow by themselves.
func graphemeWidth(g string) int {
	if len(g) == 1 {
		return 1
	}
	if strings.Contains(g, emojiStyle) {
		return 2
	}
	for _, r := range g {
		switch n := runeWidth(r); {
		case isRegional(r):
			return 2
		case n > 0:
			return n
		}
	}
	return 0
}

// isRegional reports whether r is a letter of the codes that flags are written with.
func isRegional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// Clip cuts text to at most so many columns, "..." included, on every terminal: of the widths that
// terminals give a character, the largest counts. It returns how many columns are left.
func Clip(text string, space int) (clipped string, left int) {
	const more = "..."
	n, end := 0, 0 // end is where the rest would begin
	for g, size := range Graphemes(text) {
		parts := 0
		for _, r := range g {
			parts += widest(r)
		}
		n += max(size, parts)
		if n > space {
			return text[:end] + more[:max(min(space, len(more)), 0)], 0
		}
		if n <= space-len(more) {
			end += len(g)
		}
	}
	return text, space - n
}
