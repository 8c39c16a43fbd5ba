package markdown

import (
	"strconv"
	"strings"
)

// A kind is what a node is.
type kind int

const (
	paragraph kind = iota
	heading
	list
	item
	quote
	code
	comment // of HTML, shown as it is
	rule
	table
)

// A node is a block of Markdown, and the blocks in it.
type node struct {
	kind  kind
	text  string // Markdown of a paragraph or heading; lines of code
	inner []node

	ordered bool // a list with numbers
	start   int  // the first of them
	tight   bool // no blank lines between the items of a list

	rows  [][]string // Markdown of the entries of a table; the first row has the headings
	right []bool     // columns of a table that are aligned to the right
}

// maxNesting is how deep lists and quotes are parsed. What is deeper is text: a line can begin with a
// thousand marks.
const maxNesting = 16

// parse returns the blocks of clean text.
func parse(text string) []node {
	return parseLines(strings.Split(strings.TrimSuffix(text, "\n"), "\n"), 0)
}

func parseLines(lines []string, depth int) (nodes []node) {
	for len(lines) > 0 {
		if isBlank(lines[0]) {
			lines = lines[1:]
			continue
		}
		n, used := parseBlock(lines, depth)
		nodes, lines = append(nodes, n), lines[used:]
	}
	return nodes
}

// parseBlock parses the block that begins with the first line, and says how many lines it has.
func parseBlock(lines []string, depth int) (node, int) {
	first, bare := lines[0], strings.TrimSpace(lines[0])
	indent := indentOf(first)
	switch {
	case indent >= 4:
		return indented(lines)
	case openerOf(first) != "":
		return listing(lines, indent)
	case headingLevel(bare) > 0:
		return node{kind: heading, text: headingText(bare)}, 1
	case isRule(bare):
		return node{kind: rule}, 1
	case strings.HasPrefix(bare, "<!--"):
		return commented(lines)
	case bare[0] == '>' && depth < maxNesting:
		return quoted(lines, depth)
	case isItem(bare) && depth < maxNesting:
		return listed(lines, depth)
	}
	if n, used, ok := tabular(lines); ok {
		return n, used
	}
	return prose(lines)
}

// prose parses a paragraph. Underlined, it is a heading.
func prose(lines []string) (node, int) {
	used := 1
	for used < len(lines) && !isBlank(lines[used]) {
		bare := strings.TrimSpace(lines[used])
		if strings.Trim(bare, "=") == "" || strings.Trim(bare, "-") == "" {
			return node{kind: heading, text: joined(lines[:used])}, used + 1
		}
		if indentOf(lines[used]) < 4 && interrupts(lines[used], bare) {
			break
		}
		used++
	}
	return node{kind: paragraph, text: joined(lines[:used])}, used
}

