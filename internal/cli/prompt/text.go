package prompt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/tui/edit"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// Text is a question that is answered with a text of one or several lines.
type Text struct {
	Title   string   // one line; it can have words of a file
	About   []string // lines that are shown below it, with what a terminal can show only
	Fresh   bool     // what was typed before the question is dropped
	History []string // what the user can return to with Up, the oldest first
	Color   bool
	// Plain leaves editing to the terminal, which then needs no cursor that can be moved.
	Plain bool
}

// ErrLeft says that the user left without an answer: with Ctrl-C, or with Ctrl-D where nothing was
// typed.
var ErrLeft = errors.New("the user did not answer")

// ErrNoTerminal says that there is no terminal that can be read now.
var ErrNoTerminal = errors.New("no terminal can be read")

// Read asks for a text below what is on the terminal. Nothing else may write to the terminal meanwhile.
func Read(ctx context.Context, in *os.File, out io.Writer, question Text) (string, error) {
	return question.read(ctx, newConsole(in, out))
}

func (q *Text) read(ctx context.Context, c console) (string, error) {
	undo, err := c.raw()
	if err != nil {
		return "", errors.Join(ErrNoTerminal, err)
	}
	if q.Fresh {
		err = settle(ctx, c)
	}
	if err == nil {
		_, err = io.WriteString(c, q.head(c))
	}
	if err != nil || q.Plain {
		undo()
	}
	switch {
	case err != nil:
		return "", err
	case q.Plain:
		return readLines(ctx, c)
	}
	defer undo()
	t := &textInput{console: c, palette: paint.Palette{Color: q.Color}, hint: hint}
	if len(q.History) > 0 {
		t.hint = hintEarlier
	}
	t.editor.SetHistory(q.History)
	return t.read(ctx)
}

// settle drops what was typed, until there was nothing for a while.
func settle(ctx context.Context, c console) error {
	for {
		chunk, err := c.read(ctx, quiet)
		if err != nil || len(chunk) == 0 {
			return err
		}
		if bytes.IndexByte(chunk, interrupt) >= 0 {
			return ErrLeft
		}
	}
}

// head returns what is shown above the text.
func (q *Text) head(c console) string {
	space, _ := c.size()
	if space <= 0 {
		space = 80
	}
	space = max(space-1, minColumns)
	var b strings.Builder
	if len(q.About) > 0 {
		b.WriteString("\r\n") // apart from what was printed before
	}
	for _, line := range columns.Break(terminal.RevealLine(q.Title), space) {
		if q.Color {
			line = "\x1b[1m" + line + "\x1b[0m"
		}
		b.WriteString(line + "\r\n")
	}
	for _, text := range q.About {
		for _, line := range columns.Break(text, space-len(bar)) {
			b.WriteString(bar + line + "\r\n")
		}
	}
	return b.String()
}

// bar is left of text that is not ours, so that it cannot imitate what is.
const bar = "  | "

