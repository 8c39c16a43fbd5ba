package markdown

import (
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/terminal"
)

// A layout makes the lines of one block, and of the blocks in it.
type layout struct {
	opts   Options
	lines  []Line
	margin []Span // before each line
	marker []Span // before the next line instead; nil if there is none
}

// maxDepth is how deep quotes and lists are nested at most; what is deeper is not indented further.
const maxDepth = 8

func (l *layout) document(source string) { l.blocks(parse(terminal.Clean(source)), true, 0) }

// blocks lays out blocks, with a blank line between two of them if apart is set.
func (l *layout) blocks(nodes []node, apart bool, depth int) {
	first := true
	for _, n := range nodes {
		before := len(l.lines)
		if !first && apart {
			l.put(nil)
		}
		from := len(l.lines)
		if l.block(n, depth); len(l.lines) == from { // it shows nothing
			l.lines = l.lines[:before]
			continue
		}
		first = false
	}
}

func (l *layout) block(n node, depth int) {
	switch n.kind {
	case heading:
		l.prose(inline(n.text, Bold))
	case paragraph:
		l.prose(inline(n.text, 0))
	case list:
		l.list(n, depth)
	case quote:
		l.within(l.mark("│ ", "| "), nil, depth, func(depth int) { l.blocks(n.inner, true, depth) })
	case code:
		l.code(n.text, "  ")
	case rule:
		l.put([]Span{{strings.Repeat(l.choose("─", "-"), min(l.space(), 40)), Quiet}})
	case comment:
		l.code(n.text, "")
	case table:
		l.table(n)
	case item: // a list lays it out
	}
}

// within lays out what is below a mark.
func (l *layout) within(margin Span, marker []Span, depth int, inner func(depth int)) {
	if depth >= maxDepth || l.space()-columns.Of(margin.Text) < MinWidth/2 {
		inner(depth)
		return
	}
	outer := l.margin
	if marker != nil {
		l.marker = append(clone(l.first()), marker...)
	}
	l.margin = append(clone(outer), margin)
	inner(depth + 1)
	l.margin, l.marker = outer, nil
}

// first is what stands before the next line.
func (l *layout) first() []Span {
	if l.marker != nil {
		return l.marker
	}
	return l.margin
}

func (l *layout) list(n node, depth int) {
	for i, item := range n.inner {
		mark := l.choose("•", "-") + " "
		if n.ordered {
			mark = strconv.Itoa(n.start+i) + ". "
		}
		if !n.tight && i > 0 {
			l.put(nil)
		}
		from := len(l.lines)
		l.within(Span{strings.Repeat(" ", columns.Of(mark)), 0}, []Span{{mark, 0}}, depth, func(depth int) {
			l.blocks(item.inner, !n.tight, depth)
			if len(l.lines) == from { // an empty item
				l.put([]Span{})
			}
		})
	}
}

// put adds a line. A nil line is blank.
func (l *layout) put(spans []Span) {
	line := Line{}
	for _, s := range append(clone(l.first()), spans...) {
		if last := len(line) - 1; last >= 0 && line[last].Style == s.Style {
			line[last].Text += s.Text
		} else if s.Text != "" {
			line = append(line, s)
		}
	}
	l.marker = nil
	if last := len(line) - 1; last >= 0 {
		if line[last].Text = strings.TrimRight(line[last].Text, " "); line[last].Text == "" {
			line = line[:last]
		}
	}
	l.lines = append(l.lines, line)
}

func (l *layout) space() int {
	n := l.opts.Width
	for _, s := range l.margin {
		n -= columns.Of(s.Text)
	}
	return max(n, 1)
}

// prose wraps text. A line feed in it stays.
func (l *layout) prose(spans []Span) {
	for _, line := range wrap(spans, l.space()) {
		l.put(line)
	}
}

// code adds lines as they are. What is too long is broken, so that nothing is lost.
func (l *layout) code(source, indent string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(source, "\n"), "\n") {
		line = strings.ReplaceAll(line, "\t", "    ")
		for _, part := range columns.Break(line, l.space()-len(indent)) {
			l.put([]Span{{indent + part, Code}})
		}
	}
}

func (l *layout) choose(mark, ascii string) string {
	if l.opts.ASCII {
		return ascii
	}
	return mark
}

func (l *layout) mark(mark, ascii string) Span { return Span{l.choose(mark, ascii), Quiet} }

func clone(spans []Span) []Span { return append([]Span{}, spans...) }