// joined returns the lines of a paragraph. Two blanks at the end of a line are a line break.
func joined(lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		bare := strings.TrimSpace(line)
		b.WriteString(bare)
		if i == len(lines)-1 {
			break
		}
		if strings.HasSuffix(line, "  ") {
			b.WriteString("\\") // a backslash at the end of a line means the same
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// interrupts reports whether a line ends the paragraph before it.
func interrupts(line, bare string) bool {
	if openerOf(line) != "" || headingLevel(bare) > 0 || isRule(bare) || bare[0] == '>' || strings.HasPrefix(bare, "<!--") {
		return true
	}
	marker, rest := cutMarker(bare)
	return marker != "" && rest != "" && (len(marker) == 1 || marker == "1." || marker == "1)")
}

// indented parses code that is indented by four columns.
func indented(lines []string) (node, int) {
	used, last := 0, 0
	var b strings.Builder
	for ; used < len(lines) && (isBlank(lines[used]) || indentOf(lines[used]) >= 4); used++ {
		if !isBlank(lines[used]) {
			last = used + 1
		}
	}
	for _, line := range lines[:last] {
		b.WriteString(outdent(line, 4) + "\n")
	}
	return node{kind: code, text: b.String()}, last
}

// listing parses code between two lines of backticks or tildes.
func listing(lines []string, indent int) (node, int) {
	opener := openerOf(lines[0])
	var b strings.Builder
	for i, line := range lines[1:] {
		if closes(strings.TrimSpace(line), opener) {
			return node{kind: code, text: b.String()}, i + 2
		}
		b.WriteString(outdent(line, indent) + "\n")
	}
	return node{kind: code, text: b.String()}, len(lines)
}

// closes reports whether a line ends the code that began with an opener.
func closes(bare, opener string) bool {
	return strings.HasPrefix(bare, opener) && strings.Trim(bare, opener[:1]) == ""
}

func commented(lines []string) (node, int) {
	used := 1
	for used < len(lines) && !strings.Contains(lines[used-1], "-->") {
		used++
	}
	return node{kind: comment, text: strings.Join(lines[:used], "\n")}, used
}

func quoted(lines []string, depth int) (node, int) {
	var inner []string
	used := 0
	for ; used < len(lines); used++ {
		bare := strings.TrimLeft(lines[used], " ")
		rest, marked := strings.CutPrefix(bare, ">")
		if !marked && (isBlank(lines[used]) || interrupts(lines[used], bare) || isBlank(inner[len(inner)-1])) {
			break
		}
		if marked {
			bare = strings.TrimPrefix(rest, " ")
		}
		inner = append(inner, bare)
	}
	return node{kind: quote, inner: parseLines(inner, depth+1)}, used
}

// listed parses a list: items whose markers are of one kind.
func listed(lines []string, depth int) (node, int) {
	marker, _ := cutMarker(strings.TrimSpace(lines[0]))
	n := node{kind: list, ordered: len(marker) > 1, tight: true}
	if n.ordered {
		n.start, _ = strconv.Atoi(marker[:len(marker)-1]) // it has nine digits at most
	}
	used := 0
	for used < len(lines) {
		bare := strings.TrimSpace(lines[used])
		next, _ := cutMarker(bare)
		if next == "" || next[len(next)-1] != marker[len(marker)-1] || len(next) > 1 != n.ordered || isRule(bare) || indentOf(lines[used]) >= 4 {
			break
		}
		inner, length := itemLines(lines[used:])
		blocks := parseLines(inner, depth+1)
		n.inner = append(n.inner, node{kind: item, inner: blocks})
		used += length
		apart := used < len(lines) && isBlank(lines[used-1])
		for trailing := len(inner); apart && trailing > 0 && isBlank(inner[trailing-1]); trailing-- {
			inner = inner[:trailing-1]
		}
		follows, _ := cutMarker(strings.TrimSpace(at(lines, used)))
		if len(blocks) > 1 && hasBlank(inner) || apart && follows != "" && follows[len(follows)-1] == marker[len(marker)-1] {
			n.tight = false
		}
	}
	return n, used
}

// itemLines returns the lines of an item without its indentation, and how many there are.
func itemLines(lines []string) (inner []string, used int) {
	indent := indentOf(lines[0])
	marker, rest := cutMarker(strings.TrimSpace(lines[0]))
	padding := len(outdent(lines[0], indent)) - len(marker) - len(strings.TrimLeft(outdent(lines[0], indent)[len(marker):], " \t"))
	if padding < 1 || padding > 4 || rest == "" {
		padding = 1
	}
	width := indent + len(marker) + padding
	inner = []string{rest}
	for used = 1; used < len(lines); used++ {
		line := lines[used]
		switch bare := strings.TrimSpace(line); {
		case bare == "":
			line = ""
		case indentOf(line) >= width:
			line = outdent(line, width)
		case isBlank(inner[len(inner)-1]), interrupts(line, bare), isItem(bare):
			return inner, used
		default:
			line = bare // a paragraph that goes beyond its indentation
		}
		inner = append(inner, line)
	}
	return inner, used
}

// maxColumns is how wide a table can be. What is wider is text. A row has the columns that are written, and none
// is added: a short line must not become a long one.
const maxColumns = 64

// tabular parses a table: a row, a line of dashes for each of its columns, and more rows.
func tabular(lines []string) (n node, used int, ok bool) {
	if len(lines) < 2 || !strings.Contains(lines[0], "|") {
		return n, 0, false
	}
	head, marks := entries(lines[0]), entries(lines[1])
	if len(head) != len(marks) || len(head) > maxColumns {
		return n, 0, false
	}
	n = node{kind: table, rows: [][]string{head}}
	for _, m := range marks {
		if strings.Trim(m, ":") == "" || strings.Trim(strings.TrimSuffix(strings.TrimPrefix(m, ":"), ":"), "-") != "" {
			return n, 0, false
		}
		n.right = append(n.right, strings.HasSuffix(m, ":") && !strings.HasPrefix(m, ":"))
	}
	for used = 2; used < len(lines) && !isBlank(lines[used]) && strings.Contains(lines[used], "|"); used++ {
		row := entries(lines[used])
		n.rows = append(n.rows, row[:min(len(row), len(head))])
	}
	return n, used, true
}

// entries splits a row of a table. A bar after a backslash is text.
func entries(line string) (row []string) {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	var entry strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
			entry.WriteByte('|')
			i++
		case line[i] == '|':
			row = append(row, strings.TrimSpace(entry.String()))
			entry.Reset()
		default:
			entry.WriteByte(line[i])
		}
	}
	if rest := strings.TrimSpace(entry.String()); rest != "" || len(row) == 0 {
		row = append(row, rest)
	}
	return row
}
