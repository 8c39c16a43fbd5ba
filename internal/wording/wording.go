// Package wording helps to write messages: it quotes text of others safely, shortens it,
// joins lists of words and finds the word that was probably meant.
//
// It never prints. Start reading at [Quote] and [Nearest].
package wording

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Nearest finds the word that was most likely meant, or "". Letter case and
// separators are forgiven entirely (max_steps is maxSteps); beyond that about
// one slip in three letters is.
func Nearest(word string, known []string) string {
	const longest = 64 // no key is longer, and the cost grows with the square
	if len(word) > longest {
		return ""
	}
	folded := fold(word)
	best, bestDistance := "", min(3, len(folded)/3)+1
	for _, k := range known {
		if d := distance(folded, fold(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	if best == "" && len(folded) >= 3 {
		return abbreviated(folded, known)
	}
	return best
}

// abbreviated finds the only word that contains another: stdio is mcpStdioSkill.
func abbreviated(folded string, known []string) string {
	best := ""
	for _, k := range known {
		if strings.Contains(fold(k), folded) {
			if best != "" {
				return ""
			}
			best = k
		}
	}
	return best
}

func fold(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '_' || c == '-' {
			return -1
		}
		return unicode.ToLower(c)
	}, s)
}

// distance counts insertions, deletions, replacements and swaps of adjacent letters
// that turn a into b.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// DidYouMean is the hint for a word out of a closed list.
func DidYouMean(word string, known []string) string {
	if n := Nearest(word, known); n != "" {
		return "did you mean " + Quote(n) + "?"
	}
	return "use " + Or(known)
}

// Or joins words as alternatives: "a, b or c".
func Or(words []string) string { return join(words, " or ") }

// And joins words as a list: "a, b and c".
func And(words []string) string { return join(words, " and ") }

func join(words []string, last string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + last + words[n-1]
}

// Quote shows a value of the file in a message. Control characters and bidi
// marks come out escaped, and long values are cut, so that a hostile file
// cannot draw on the terminal.
func Quote(s string) string {
	return strconv.Quote(CutRunes(s, 60+1, "…"))
}

// CutRunes returns text, or what fits into so many characters, with mark as its end.
func CutRunes(text string, most int, mark string) string {
	n, end, before := 0, 0, most-utf8.RuneCountInString(mark)
	for i := range text { // not further than needed: it can be a file of many megabytes
		if n == before {
			end = i
		}
		if n == most {
			return text[:end] + mark
		}
		n++
	}
	return text
}

// Cut shortens text to at most limit bytes, at a character, with "…" at its end.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := max(0, limit-len("…"))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// Visible is for messages of others, which may repeat the file unescaped.
func Visible(s string) string {
	return strings.Map(func(c rune) rune {
		if strconv.IsPrint(c) {
			return c
		}
		return utf8.RuneError
	}, s)
}

// Count counts things: "1 step", "2 steps".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// Number writes a number without an exponent and without rounding it: what is tiny must not
// look like nothing.
func Number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// Bytes writes a size as people do: "4 GiB", "1.5 MiB", "700 bytes".
func Bytes(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	for i, unit := range slices.Backward(units) {
		if size := int64(1) << (10 * (i + 1)); n >= size {
			return strconv.FormatFloat(math.Round(float64(n)/float64(size)*10)/10, 'f', -1, 64) + " " + unit
		}
	}
	return Count(int(n), "byte")
}

// Short writes a large number in a few characters: 950, 18.2k, 1.5M.
func Short(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n)
	case n < 999_950:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// Cost writes an amount of US dollars that was spent: $0, <$0.001, $0.021, $1.25.
func Cost(dollars float64) string {
	switch {
	case dollars == 0:
		return "$0"
	case dollars < 0.001:
		return "<$0.001"
	case dollars < 0.1:
		return fmt.Sprintf("$%.3f", dollars)
	}
	return fmt.Sprintf("$%.2f", dollars)
}

// Budget writes an amount of US dollars that can be spent, as exactly as the user did: $0.50, $0.005.
func Budget(dollars float64) string {
	_, part, _ := strings.Cut(Number(dollars), ".")
	return "$" + strconv.FormatFloat(dollars, 'f', max(2, len(part)), 64)
}

// Clock writes how long something has taken so far: 00:12, 1:02:03.
func Clock(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}
