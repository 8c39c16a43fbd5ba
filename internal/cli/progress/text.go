package progress

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/terminal"
)

// cut returns the first n characters of text and "..." if there are more.
func cut(text string, n int) string {
	count := 0
	for i := range text {
		if count == n {
			return text[:i] + "..."
		}
		count++
	}
	return text
}

// whole returns all lines of text.
func whole(text string, c colour) []line {
	text = strings.Trim(terminal.Clean(text), "\n")
	if text == "" {
		return nil
	}
	var lines []line
	for l := range strings.SplitSeq(text, "\n") {
		lines = append(lines, line{l, c})
	}
	return lines
}

// opening returns the first line of text, and a line that counts the rest.
func opening(text string, c colour) []line {
	lines := whole(text, c)
	return more(slices.Clip(lines[:min(len(lines), 1)]), len(lines))
}

// prose gives r a body that is wrapped, of which the first lines are shown.
func (p *Printer) prose(r row, text string, c colour) row {
	r.body, r.whole, r.limit = whole(text, c), true, p.opts.Lines
	return r
}

// head returns the first lines of text, and a line that counts the rest.
func (p *Printer) head(text string, c colour) []line {
	return p.marked("", text, c)
}

// marked is head with a mark before each line.
func (p *Printer) marked(mark, text string, c colour) []line {
	if text == "" {
		return nil
	}
	var lines []line
	total := 0
	for l := range strings.Lines(strings.TrimRight(text, "\r\n")) {
		if total++; total <= p.opts.Lines {
			lines = append(lines, line{mark + strings.TrimRight(l, "\r\n"), c})
		}
	}
	return more(lines, total)
}

// list returns the first items, each behind mark, and a line that counts the rest.
func (p *Printer) list(mark string, items []string) []line {
	var lines []line
	for _, item := range items[:min(len(items), listed)] {
		lines = append(lines, line{mark + item, plain})
	}
	return more(lines, len(items))
}

func more(lines []line, total int) []line {
	if rest := total - len(lines); rest > 0 {
		lines = append(lines, line{fmt.Sprintf("... +%d more", rest), dim})
	}
	return lines
}

// shortPath shortens a path of more than n characters to its end. Paths with fewer than
// three segments stay, since little would be left of them.
func shortPath(name string, n int) string {
	slashed := strings.ReplaceAll(name, `\`, "/")
	if len([]rune(name)) <= n || strings.Count(strings.Trim(slashed, "/"), "/") < 2 {
		return name
	}
	parent, file := path.Split(slashed)
	short := ".../" + path.Base(parent) + "/" + file
	if len([]rune(short)) > n {
		short = ".../" + file
	}
	return short
}

// plural counts things: "1 task", "2 tasks".
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
