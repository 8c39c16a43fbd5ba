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
	word   string          // the last word, which is not complete

	width int
	laid  *markdown.Stream
	lines []markdown.Line // of the blocks that are finished
}

func newStream(kind narrate.Kind, redact func(string) string) *stream {
	return &stream{kind: kind, redact: redact}
}

// maxWord is how much text without a blank is kept back.
const maxWord = 512

// add takes in a piece. A word is kept back until it is complete: half a secret would not be known.
// Scripts without blanks hold no secrets.
func (s *stream) add(piece string) {
	s.word += piece
	end := strings.LastIndexFunc(s.word, func(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf })
	if end >= 0 {
		_, size := utf8.DecodeRuneInString(s.word[end:])
		end += size
	} else if end = 0; len(s.word) > maxWord {
		end = len(s.word)
	}
	if end == 0 {
		return
	}
	whole := s.redact(s.word[:end])
	s.word = s.word[end:]
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
	if s.laid == nil || s.width != width || strings.TrimSpace(s.text.String()+s.redact(s.word)) != strings.TrimSpace(text) {
		return nil, false
	}
	return slices.Concat(s.lines, s.laid.Write(s.redact(s.word)), s.laid.Close()), true
}
