package tui

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A program is everything that is on the screen. It is one tea.Model.
type program struct {
	ctx           context.Context
	opts          Options
	palette       paint.Palette
	width, height int // 0 until the terminal told
	stack         []screen
	chat          *chat // the conversation that is open; nil if there is none
	notice        notice
	busy          int // commands that are under way and have a result
	frame         int // of the spinner
	ticking       bool
	mouse         bool
	leaving       bool // Ctrl-C was pressed, and another one leaves the program
	lastKey       time.Time
	// after returns a command that waits and then says msg. It is a field, so that tests own the time.
	after func(wait time.Duration, msg tea.Msg) tea.Cmd
}

// A notice is a sentence in the status line, until the next key.
type notice struct {
	text  string
	style paint.Style
}

func newProgram(ctx context.Context, o Options) *program {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Redact == nil {
		o.Redact = func(text string) string { return text }
	}
	p := &program{ctx: ctx, opts: o, palette: o.Palette}
	p.after = func(wait time.Duration, msg tea.Msg) tea.Cmd {
		return tea.Tick(wait, func(time.Time) tea.Msg { return msg })
	}
	p.stack = []screen{p.entry()}
	return p
}

// entry is the first screen.
func (p *program) entry() screen {
	switch p.opts.Entry {
	case EntryHistory:
		return newHistory(p)
	case EntryChat:
		p.chat = newChat(p, p.opts.Expert)
		return p.chat
	}
	return newExperts(p)
}

// Init begins with the first screen.
func (p *program) Init() tea.Cmd {
	cmd := p.openTop()
	if p.chat != nil {
		cmd = tea.Batch(cmd, p.chat.start(p.opts.Job, p.opts.Query))
	}
	return tea.Batch(cmd, p.tick())
}

// Update takes in a message. It does no input or output.
func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := p.take(msg)
	return p, tea.Batch(cmd, p.tick())
}

func (p *program) take(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.width, p.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		cmd := p.press(key{msg.Keystroke(), msg.Text})
		p.lastKey = p.opts.Clock()
		return cmd
	case tea.PasteMsg:
		p.notice, p.leaving, p.lastKey = notice{}, false, p.opts.Clock()
		if s, ok := p.top().(paster); ok && !p.isTooSmall() {
			return s.paste(msg.Content)
		}
	case tea.MouseWheelMsg:
		return p.wheel(msg.Mouse().Button)
	case tickMsg:
		p.ticking = false
		p.frame++
	case found:
		p.busy--
		return msg()
	case batch:
		return p.chat.take(msg)
	case choice:
		msg.box.c.settle(msg)
	case lookMsg:
		return msg.c.look()
	case looked:
		return msg.c.takeLook(msg.job)
	case mistake:
		panic(string(msg))
	}
	return nil
}

// press takes in a key.
func (p *program) press(k key) tea.Cmd {
	p.notice = notice{}
	again := k.name == "ctrl+c" && p.leaving
	p.leaving = false
	if again {
		return tea.Quit
	}
	if !p.isTooSmall() {
		if cmd, taken := p.top().key(k); taken {
			return cmd
		}
	} else if k.name != "ctrl+c" && k.name != "ctrl+z" {
		return nil
	}
	cmd, _ := p.act(k.name)
	return cmd
}

// sinceKey is how long ago the key before this one was pressed.
func (p *program) sinceKey() time.Duration { return p.opts.Clock().Sub(p.lastKey) }

// isAlone reports whether the key that is pressed came alone, as keys must that cannot be undone. It tells
// the user to press the key again if not: it can belong to a word, or be one that repeats itself.
func (p *program) isAlone(k key) bool {
	if p.sinceKey() >= keyPause {
		return true
	}
	p.say("that was too soon after another key: press %s again", keyLabel(k.name))
	return false
}

// wheel scrolls by the mouse.
func (p *program) wheel(b tea.MouseButton) tea.Cmd {
	name := map[tea.MouseButton]string{tea.MouseWheelUp: "up", tea.MouseWheelDown: "down"}[b]
	if name == "" || p.isTooSmall() {
		return nil
	}
	for _, name := range []string{"shift+" + name, name} {
		if cmd, taken := p.top().key(key{name: name}); taken {
			return cmd
		}
	}
	return nil
}

