// Package screen shows tests what a person sees: it runs a program in a terminal, types, and reads
// the screen.
//
// [Start] gives the program a pseudo terminal and draws its output with an emulator that is not of
// the library that the program draws with. [StartTmux] does the same with tmux, as a second opinion.
// A test waits for what is on the screen; there are no sleeps. A wait that takes too long fails the
// test and prints the last screen.
//
// Between the test and the program of [Start] is a process that does what a shell does: it leads the
// session, gives the terminal to the program and takes it back when the program stops or ends. It is
// this test program again, so TestMain calls [Init] first.
//
//	func TestMain(m *testing.M) {
//		screen.Init()
//		os.Exit(m.Run())
//	}
//
//	term := screen.Start(t, exec.Command("perstack", "start"), 80, 24)
//	term.WaitForText("F1 help")
//	term.Send(screen.Down + screen.Enter)
//	term.WaitForText("lead").Golden(t, "chat_80x24")
package screen

import (
	"fmt"
	"image/color"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"github.com/perstack-go/perstack/internal/testkit"
)

// Keys as a terminal without extended keyboard modes sends them.
const (
	Enter    = "\r"
	Escape   = "\x1b"
	Tab      = "\t"
	Back     = "\x7f"
	CtrlC    = "\x03"
	CtrlZ    = "\x1a"
	Up       = "\x1b[A"
	Down     = "\x1b[B"
	Right    = "\x1b[C"
	Left     = "\x1b[D"
	Home     = "\x1b[H"
	End      = "\x1b[F"
	PageUp   = "\x1b[5~"
	PageDown = "\x1b[6~"
	ShiftTab = "\x1b[Z"
	F1       = "\x1bOP"
	CtrlUp   = "\x1b[1;5A"
	CtrlDown = "\x1b[1;5B"
	AltEnter = "\x1b\r"
)

// Ctrl returns the key of a letter with Ctrl.
func Ctrl(letter byte) string { return string([]byte{letter & 0x1f}) }

// patience is how long a wait can take on a busy machine.
const patience = time.Minute

// A Driver is a terminal with a program in it.
type Driver interface {
	// Send types keys.
	Send(keys string)
	// Paste inserts text as a terminal does: between marks, if the program asked for them.
	Paste(text string)
	// Resize changes the size of the terminal.
	Resize(columns, rows int)
	// Screen returns what is on the screen now.
	Screen() Screen
	// WaitFor waits for a screen on which the condition holds.
	WaitFor(what string, holds func(Screen) bool) Screen
	// WaitForText waits for a screen that has the text, within one line.
	WaitForText(text string) Screen
	// WaitForGone waits for a screen without the text.
	WaitForGone(text string) Screen
}

// A Screen is what a terminal showed at one moment.
type Screen struct {
	Columns, Rows    int
	CursorX, CursorY int // from 0
	CursorVisible    bool
	AltScreen        bool // the program uses the whole screen; what was there before is kept
	Mouse            bool // the mouse is reported to the program

	// What follows is always zero with tmux, which does not tell.
	BracketedPaste  bool   // pasted text is marked
	Focus           bool   // changes of the focus are reported
	Keyboard        []int  // flags that were pushed on the stack of keyboard modes of this screen
	ModifyOtherKeys int    // another keyboard mode
	Title           string // of the window
	Bells           int    // how often the bell was rung

	rows []uv.Line
}

// Lines returns the text of each row, without blanks at its end.
func (s Screen) Lines() (lines []string) {
	for _, row := range s.rows {
		var line strings.Builder
		for _, c := range row {
			line.WriteString(c.Content)
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return lines
}

// Text returns the lines without empty ones at the end.
func (s Screen) Text() string { return strings.TrimRight(strings.Join(s.Lines(), "\n"), "\n") }

// Contains reports whether a line has the text.
func (s Screen) Contains(text string) bool {
	return slices.ContainsFunc(s.Lines(), func(line string) bool { return strings.Contains(line, text) })
}

// Line returns the first line that has the text; "" if there is none.
func (s Screen) Line(text string) string {
	lines := s.Lines()
	if i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, text) }); i >= 0 {
		return lines[i]
	}
	return ""
}

