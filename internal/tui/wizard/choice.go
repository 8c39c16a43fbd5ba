package wizard

import (
	"context"
	"time"

	"github.com/perstack-go/perstack/internal/tui/list"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A Choice is a list from which the user chooses one row.
type Choice struct {
	Title paint.Line
	About []paint.Line // below the title
	Rows  []paint.Line
	At    int    // the row that is selected first
	Back  bool   // the user can return to the screen before
	Enter string // what the key Enter does, in a word
	// Careful takes the key Enter only if nothing was pressed for a while before it.
	Careful bool
}

// Choose returns the number of the row that the user chooses.
func (w *Wizard) Choose(ctx context.Context, c Choice) (int, error) {
	s := &chooser{choice: c, list: list.New(rows(c.Rows)), reply: newReply()}
	s.list.Move(c.At)
	a := w.ask(ctx, s, s.reply)
	return a.row, a.err
}

// pauseBefore is how long nothing must have been pressed before a key that cannot be undone.
const pauseBefore = 300 * time.Millisecond

// A chooser is a choice on the screen.
type chooser struct {
	choice Choice
	list   *list.List
	note   string
	reply  reply
}

func (s *chooser) press(name, _ string, pause time.Duration) {
	s.note = ""
	at, _ := s.list.Selected()
	switch {
	case name == "up" && at == 0:
		s.list.Move(s.list.Len())
	case name == "down" && at == s.list.Len()-1:
		s.list.Move(-s.list.Len())
	case name == "enter" && s.choice.Careful && pause < pauseBefore:
		s.note = "that was too soon after another key: press Enter again"
	case name == "enter":
		s.reply.give(answer{row: at})
	case s.choice.Back && (name == "esc" || name == "backspace" || name == "delete"):
		s.reply.give(answer{err: ErrBack})
	case name == "esc":
		s.reply.give(answer{err: ErrLeft})
	default:
		s.list.Key(name)
	}
}

func (s *chooser) render(width, height int, palette paint.Palette) (v view) {
	v.lines = append(v.lines, paint.Cut(s.choice.Title, width))
	for _, line := range s.choice.About {
		v.lines = append(v.lines, paint.Cut(line, width))
	}
	v.lines = append(v.lines, s.list.Render(width, max(height-len(v.lines)-2, 1), palette)...)
	foot := paint.Text(s.keys(palette), paint.Quiet)
	if s.note != "" {
		foot = paint.Text(s.note, paint.Red)
	}
	v.lines = append(v.lines, paint.Cut(foot, width))
	return v
}

// keys names the keys that mean something.
func (s *chooser) keys(palette paint.Palette) string {
	dot := palette.Mark(" · ", " - ")
	text := palette.Mark("↑↓", "up/down") + " navigate" + dot + "enter " + s.choice.Enter
	if s.choice.Back {
		text += dot + "esc back"
	}
	return text + dot + "q quit"
}

// rows are the items of the list. They have no names: they do not change.
type rows []paint.Line

func (r rows) Len() int                 { return len(r) }
func (r rows) ID(i int) string          { return r[i].Text() }
func (r rows) Text(i int) string        { return r[i].Text() }
func (r rows) Line(i, _ int) paint.Line { return r[i] }
