package lines

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/markdown"
	"github.com/perstack-go/perstack/internal/narrate"
)

// A stream is a text that a model is writing. Its finished blocks are laid out once for a width.
type stream struct {
	kind   narrate.Kind
	redact func(string) string
	text   strings.Builder // the lines that are complete, without secrets, for another width
	line   strings.Builder // the one that is not, with secrets

	width int
	laid  *markdown.Stream
	lines []markdown.Line // of the blocks that are finished
}

func newStream(kind narrate.Kind, redact func(string) string) *stream {
	return &stream{kind: kind, redact: redact}
}

// add takes in a piece. Secrets are taken out of whole lines: a half would not be known.
func (s *stream) add(piece string) {
	end := strings.LastIndexByte(piece, '\n') + 1
	if end == 0 {
		s.line.WriteString(piece)
		return
	}
	s.line.WriteString(piece[:end])
	whole := s.redact(s.line.String())
	s.line.Reset()
	s.line.WriteString(piece[end:])
	s.text.WriteString(whole)
	if s.laid != nil {
		s.lines = append(s.lines, s.laid.Write(whole)...)
	}
}

// incomplete is the line that the model is writing, without its last word: that can be the first half of
// a secret. Scripts without blanks hold no secrets.
func (s *stream) incomplete() string {
	return s.redact(strings.TrimRightFunc(s.line.String(), func(r rune) bool { return r > ' ' && r < utf8.RuneSelf }))
}

// tail returns the last lines of the text so far, at most n of them.
func (s *stream) tail(width, n int, ascii bool) []markdown.Line {
	if s.laid == nil || s.width != width {
		s.width, s.laid = width, markdown.NewStream(markdown.Options{Width: width, ASCII: ascii})
		s.lines = s.laid.Write(s.text.String())
	}
	open := s.laid.OpenWith(s.incomplete())
	all := slices.Concat(s.lines[max(0, len(s.lines)-n):], open)
	return all[max(0, len(all)-n):]
}

// finish returns all lines of a text that is complete, if they are those of the stream; ok tells. Blocks
// that were laid out while the text arrived are not laid out again.
func (s *stream) finish(text string, width int) (lines []markdown.Line, ok bool) {
	if s.laid == nil || s.width != width || strings.TrimSpace(s.text.String()+s.redact(s.line.String())) != strings.TrimSpace(text) {
		return nil, false
	}
	return slices.Concat(s.lines, s.laid.Write(s.redact(s.line.String())), s.laid.Close()), true
}