// Styled is like Text, and shows attributes and colours: ‹bold red on black|text›.
func (s Screen) Styled() string {
	var lines []string
	for _, row := range s.rows {
		var line strings.Builder
		for _, span := range spans(row) {
			if span.style == "" {
				line.WriteString(span.text)
			} else {
				line.WriteString("‹" + span.style + "|" + span.text + "›")
			}
		}
		lines = append(lines, line.String())
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// Golden compares the screen with testdata/NAME.golden: the styled lines, and a line about the
// cursor.
func (s Screen) Golden(t testing.TB, name string) {
	t.Helper()
	cursor := "hidden"
	if s.CursorVisible {
		cursor = fmt.Sprintf("%d,%d", s.CursorX, s.CursorY)
	}
	testkit.Golden(t, name+".golden", fmt.Sprintf("%s\n-- %dx%d, cursor %s\n", s.Styled(), s.Columns, s.Rows, cursor))
}

// String frames the lines, for messages of tests.
func (s Screen) String() string {
	edge := "+" + strings.Repeat("-", s.Columns) + "+\n"
	var b strings.Builder
	b.WriteString(edge)
	for _, line := range s.Lines() {
		b.WriteString("|" + line + "\n")
	}
	fmt.Fprintf(&b, "%scursor %d,%d visible=%t, alt screen %t, mouse %t, paste %t, keyboard %v",
		edge, s.CursorX, s.CursorY, s.CursorVisible, s.AltScreen, s.Mouse, s.BracketedPaste, s.Keyboard)
	return b.String()
}

// A span is a part of a row in one style.
type span struct{ style, text string }

func spans(row uv.Line) (list []span) {
	for _, c := range row {
		style := styleName(&c.Style)
		if c.Width == 0 {
			continue // the second half of a wide character
		}
		if n := len(list); n > 0 && list[n-1].style == style {
			list[n-1].text += c.Content
		} else {
			list = append(list, span{style, c.Content})
		}
	}
	if n := len(list); n > 0 && list[n-1].style == "" {
		list[n-1].text = strings.TrimRight(list[n-1].text, " ")
	}
	return list
}

// attributes are those of a style, by their bits.
var attributes = []struct {
	bit  uint8
	name string
}{
	{uv.AttrBold, "bold"}, {uv.AttrFaint, "faint"}, {uv.AttrItalic, "italic"}, {uv.AttrBlink, "blink"},
	{uv.AttrReverse, "reverse"}, {uv.AttrConceal, "conceal"}, {uv.AttrStrikethrough, "strike"},
}

func styleName(s *uv.Style) string {
	var words []string
	for _, a := range attributes {
		if s.Attrs&a.bit != 0 {
			words = append(words, a.name)
		}
	}
	if s.Underline != ansi.UnderlineNone {
		words = append(words, "underline")
	}
	if s.Fg != nil {
		words = append(words, colourName(s.Fg))
	}
	if s.Bg != nil {
		words = append(words, "on "+colourName(s.Bg))
	}
	return strings.Join(words, " ")
}

var colours = strings.Fields("black red green yellow blue magenta cyan white")

func colourName(c color.Color) string {
	switch c := c.(type) {
	case ansi.BasicColor:
		if int(c) >= len(colours) {
			return "bright-" + colours[int(c)%len(colours)]
		}
		return colours[c]
	case ansi.IndexedColor:
		return fmt.Sprintf("colour-%d", c)
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

// Environ returns the environment of this process, without what describes the terminal of the person
// who runs the tests, and with what describes the one of the test. More variables can be given.
func Environ(more ...string) []string {
	described := strings.Fields("TERM TERM_PROGRAM TERM_PROGRAM_VERSION COLORTERM NO_COLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR ACCESSIBLE " +
		"SSH_TTY TMUX TMUX_PANE STY COLUMNS LINES LANG LC_ALL LC_CTYPE WT_SESSION")
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(described, name)
	})
	return append(append(env, "TERM=xterm-256color", "LANG=C.UTF-8"), more...)
}
