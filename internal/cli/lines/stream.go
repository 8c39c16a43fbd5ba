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
	text   strings.Builder // all of it, without secrets, for another width
	word   strings.Builder // the last word, which is not complete

	width int
	laid  *markdown.Stream
	lines []markdown.Line // of the blocks that are finished
}

func newStream(kind narrate.Kind, redact func(string) string) *stream {
	return &stream{kind: kind, redact: redact}
}

// add takes in a piece. A word is kept back until it is complete: half a secret would not be known.
// Scripts without blanks hold no secrets.
func (s *stream) add(piece string) {
	end := strings.LastIndexFunc(piece, func(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf })
	if end < 0 {
		s.word.WriteString(piece)
		return
	}
	_, size := utf8.DecodeRuneInString(piece[end:])
	s.word.WriteString(piece[:end+size])
	whole := s.redact(s.word.String())
	s.word.Reset()
	s.word.WriteString(piece[end+size:])
	s.text.WriteString(whole)
	if s.laid != nil {
		s.lines = append(s.lines, s.laid.Write(whole)...)
	}
}

// tail returns the last lines of the text so far, at most n of them.
func (s *stream) tail(width, n int, ascii bool) []markdown.Line {
	if s.laid == nil || s.width != width {
		s.width, s.laid = width, markdown.NewStream(markdown.Options{Width: width, ASCII: ascii})
		s.lines = s.laid.Write(s.text.String())
	}
	open := s.laid.Open()
	all := slices.Concat(s.lines[max(0, len(s.lines)-n):], open)
	return all[max(0, len(all)-n):]
}

// finish returns all lines of a text that is complete, if they are those of the stream; ok tells. Blocks
// that were laid out while the text arrived are not laid out again.
func (s *stream) finish(text string, width int) (lines []markdown.Line, ok bool) {
	if s.laid == nil || s.width != width || strings.TrimSpace(s.text.String()+s.redact(s.word.String())) != strings.TrimSpace(text) {
		return nil, false
	}
	return slices.Concat(s.lines, s.laid.Write(s.redact(s.word.String())), s.laid.Close()), true
}