// found is what a command found out, to be taken in by Update.
type found func() tea.Cmd

// work returns a command that does something that can take its time. What it returns is called within
// Update.
func (p *program) work(task func(ctx context.Context) (then func() tea.Cmd)) tea.Cmd {
	p.busy++
	return caught(func() tea.Msg { return found(task(p.ctx)) })
}

// A mistake is a panic of a command, with its stack. Update repeats it: the library leaves the screen
// and prints what happened before the program ends. For a command the program would not wait.
type mistake string

// caught returns a command that reports its panic.
func caught(cmd tea.Cmd) tea.Cmd {
	return func() (msg tea.Msg) {
		defer func() {
			if r := recover(); r != nil {
				msg = mistake(fmt.Sprintf("%v\n\n%s", r, debug.Stack()))
			}
		}()
		return cmd()
	}
}

// A tickMsg says that the next frame of the spinner is due.
type tickMsg struct{}

// tickEvery is how long a frame of the spinner is shown.
const tickEvery = 100 * time.Millisecond

// tick keeps the spinner going while the user waits for something.
func (p *program) tick() tea.Cmd {
	if p.ticking || !p.isWaiting() {
		return nil
	}
	p.ticking = true
	return p.after(tickEvery, tickMsg{})
}

func (p *program) isWaiting() bool { return p.busy > 0 || p.chat != nil && p.chat.work != nil }

// spinner is the current frame.
func (p *program) spinner() string {
	frames := `|/-\`
	if p.palette.Unicode {
		frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	}
	runes := []rune(frames)
	return string(runes[p.frame%len(runes)])
}

// say shows a sentence in the status line.
func (p *program) say(format string, args ...any) {
	p.notice = notice{text: p.cleanLine(fmt.Sprintf(format, args...))}
}

// fail shows an error in the status line.
func (p *program) fail(err error) {
	p.notice = notice{text: p.palette.Mark("✗ ", "x ") + p.cleanLine(err.Error()), style: paint.Red}
}

// clean makes text safe to show: without what a terminal acts upon, and without secrets. Every text
// from outside passes it before it is laid out. It is cleaned first, since what is removed can
// stand inside a secret.
func (p *program) clean(text string) string { return p.opts.Redact(terminal.Clean(text)) }

// cleanLine is clean for text that stays on one line.
func (p *program) cleanLine(text string) string {
	return strings.Join(strings.Fields(p.clean(text)), " ")
}

func (p *program) toggleMouse() tea.Cmd {
	if p.mouse = !p.mouse; p.mouse {
		p.say("the mouse scrolls; Ctrl-G gives it back to the terminal")
	} else {
		p.say("the mouse belongs to the terminal")
	}
	return nil
}

// interrupt stops the job that runs, or clears the input. The next Ctrl-C leaves the program.
func (p *program) interrupt() tea.Cmd {
	p.leaving = true
	if p.chat != nil && p.chat.stop() {
		p.say("stopping; Ctrl-C again quits")
		return nil
	}
	if p.chat != nil && p.top() == screen(p.chat) {
		p.chat.clear()
	}
	p.say("Ctrl-C again quits")
	return nil
}

// maxCopy is how many bytes are given to the terminal's clipboard: many terminals drop more.
const maxCopy = 100_000

// copy gives text that the user selected to the clipboard of the terminal.
func (p *program) copy(text string) tea.Cmd {
	text = p.clean(text)
	if len(text) > maxCopy {
		p.fail(fmt.Errorf("this is %d bytes, and %d can be copied", len(text), maxCopy))
		return nil
	}
	p.say("sent to the terminal's clipboard")
	return tea.SetClipboard(text)
}

func (p *program) openJobID() string {
	if p.chat == nil {
		return ""
	}
	return p.chat.jobID
}

// await waits for the job that runs to be saved.
func (p *program) await(most time.Duration) {
	if p.chat != nil {
		p.chat.await(most)
	}
}
