package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/tui/paint"
)

// The least size of a terminal that can show the program.
const (
	minWidth  = 40
	minHeight = 10
)

func (p *program) isTooSmall() bool { return p.width < minWidth || p.height < minHeight }

// View draws the screen.
func (p *program) View() tea.View {
	v := tea.View{AltScreen: true, WindowTitle: "perstack"}
	if p.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	switch {
	case p.width == 0 || p.height == 0:
	case p.isTooSmall():
		v.Content = p.palette.Screen(p.tooSmall())
	default:
		s := p.top().render(p.width, p.height-2)
		lines := append([]paint.Line{p.header()}, s.lines[:min(len(s.lines), p.height-2)]...)
		for len(lines) < p.height-1 {
			lines = append(lines, nil)
		}
		v.Content = p.palette.Screen(append(lines, p.status()))
		if s.cursor {
			v.Cursor = tea.NewCursor(s.x, s.y+1)
		}
	}
	return v
}

// tooSmall says which size is needed. What runs continues.
func (p *program) tooSmall() (lines []paint.Line) {
	text := fmt.Sprintf("perstack needs %dx%d; this is %dx%d", minWidth, minHeight, p.width, p.height)
	if p.chat != nil && p.chat.isRunning() {
		text += "; the job runs on"
	}
	for len(text) > p.width && len(lines) < p.height-1 {
		end := strings.LastIndexByte(text[:p.width+1], ' ')
		if end <= 0 {
			end = p.width
		}
		lines = append(lines, paint.Text(text[:end], 0))
		text = strings.TrimLeft(text[end:], " ")
	}
	return append(lines, paint.Cut(paint.Text(text, 0), p.width))
}

// header is the first line: where the user is, and what the open job costs.
func (p *program) header() paint.Line {
	dot := p.palette.Mark(" · ", " - ")
	left := paint.Join(paint.Text(" perstack", paint.Bold), paint.Text(dot+p.cleanLine(p.top().title()), paint.Bold))
	if name := p.cleanLine(p.opts.Name); name != "" && p.width >= 60 {
		left = paint.Join(left, paint.Text(dot+name, paint.Quiet))
	}
	var right paint.Line
	if p.chat != nil {
		right = p.chat.summary(p.width < 60)
	}
	space := p.width - paint.Width(right) - 1
	return paint.Cut(paint.Join(paint.Fit(left, space), right), p.width)
}

// status is the last line.
func (p *program) status() paint.Line {
	lead := paint.Text("   ", 0)
	if p.isWaiting() {
		lead = paint.Join(paint.Text(" ", 0), paint.Text(p.spinner(), paint.Cyan), paint.Text(" ", 0))
	}
	space := p.width - paint.Width(lead)
	switch s, ok := p.top().(statusLiner); {
	case p.notice.text != "":
		return paint.Join(lead, paint.Cut(paint.Text(p.notice.text, p.notice.style), space))
	case ok:
		return paint.Join(lead, paint.Cut(s.status(space), space))
	}
	if _, shown := p.top().(*askDetail); !shown && p.chat != nil && p.chat.current() != nil {
		asks := paint.Text("the job asks you  ", paint.Magenta|paint.Bold)
		lead, space = paint.Join(lead, asks), space-paint.Width(asks)
	}
	return paint.Cut(paint.Join(lead, p.hints(max(space, 0))), p.width)
}

// hints names the keys of actions, as many as fit: those of the screen, and then help and the palette. One
// of the screen and help are always there.
func (p *program) hints(space int) paint.Line {
	dot := p.palette.Mark(" · ", " - ")
	line, help := paint.Line{}, paint.Line{}
	for _, a := range p.common() { // the last one with a hint is help
		if h := hint(a, dot); h != nil {
			help = h
		}
	}
	left := space - paint.Width(help) + paint.TextWidth(dot)
	for _, a := range append(p.top().actions(), p.common()...) {
		next := hint(a, dot)
		if next == nil || next.Text() == help.Text() {
			continue
		}
		if left -= paint.Width(next); left < 0 {
			break
		}
		line = paint.Join(line, next)
	}
	line = paint.Join(line, help)
	line[0].Text = strings.TrimPrefix(line[0].Text, dot)
	return paint.Cut(line, space)
}

func hint(a action, dot string) paint.Line {
	if a.hint == "" || len(a.keys) == 0 {
		return nil
	}
	return paint.Text(dot+keyLabel(a.keys[0])+" "+a.hint, paint.Quiet)
}
