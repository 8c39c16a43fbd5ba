package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A screen is one of the screens of the program. They form a stack, and the topmost is shown between the
// header and the status line. Its methods are called within Update and View, so they must not block:
// see program.work.
type screen interface {
	// title names the screen in the header.
	title() string
	// render draws the screen, in at most height lines.
	render(width, height int) view
	// key does what a key says, and reports whether the key means something here. Keys that do not
	// are those of actions, first of the screen and then of the program.
	key(k key) (cmd tea.Cmd, taken bool)
	// actions are what the user can do here now. Help, palette and status line are made from them.
	actions() []action
}

// A view is what a screen looks like.
type view struct {
	lines []paint.Line
	// cursor says that the terminal's cursor is shown, in a column and a line of the screen.
	cursor bool
	x, y   int
}

// A paster takes text that is pasted. Without it, pasted text is dropped.
type paster interface{ paste(text string) tea.Cmd }

// An opener is told that it became the topmost screen, new or after the one above it was closed.
type opener interface{ opened() tea.Cmd }

// A statusLiner draws the status line itself. Others have one of the hints of their actions.
type statusLiner interface{ status(width int) paint.Line }

// A key is one that the user pressed.
type key struct {
	name string // as the terminal library names it: "enter", "ctrl+p", "a"
	text string // what it types; "" if it types nothing
}

// push shows a screen above the others.
func (p *program) push(s screen) tea.Cmd {
	p.stack = append(p.stack, s)
	return p.openTop()
}

// pop closes the topmost screen. The last one stays.
func (p *program) pop() tea.Cmd {
	if len(p.stack) > 1 {
		p.stack = p.stack[:len(p.stack)-1]
	}
	return p.openTop()
}

// replace shows a screen instead of all others.
func (p *program) replace(s screen) tea.Cmd {
	p.stack = []screen{s}
	return p.openTop()
}

func (p *program) openTop() tea.Cmd {
	if o, ok := p.top().(opener); ok {
		return o.opened()
	}
	return nil
}

func (p *program) top() screen { return p.stack[len(p.stack)-1] }
