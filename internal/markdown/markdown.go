// Package markdown lays out the Markdown that models write as lines for a terminal. It knows styles, but
// no colours: the caller draws them.
//
// A [Stream] takes text as it arrives. A block that is finished is laid out once; only the last block,
// which can still change, is laid out again with each piece. [Render] is a stream that gets everything
// at once, so both always agree.
//
// The text is untrusted. It is cleaned before it is parsed, so no line has a control character. Start
// reading at [Stream].
package markdown

import (
	"strings"

	"github.com/perstack-go/perstack/internal/terminal"
)

// A Style says how a text is set. Styles add up.
type Style uint16

// The styles.
const (
	Bold Style = 1 << iota
	Italic
	Code
	Struck
	Quiet // marks and addresses, which are not part of the text itself
)

// A Span is text in one style.
type Span struct {
	Text  string
	Style Style
}

// A Line is one line of a terminal. Its text has no control characters.
type Line []Span

// Text is the line without its styles.
func (l Line) Text() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Options say how lines are laid out.
type Options struct {
	Width int  // columns of a line; at least [MinWidth] are used
	ASCII bool // marks are ASCII
}

// MinWidth is the least width that lines are laid out for.
const MinWidth = 20

// Render lays out a whole text.
func Render(source string, o Options) []Line {
	s := NewStream(o)
	return append(s.Write(source), s.Close()...)
}

// A Stream lays out text that arrives in pieces.
type Stream struct {
	opts  Options
	split splitter
	begun bool // a block was returned, so a blank line comes before the next
	tight bool // the block before was a line of code, which the next line of code follows directly
}

// NewStream returns a stream without text.
func NewStream(o Options) *Stream {
	o.Width = max(o.Width, MinWidth)
	return &Stream{opts: o}
}

// Write adds text. It returns the lines of the blocks that are finished with it, and were not returned
// before.
func (s *Stream) Write(piece string) []Line { return s.lay(s.split.add(piece)) }

// Open returns the lines of the block that is not finished. They can change with the next piece.
func (s *Stream) Open() []Line { return s.OpenWith("") }

// OpenWith is Open as if there were one more piece, which is not written yet.
func (s *Stream) OpenWith(piece string) []Line {
	again := Stream{opts: s.opts, begun: s.begun, tight: s.tight}
	s.split.copyTo(&again.split)
	return append(again.Write(piece), again.Close()...)
}

// Close returns the lines of what is left. There is nothing to write after it.
func (s *Stream) Close() []Line { return s.lay(s.split.end()) }

// lay lays out blocks, with a blank line between two of them.
func (s *Stream) lay(blocks []block) (lines []Line) {
	for _, b := range blocks {
		one := layout{opts: s.opts}
		if b.isCode {
			one.code(terminal.Clean(b.text), "")
		} else {
			one.document(b.text)
		}
		if len(one.lines) == 0 && !b.isCode {
			continue
		}
		if s.begun && !(s.tight && b.isCode && !b.opens) {
			lines = append(lines, Line{})
		}
		s.begun, s.tight = true, b.isCode
		if b.opens {
			continue // the line of backticks shows nothing
		}
		lines = append(lines, one.lines...)
	}
	return lines
}
