package markdown

import (
	"strings"
	"unicode/utf8"
)

// A block is text that is laid out by itself.
type block struct {
	text   string
	isCode bool // one line of a code block in backticks, without its line feed
	opens  bool // it is the line of backticks before such lines
}

// A splitter splits text that arrives in pieces into blocks. It ends a block where nothing that follows
// can change how it looks: at a blank line that no list goes beyond, and before and after code. Lines of
// code are blocks of their own, so that a long listing is not laid out again and again.
type splitter struct {
	line   strings.Builder // the line that is not complete
	text   strings.Builder // complete lines of the present block
	blank  bool            // its last line is blank
	list   bool            // it is a list
	opener string          // what ends the code; empty outside of code
}

// add adds a piece, and returns the blocks that are finished.
func (p *splitter) add(piece string) (done []block) {
	for {
		head, rest, ended := strings.Cut(piece, "\n")
		p.line.WriteString(head)
		for p.line.Len() > maxLine {
			done = append(done, p.cut()...)
		}
		if !ended {
			return done
		}
		line := strings.TrimSuffix(p.line.String(), "\r")
		p.line.Reset()
		done = append(done, p.take(line)...)
		piece = rest
	}
}

const (
	maxLine  = 16 << 10
	maxBlock = 32 << 10
)

// cut ends the block within a line that is too long, between two words if possible. The block that
// is open is laid out again with each piece, and must stay small.
func (p *splitter) cut() []block {
	line := p.line.String()
	end := maxLine
	if blank := strings.LastIndexByte(line[:maxLine], ' '); blank > maxLine/2 {
		end = blank + 1
	} else {
		for !utf8.RuneStart(line[end]) && end > maxLine-utf8.UTFMax {
			end--
		}
	}
	p.line.Reset()
	p.line.WriteString(line[end:])
	if p.opener != "" {
		return []block{{text: line[:end], isCode: true}}
	}
	done := p.take(line[:end])
	return append(done, p.flush()...)
}

// take takes a complete line.
func (p *splitter) take(line string) (done []block) {
	bare := strings.TrimSpace(line)
	if p.opener != "" {
		if closes(bare, p.opener) {
			p.opener = ""
			return nil
		}
		return []block{{text: line, isCode: true}}
	}
	if p.continues(line, bare) {
		p.keep(line, bare)
		return p.bound(nil)
	}
	done = p.flush()
	if opener := openerOf(line); opener != "" {
		p.opener = opener
		return append(done, block{isCode: true, opens: true})
	}
	p.list = isItem(bare)
	p.keep(line, bare)
	return p.bound(done)
}

// continues reports whether a line belongs to the present block.
func (p *splitter) continues(line, bare string) bool {
	switch {
	case bare == "":
		return true
	case p.list && (line[0] == ' ' || line[0] == '\t'):
		return true // a code block in a list, too
	case openerOf(line) != "", p.text.Len() == 0:
		return false
	case p.blank:
		return p.list && isItem(bare)
	}
	return true
}

func (p *splitter) keep(line, bare string) {
	p.blank = bare == ""
	if p.text.Len() > 0 || bare != "" {
		p.text.WriteString(line + "\n")
	}
}

// bound ends a block that is too long.
func (p *splitter) bound(done []block) []block {
	if p.text.Len() > maxBlock {
		done = append(done, p.flush()...)
	}
	return done
}

// flush returns the present block.
func (p *splitter) flush() (done []block) {
	if p.text.Len() > 0 {
		done = []block{{text: p.text.String()}}
	}
	p.text.Reset()
	p.blank, p.list = false, false
	return done
}

// copyTo makes a new splitter one that continues apart from this one.
func (p *splitter) copyTo(again *splitter) {
	again.blank, again.list, again.opener = p.blank, p.list, p.opener
	again.text.WriteString(p.text.String())
	again.line.WriteString(p.line.String())
}

// end returns what is left.
func (p *splitter) end() (done []block) {
	if p.line.Len() > 0 {
		done = p.add("\n")
	}
	return append(done, p.flush()...)
}
