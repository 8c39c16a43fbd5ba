package wizard

import (
	"context"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/tui/edit"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// An Input is one line that the user edits.
type Input struct {
	Title paint.Line
	About []paint.Line
	Text  string // that it begins with
	// Check changes the text and says what was wrong with it; "" accepts it.
	Check func(text string) (changed, problem string)
}

// Edit returns the text that the user enters.
func (w *Wizard) Edit(ctx context.Context, in Input) (string, error) {
	s := &editor{input: in, reply: newReply()}
	s.insert(in.Text)
	a := w.ask(ctx, s, s.reply)
	return a.text, a.err
}

// An editor is an input on the screen.
type editor struct {
	input Input
	text  edit.Editor
	note  string
	reply reply
}

// insert adds text. Line feeds are blanks: there is one line.
func (s *editor) insert(text string) {
	if err := s.text.Insert(strings.Join(strings.Fields(text), " ")); err != nil {
		s.note = err.Error()
	}
}

func (s *editor) press(name, text string, _ time.Duration) {
	s.note = ""
	switch {
	case name == "enter":
		s.enter()
	case name == "esc":
		s.reply.give(answer{err: ErrBack})
	case text != "":
		if err := s.text.Insert(text); err != nil {
			s.note = err.Error()
		}
	case name == "ctrl+r" || name == "ctrl+j" || name == "alt+enter" || name == "shift+enter": // one line, and no history
	default:
		s.text.Key(name)
	}
}

func (s *editor) enter() {
	text := s.text.Message().Text
	changed, problem := s.input.Check(text)
	if problem == "" {
		s.reply.give(answer{text: changed})
		return
	}
	if changed != text {
		s.text.Clear()
		s.insert(changed)
	}
	s.note = problem
}

// mark is left of the text.
const mark = "> "

func (s *editor) render(width, height int, palette paint.Palette) (v view) {
	v.lines = append(v.lines, paint.Cut(s.input.Title, width))
	for _, line := range s.input.About {
		v.lines = append(v.lines, paint.Cut(line, width))
	}
	drawn := s.text.Render(max(width-len(mark), 2), max(height-len(v.lines)-2, 1))
	v.cursor, v.x, v.y = true, len(mark)+drawn.X, len(v.lines)+drawn.Y
	for i, line := range drawn.Lines {
		before := mark
		if i > 0 {
			before = strings.Repeat(" ", len(mark))
		}
		v.lines = append(v.lines, paint.Join(paint.Text(before, 0), line))
	}
	dot := palette.Mark(" · ", " - ")
	foot := paint.Text("enter confirm"+dot+"esc back"+dot+"ctrl+q quit", paint.Quiet)
	if s.note != "" {
		foot = paint.Text(s.note, paint.Red)
	}
	v.lines = append(v.lines, paint.Cut(foot, width))
	return v
}