// readLines reads a line, and more after a backslash. The terminal is in its usual mode, so it sends
// whole lines, and Ctrl-C is a signal.
func readLines(ctx context.Context, c console) (string, error) {
	var text strings.Builder
	for {
		if _, err := io.WriteString(c, mark); err != nil {
			return "", err
		}
		line, err := readLine(ctx, c)
		if err != nil {
			return "", err
		}
		more := strings.HasSuffix(line, `\`)
		if text.WriteString(strings.TrimSuffix(line, `\`)); !more && strings.TrimSpace(text.String()) != "" {
			return terminal.Clean(text.String()), nil
		}
		text.WriteByte('\n')
		if text.Len() > edit.Limit {
			return "", &edit.TooLarge{Size: int64(text.Len())}
		}
	}
}

func readLine(ctx context.Context, c console) (string, error) {
	var line strings.Builder
	for {
		chunk, err := c.read(ctx, 0)
		if errors.Is(err, io.EOF) && line.Len() == 0 {
			return "", ErrLeft
		}
		if err != nil {
			return "", err
		}
		line.Write(chunk)
		if text, ok := strings.CutSuffix(line.String(), "\n"); ok {
			return text, nil
		}
	}
}

// The keys that a person would not guess.
const (
	hint        = "Enter: send   Ctrl-J: new line   Ctrl-C: leave"
	hintEarlier = "Enter: send   Ctrl-J: new line   Up: earlier   Ctrl-C: leave"
)

const (
	// maxInputRows is how many rows of a text are shown; the others scroll.
	maxInputRows = 10
	// watch is how often a wait for keys looks at the size of the terminal.
	watch = 200 * time.Millisecond

	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// A textInput is an editor on the terminal. It is drawn again after every key, in the rows that it has.
type textInput struct {
	console console
	palette paint.Palette
	decoder decoder
	editor  edit.Editor
	hint    string // below the text
	note    string // in the place of the hint

	columns, rows int   // of the terminal
	above         []int // the columns of each row that is drawn above the cursor
	x             int   // where the cursor is in its row
	failed        error // of writing
}

func (t *textInput) read(ctx context.Context) (string, error) {
	t.write(pasteOn)
	defer t.write(pasteOff)
	t.draw(true)
	for t.failed == nil {
		wait := watch
		if t.decoder.inside() {
			wait = together
		}
		chunk, err := t.console.read(ctx, wait)
		if err != nil {
			t.leave()
			if errors.Is(err, io.EOF) {
				err = ErrLeft
			}
			return "", err
		}
		presses := t.decoder.read(chunk)
		if len(chunk) == 0 {
			presses = t.decoder.idle()
		}
		for _, p := range presses {
			sent, left := t.press(p)
			switch {
			case left:
				t.leave()
				return "", ErrLeft
			case sent:
				t.leave()
				return t.editor.Take().Text, t.failed
			}
		}
		if columns, rows := t.size(); len(presses) > 0 || columns != t.columns || rows != t.rows {
			t.draw(true)
		}
	}
	return "", t.failed
}

// press takes a key. It reports whether the text is sent, and whether the user leaves.
func (t *textInput) press(p press) (sent, left bool) {
	t.note = ""
	var err error
	switch {
	case p.pasted > edit.Limit:
		err = &edit.TooLarge{Size: p.pasted}
	case p.pasted > 0:
		err = t.editor.Paste(p.text)
	case p.key == "":
		err = t.editor.Insert(p.text)
	case t.editor.Searching():
		t.editor.Key(p.key)
	case p.key == "ctrl+c", p.key == "ctrl+d" && t.editor.IsEmpty():
		return false, true
	case p.key == "enter" && strings.HasSuffix(t.editor.BeforeCursor(), `\`):
		t.editor.Backspace()
		err = t.editor.Newline()
	case p.key == "enter":
		return !t.editor.IsEmpty(), false
	default:
		t.editor.Key(p.key)
	}
	if err != nil {
		t.note = err.Error()
	}
	return false, false
}

func (t *textInput) size() (columns, rows int) {
	columns, rows = t.console.size()
	if columns <= 0 || rows <= 0 {
		return 80, 24
	}
	return columns, rows
}

// leave draws the text without the hint, and moves below it.
func (t *textInput) leave() {
	if !t.editor.Searching() {
		t.editor.Finish()
	}
	t.draw(false)
	t.write("\r\n")
}

// draw draws the text in the place of what was drawn before.
func (t *textInput) draw(hinted bool) {
	var b strings.Builder
	columns, rows := t.size()
	if up := t.rowsAbove(columns); up > 0 {
		b.WriteString(move(up, 'A'))
	}
	t.columns, t.rows = columns, rows
	height := min(max(rows-3, 1), maxInputRows)
	view := t.editor.Render(max(columns-len(mark), minSpace), height)
	b.WriteString("\r\x1b[J")
	t.above = nil
	for i, line := range view.Lines {
		prefix := strings.Repeat(" ", len(mark))
		if i == 0 && view.Above == 0 {
			prefix = mark
		}
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(prefix + t.palette.Draw(line))
		if i < view.Y {
			t.above = append(t.above, len(mark)+paint.Width(line))
		}
	}
	below := len(view.Lines) - 1 - view.Y
	if hinted {
		note := paint.Text(t.hint, paint.Quiet)
		if t.note != "" {
			note = paint.Text(t.note, paint.Red)
		}
		b.WriteString("\r\n" + t.palette.Draw(paint.Cut(note, max(columns-1, minSpace))))
		below++
	}
	if below > 0 {
		b.WriteString(move(below, 'A'))
	}
	t.x = len(mark) + view.X
	b.WriteString("\r" + move(t.x, 'C'))
	t.write(b.String())
}

// minSpace is enough for any character.
const minSpace = 2

// rowsAbove is how many rows are between the first one and the cursor. On a terminal that became
// narrower, rows were broken.
func (t *textInput) rowsAbove(columns int) (n int) {
	for _, width := range t.above {
		n += 1 + max(width-1, 0)/columns
	}
	return n + t.x/columns
}

// move returns the sequence that moves the cursor n times.
func move(n int, direction byte) string {
	return "\x1b[" + strconv.Itoa(n) + string(direction)
}

func (t *textInput) write(text string) {
	if _, err := io.WriteString(t.console, text); t.failed == nil {
		t.failed = err
	}
}
