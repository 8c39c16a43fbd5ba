package markdown

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/terminal"
)

// inline returns the text of a paragraph. Line feeds in it are those that the author wanted.
//
// A mark of emphasis counts only if another one ends it. So the text is first cut into pieces, and
// marks among them are then paired: the pieces between two get their style.
func inline(text string, style Style) []Span {
	p := inliner{text: text}
	p.read()
	p.pair(0)
	var spans []Span
	for _, piece := range p.pieces {
		if piece.text != "" {
			spans = append(spans, Span{piece.text, piece.style | style})
		}
	}
	return spans
}

// An inliner cuts text into pieces.
type inliner struct {
	text     string
	at       int
	pieces   []piece
	brackets []int // pieces that are an opening bracket
}

// A piece is text in one style, or marks of emphasis that may not be paired yet.
type piece struct {
	text  string
	style Style
	mark  byte // *, _ or ~; 0 for text, and for a mark that is paired
	run   int  // marks that stand side by side have the same number
	// opens and closes say where a mark can stand: before emphasised text, or after it.
	opens, closes bool
}

const (
	punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	special     = "\\`*_~[]!<&\n"
)

func (p *inliner) read() {
	for p.at < len(p.text) {
		end := strings.IndexAny(p.text[p.at:], special)
		if end < 0 {
			end = len(p.text) - p.at
		}
		if end > 0 {
			p.add(p.text[p.at:p.at+end], 0)
			p.at += end
			continue
		}
		if !p.one(p.text[p.at]) {
			p.add(p.text[p.at:p.at+1], 0)
			p.at++
		}
	}
}

func (p *inliner) add(text string, style Style) {
	p.pieces = append(p.pieces, piece{text: text, style: style})
}

// one reads what begins with a special character. It reports false if that is text.
func (p *inliner) one(c byte) bool {
	rest := p.text[p.at:]
	switch c {
	case '\n':
		p.add(" ", 0)
		p.at++
		return true
	case '\\':
		switch {
		case len(rest) > 1 && rest[1] == '\n':
			p.add("\n", 0)
		case len(rest) > 1 && strings.IndexByte(punctuation, rest[1]) >= 0:
			p.add(rest[1:2], 0)
		default:
			return false
		}
		p.at += 2
		return true
	case '`':
		return p.code(rest)
	case '*', '_', '~':
		return p.marks(rest, c)
	case '!', '[':
		return p.open(rest)
	case ']':
		return p.link(rest)
	case '<':
		return p.address(rest)
	case '&':
		return p.reference(rest)
	}
	return false
}

// code reads code between backticks.
func (p *inliner) code(rest string) bool {
	n := len(rest) - len(strings.TrimLeft(rest, "`"))
	for from := n; ; {
		i := strings.Index(rest[from:], rest[:n])
		if i < 0 {
			p.add(rest[:n], 0)
			p.at += n
			return true
		}
		i += from
		length := len(rest[i:]) - len(strings.TrimLeft(rest[i:], "`"))
		if length != n {
			from = i + length
			continue
		}
		text := strings.ReplaceAll(rest[n:i], "\n", " ")
		if len(text) > 2 && text[0] == ' ' && text[len(text)-1] == ' ' && strings.Trim(text, " ") != "" {
			text = text[1 : len(text)-1] // space for a backtick
		}
		p.add(text, Code)
		p.at += i + n
		return true
	}
}

