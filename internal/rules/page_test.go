package rules

import (
	"regexp"
	"strings"
	"unicode"
)

// A page is a Markdown file, taken apart as far as the rules need it.
type page struct {
	path    string
	links   []span          // targets of links and images
	code    []span          // `inline code`
	blocks  []block         // blocks of code
	anchors map[string]bool // #names of the headings
	prose   []string        // all lines; those of blocks are empty
}

type span struct {
	text string
	line int
}

type block struct {
	language string
	span     // the line is the first line of the block
}

var (
	linkPattern   = regexp.MustCompile(`\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)`)
	codePattern   = regexp.MustCompile("`([^`]+)`")
	blockPattern  = regexp.MustCompile("^\\s*(```+|~~~+)\\s*([A-Za-z0-9_-]*)")
	anchorPattern = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
)

func parsePage(name, text string) *page {
	lines := strings.Split(text, "\n")
	p := &page{path: name, anchors: map[string]bool{}, prose: make([]string, len(lines))}
	var open string // the mark that opened the current block
	for i, line := range lines {
		number := i + 1
		mark := blockPattern.FindStringSubmatch(line)
		switch {
		case open == "" && mark != nil:
			open = mark[1]
			p.blocks = append(p.blocks, block{strings.ToLower(mark[2]), span{line: number}})
		case open != "" && mark != nil && strings.HasPrefix(mark[1], open) && mark[2] == "":
			open = ""
		case open != "":
			p.blocks[len(p.blocks)-1].text += line + "\n"
		default:
			p.inline(line, number)
			p.prose[i] = line
		}
	}
	return p
}

// inline takes apart a line outside of blocks.
func (p *page) inline(line string, number int) {
	if heading := strings.TrimLeft(line, "#"); heading != line && strings.HasPrefix(heading, " ") {
		p.anchors[anchor(heading)] = true
	}
	for _, m := range anchorPattern.FindAllStringSubmatch(line, -1) {
		p.anchors[m[1]] = true
	}
	for _, m := range codePattern.FindAllStringSubmatch(line, -1) {
		p.code = append(p.code, span{m[1], number})
	}
	for _, m := range linkPattern.FindAllStringSubmatch(codePattern.ReplaceAllString(line, "code"), -1) {
		p.links = append(p.links, span{m[1], number})
	}
}

// anchor is the name that GitHub gives a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}
