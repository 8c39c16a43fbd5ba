package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a person can overlook or misread when they have to judge a text.
const (
	// maxBlanks is how many blanks in a row are shown as they are. More of them could move the
	// text that follows out of sight.
	maxBlanks = 16
	// maxMarks is how many accents a letter can have. A pile of them covers the lines around it.
	maxMarks = 4
	// lookalikes are drawn like the quotes and backslashes that [Quote] writes.
	lookalikes = "“”„‟″‶〃〝〞〟＂ʺ˝ˮ״❝❞🙶🙷🙸＼∖⧵⧹﹨"
)

// Quote writes a word in double quotes, such that a person sees all of it and two different words
// never look equal. The escapes are \" \\ \n \t \r, \x and two digits for a byte that is not
// UTF-8, \u{200b} for any other character that is not drawn or is drawn like one of these signs,
// and \s{20} for so many blanks.
func Quote(word string) string { return `"` + escape(word, true) + `"` }

// QuoteLines is [Quote], cut into lines after each line feed of the word. Joined, they are what
// Quote returns.
func QuoteLines(word string) (lines []string) {
	quoted, from := Quote(word), 0
	for i := 0; i < len(quoted)-1; i++ {
		if quoted[i] != '\\' {
			continue
		}
		if i++; quoted[i] == 'n' && i+1 < len(quoted)-1 { // no line for the closing quote alone
			lines = append(lines, quoted[from:i+1])
			from = i + 1
		}
	}
	return append(lines, quoted[from:])
}

// Escape writes text as [Quote] does, without quotes around it, and leaves quotes and backslashes
// as they are. It is for text in which these are escaped already, such as JSON.
func Escape(text string) string { return escape(text, false) }

func escape(text string, quotes bool) string {
	var out strings.Builder
	marks := maxMarks // an accent needs a letter before it
	for text != "" {
		if n := blanks(text); n > maxBlanks {
			fmt.Fprintf(&out, `\s{%d}`, n)
			text, marks = text[n:], maxMarks
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		char := text[:size]
		text = text[size:]
		shown := true
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, char[0])
			shown = false
		case quotes && (r == '"' || r == '\\'):
			out.WriteString(`\` + char)
		case r == '\n' || r == '\t' || r == '\r':
			out.WriteString(strings.Trim(strconv.Quote(char), `"`))
			shown = false
		case !strconv.IsPrint(r), isInvisible(r), strings.ContainsRune(lookalikes, r), unicode.In(r, unicode.Mn, unicode.Me) && marks >= maxMarks:
			fmt.Fprintf(&out, `\u{%x}`, r)
			shown = false
		default:
			out.WriteString(char)
		}
		marks = countMarks(marks, r, shown)
	}
	return out.String()
}

// countMarks returns how many accents the last letter has, after r was written.
func countMarks(marks int, r rune, shown bool) int {
	switch {
	case !shown:
		return maxMarks
	case unicode.In(r, unicode.Mn, unicode.Me):
		return marks + 1
	case unicode.In(r, unicode.L, unicode.Mc, unicode.N):
		return 0
	}
	return maxMarks
}

// blanks counts the blanks that text begins with.
func blanks(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }

// maxEmptyLines is how many empty lines [Show] shows as they are.
const maxEmptyLines = 3

// Show returns the lines of a text that a person must see all of. What draws nothing is shown as
// [Reveal] does, including a carriage return. A tab is shown as an arrow. Many blanks or empty
// lines are counted, since they could move the text that follows out of sight.
func Show(text string) (lines []string) {
	empty := 0
	flush := func() {
		if empty > maxEmptyLines {
			lines = append(lines, fmt.Sprintf("<%d empty lines>", empty))
		} else {
			lines = append(lines, make([]string, empty)...)
		}
		empty = 0
	}
	for line := range strings.SplitSeq(text, "\n") {
		shown := showLine(line)
		if strings.TrimSpace(shown) == "" {
			empty++
			continue
		}
		flush()
		lines = append(lines, shown)
	}
	flush()
	return lines
}

// ShowLine is [Show] for text that belongs on one line: line feeds are shown as well.
func ShowLine(text string) string {
	return showLine(strings.ReplaceAll(text, "\n", "<U+000A>"))
}

func showLine(line string) string {
	line = strings.ReplaceAll(Reveal(line), "\t", "→   ")
	var out strings.Builder
	marks := maxMarks
	for line != "" {
		rest := strings.TrimLeftFunc(line, func(r rune) bool { return unicode.Is(unicode.Zs, r) })
		if n := utf8.RuneCountInString(line[:len(line)-len(rest)]); n > maxBlanks {
			fmt.Fprintf(&out, "<%d blanks>", n)
			line, marks = rest, maxMarks
			continue
		}
		r, size := utf8.DecodeRuneInString(line)
		// A selector or a joiner that Reveal left follows a picture, and is no accent.
		if unicode.In(r, unicode.Mn, unicode.Me) && !isInvisible(r) && marks >= maxMarks && r != '\u20e3' {
			fmt.Fprintf(&out, "<U+%04X>", r)
			line, marks = line[size:], maxMarks
			continue
		}
		out.WriteString(line[:size])
		line, marks = line[size:], countMarks(marks, r, true)
	}
	return out.String()
}