// marks reads marks of emphasis. Each is a piece, so that some of them can stay text.
func (p *inliner) marks(rest string, c byte) bool {
	n := len(rest) - len(strings.TrimLeft(rest, string(c)))
	if c == '~' && n != 2 {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(p.text[:p.at])
	after, _ := utf8.DecodeRuneInString(rest[n:])
	if p.at == 0 {
		before = ' '
	}
	if len(rest) == n {
		after = ' '
	}
	left := !unicode.IsSpace(after) && (!isPunctuation(after) || unicode.IsSpace(before) || isPunctuation(before))
	right := !unicode.IsSpace(before) && (!isPunctuation(before) || unicode.IsSpace(after) || isPunctuation(after))
	opens, closes := left, right
	if c == '_' { // it is part of many names
		opens, closes = left && (!right || isPunctuation(before)), right && (!left || isPunctuation(after))
	}
	for range n {
		p.pieces = append(p.pieces, piece{text: string(c), mark: c, run: p.at, opens: opens, closes: closes})
	}
	p.at += n
	return true
}

func isPunctuation(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// pair pairs the marks from a piece on: each that can close with the nearest of its kind that can open.
func (p *inliner) pair(from int) {
	var open []int // marks that nothing has closed
	for i := from; i < len(p.pieces); i++ {
		m := &p.pieces[i]
		if m.mark == 0 {
			continue
		}
		j := -1
		if m.closes {
			j = p.opener(open, m)
		}
		switch {
		case j >= 0:
			open = open[:j+1-p.emphasise(open[:j+1], i)]
		case m.opens:
			if len(open) == maxOpen { // the outermost is text then
				open = open[1:]
			}
			open = append(open, i)
		}
	}
}

// opener finds the mark that another one closes, in a list of open ones; -1 if there is none.
func (p *inliner) opener(open []int, closer *piece) int {
	for j := len(open) - 1; j >= 0; j-- {
		if o := &p.pieces[open[j]]; o.mark == closer.mark && o.run != closer.run {
			return j
		}
	}
	return -1
}

// maxOpen is how many open marks are looked at. Text can have thousands that are never closed, and a style is
// given to everything between two marks, so thousands in each other would take long.
const maxOpen = 32

// emphasise gives the pieces between the last open mark and piece i their style. It returns how many
// marks on each side were used: two that stand side by side make text bold.
func (p *inliner) emphasise(open []int, i int) int {
	from := open[len(open)-1]
	beside := func(a, b int) bool {
		return b < len(p.pieces) && p.pieces[a].mark == p.pieces[b].mark && p.pieces[a].run == p.pieces[b].run
	}
	double := len(open) > 1 && open[len(open)-2] == from-1 && beside(from-1, from) && beside(i, i+1)
	style, used := Italic, 1
	switch {
	case double && p.pieces[i].mark == '~':
		style, used = Struck, 2
	case double:
		style, used = Bold, 2
	}
	for k := from + 1; k < i; k++ {
		p.pieces[k].style |= style
	}
	for n := range used {
		p.pieces[from-n].mark, p.pieces[from-n].text = 0, ""
		p.pieces[i+n].mark, p.pieces[i+n].text = 0, ""
	}
	return used
}

// maxBrackets is how many open brackets are looked at. Each link reads again what is between its brackets, so
// thousands in each other would take long.
const maxBrackets = 16

// open reads the bracket of a link, or the two characters that begin an image.
func (p *inliner) open(rest string) bool {
	n := 1
	if rest[0] == '!' {
		if len(rest) < 2 || rest[1] != '[' {
			return false
		}
		n = 2
	}
	if len(p.brackets) == maxBrackets { // the outermost is text then
		p.brackets = p.brackets[1:]
	}
	p.brackets = append(p.brackets, len(p.pieces))
	p.add(rest[:n], 0)
	p.at += n
	return true
}

// link reads the address of a link, and adds it to its text, so that a reader sees where it leads.
func (p *inliner) link(rest string) bool {
	if len(p.brackets) == 0 {
		return false
	}
	bracket := p.brackets[len(p.brackets)-1]
	p.brackets = p.brackets[:len(p.brackets)-1]
	address, n := linkAddress(rest[1:])
	if n == 0 {
		return false
	}
	p.pair(bracket + 1)
	var shown strings.Builder
	for i := bracket + 1; i < len(p.pieces); i++ {
		shown.WriteString(p.pieces[i].text)
		p.pieces[i].mark = 0 // it does not pair with what is outside
	}
	p.pieces[bracket].text = ""
	switch address = terminal.Clean(html.UnescapeString(address)); {
	case address == "" || shown.String() == address:
	case shown.Len() == 0:
		p.add(address, Quiet)
	default:
		p.add(" ("+address+")", Quiet)
	}
	p.at += 1 + n
	return true
}

// maxAddress is the longest address of a link, in bytes.
const maxAddress = 4096

// linkAddress reads an address in parentheses, which a title can follow. It returns how long all of it
// is; 0 if there is none.
func linkAddress(rest string) (address string, n int) {
	if !strings.HasPrefix(rest, "(") {
		return "", 0
	}
	depth := 0
	for i := range min(len(rest), maxAddress) {
		switch rest[i] {
		case '\n':
			return "", 0
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				address, _, _ = strings.Cut(strings.TrimSpace(rest[1:i]), " ")
				return strings.TrimSuffix(strings.TrimPrefix(address, "<"), ">"), i + 1
			}
		}
	}
	return "", 0
}

// address reads an address in angle brackets. Other tags are text.
func (p *inliner) address(rest string) bool {
	end := strings.IndexAny(rest[1:], "<> \n")
	if end < 0 || rest[1+end] != '>' || !strings.ContainsAny(rest[1:1+end], ":@") {
		return false
	}
	p.add(rest[1:1+end], 0)
	p.at += end + 2
	return true
}

// reference reads a character that HTML names. It can stand for a control character.
func (p *inliner) reference(rest string) bool {
	end := strings.IndexByte(rest[:min(len(rest), 40)], ';')
	if end < 0 {
		return false
	}
	text := html.UnescapeString(rest[:end+1])
	if text == rest[:end+1] {
		return false
	}
	p.add(strings.ReplaceAll(terminal.Clean(text), "\n", " "), 0)
	p.at += end + 1
	return true
}
