package tui

import (
	"strings"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/markdown"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A stream draws what a model is writing. Lines that are complete are laid out once, so a piece costs
// the same however much was written before.
type stream struct {
	p      *program
	name   string
	kind   narrate.Kind
	indent int

	text   strings.Builder // all of it
	width  int             // for which it is laid out; 0 if it is not
	fed    int             // bytes of the text that the layout has
	layout *markdown.Stream
	lines  []paint.Line
}

func (s *stream) add(delta string) { s.text.WriteString(delta) }

// Text is what a search can find.
func (s *stream) Text() string { return s.p.clean(s.text.String()) }

func (s *stream) Render(width int) []paint.Line {
	if s.kind == narrate.Reasoning {
		return []paint.Line{paint.Cut(paint.Join(paint.Text(strings.Repeat(" ", s.indent)+"Thinking  ", paint.Quiet), paint.Text(s.lastWords(width), paint.Quiet)), width)}
	}
	name := paint.CutText(s.name, max(width/3, 3))
	before := s.indent + max(paint.TextWidth(name), labelSpace) + 1
	space := max(width-before, markdown.MinWidth)
	if s.width != width {
		s.width, s.fed, s.lines = width, 0, nil
		s.layout = markdown.NewStream(markdown.Options{Width: space, ASCII: !s.p.palette.Unicode})
	}
	lead := func(line int) paint.Line {
		if line > 0 {
			return paint.Text(strings.Repeat(" ", before), 0)
		}
		return paint.Fit(paint.Join(paint.Text(strings.Repeat(" ", s.indent), 0), paint.Text(name, paint.Green|paint.Bold)), before)
	}
	for _, line := range s.complete() {
		s.lines = append(s.lines, paint.Join(lead(len(s.lines)), line))
	}
	lines := s.lines[:len(s.lines):len(s.lines)]
	for _, line := range s.layout.OpenWith(s.incomplete()) {
		lines = append(lines, paint.Join(lead(len(lines)), line))
	}
	return lines
}

// complete gives complete lines of text to the layout, and returns what it laid out. Secrets are taken
// out of whole lines: a half would not be known.
func (s *stream) complete() []paint.Line {
	text := s.text.String()
	end := strings.LastIndexByte(text, '\n') + 1
	if end <= s.fed {
		return nil
	}
	from := s.fed
	s.fed = end
	return s.layout.Write(s.p.clean(text[from:end]))
}

// isOfWord reports whether a character can be a part of a secret. Scripts without blanks hold none.
func isOfWord(r rune) bool { return r > ' ' && r < utf8.RuneSelf }

// incomplete is the line that the model is writing, without its last word: that can be the first half of
// a secret.
func (s *stream) incomplete() string {
	return s.p.clean(strings.TrimRightFunc(s.text.String()[s.fed:], isOfWord))
}

// lastWords is the end of what the model thinks. It has no half of a word, which can be one of a secret.
func (s *stream) lastWords(width int) string {
	text := strings.TrimRightFunc(s.text.String(), isOfWord)
	if over := len(text) - 4*width; over > 0 {
		text = strings.TrimLeftFunc(text[over:], isOfWord)
	}
	text = s.p.cleanLine(strings.ToValidUTF8(text, ""))
	over := paint.TextWidth(text) - max(width-s.indent-12, 1)
	if over <= 0 {
		return text
	}
	_, rest := paint.Split(paint.Text(text, 0), over)
	return rest.Text()
}
