package screen

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/testkit"
)

// endMark is written to the terminal after the program has ended, to know that everything before it
// was read. No program writes it.
const endMark = "\x1b_end of the program\x1b\\"

var (
	_ Driver = (*Terminal)(nil)
	_ Driver = (*Tmux)(nil)
)

// A Terminal is a program in a pseudo terminal whose screen is drawn by an emulator.
type Terminal struct {
	t        testing.TB
	master   *os.File // what a terminal emulator has
	tty      *os.File // the terminal itself
	commands *os.File // to the leader
	leader   *exec.Cmd
	before   unix.Termios

	input chan []byte // what is typed, and what the emulator replies; without limit

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each change
	emulator *vt.Emulator
	modes    map[ansi.Mode]bool
	keyboard map[bool][]int // by whether it is the stack of the alt screen
	other    int            // modifyOtherKeys
	title    string
	bells    int
	shown    Screen // while the program draws a frame, the one before
	output   []byte
	states   []state
	drained  bool // all output of a program that has ended is on the screen
}

// Start runs a program in a terminal of this size. Its environment is [Environ] if cmd has none. The
// program is killed at the end of the test.
func Start(t testing.TB, cmd *exec.Cmd, columns, rows int) *Terminal {
	t.Helper()
	select {
	case <-initCalled:
	default:
		t.Fatal("TestMain must call screen.Init first")
	}
	if cmd.Err != nil {
		t.Fatal(cmd.Err)
	}
	term := &Terminal{
		t: t, input: make(chan []byte), changed: make(chan struct{}), emulator: vt.NewEmulator(columns, rows),
		modes: map[ansi.Mode]bool{ansi.ModeAutoWrap: true, ansi.ModeTextCursorEnable: true}, keyboard: map[bool][]int{},
	}
	term.watch()
	if err := term.start(cmd, columns, rows); err != nil {
		t.Fatal(err)
	}
	return term
}

func (term *Terminal) start(cmd *exec.Cmd, columns, rows int) (err error) {
	if term.master, term.tty, err = testkit.OpenTerminal(); err != nil {
		return fmt.Errorf("open a pseudo terminal: %w", err)
	}
	if err := term.setSize(columns, rows); err != nil {
		return err
	}
	if term.before, err = term.Termios(); err != nil {
		return err
	}
	reports, report, err := os.Pipe()
	if err != nil {
		return err
	}
	defer report.Close()
	command, commands, err := os.Pipe()
	if err != nil {
		return err
	}
	defer command.Close()
	term.commands = commands
	env := cmd.Env
	if env == nil {
		env = Environ()
	}
	term.leader = &exec.Cmd{
		Path: "/proc/self/exe", Args: append([]string{leaderName, cmd.Path}, cmd.Args...), Env: env, Dir: cmd.Dir,
		Stdin: term.tty, Stdout: term.tty, Stderr: term.tty, ExtraFiles: []*os.File{report, command},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: true},
	}
	if err := term.leader.Start(); err != nil {
		return err
	}
	term.shown = term.snapshot()
	var done sync.WaitGroup
	done.Go(term.read)
	done.Go(func() { term.follow(reports) })
	done.Go(func() { term.reply() })
	typed := make(chan struct{})
	go func() {
		term.write()
		close(typed)
	}()
	term.t.Cleanup(func() {
		if p := term.Pid(); p > 0 && !term.ended() {
			_ = unix.Kill(-p, syscall.SIGKILL)
		}
		commands.Close()
		_ = term.leader.Wait()
		term.tty.Close()
		_ = term.master.Close()
		if replies, ok := term.emulator.InputPipe().(io.Closer); ok { // Close of the emulator races with Read
			_ = replies.Close()
		}
		done.Wait()
		reports.Close()
		close(term.input)
		<-typed
	})
	return nil
}

// watch keeps account of what the emulator does not: keyboard modes, and modes that it does not tell.
func (term *Terminal) watch() {
	term.emulator.SetCallbacks(vt.Callbacks{
		EnableMode:  func(m ansi.Mode) { term.modes[m] = true },
		DisableMode: func(m ansi.Mode) { term.modes[m] = false },
		Title:       func(title string) { term.title = title },
		Bell:        func() { term.bells++ },
	})
	param := func(p ansi.Params, i, missing int) int { n, _, _ := p.Param(i, missing); return n }
	csi := term.emulator.RegisterCsiHandler
	// Frames that are marked are shown as a whole, as in most terminals of today.
	csi(ansi.Command('?', '$', 'p'), func(p ansi.Params) bool {
		if param(p, 0, 0) != int(ansi.ModeSynchronizedOutput) {
			return false
		}
		setting := ansi.ModeReset
		if term.modes[ansi.ModeSynchronizedOutput] {
			setting = ansi.ModeSet
		}
		return term.answer(ansi.ReportMode(ansi.ModeSynchronizedOutput, setting))
	})
	// The keyboard protocol of kitty: each screen has a stack.
	stack := func() []int { return term.keyboard[term.emulator.IsAltScreen()] }
	set := func(s []int) { term.keyboard[term.emulator.IsAltScreen()] = s }
	csi(ansi.Command('?', 0, 'u'), func(ansi.Params) bool {
		flags := 0
		if s := stack(); len(s) > 0 {
			flags = s[len(s)-1]
		}
		return term.answer(fmt.Sprintf("\x1b[?%du", flags))
	})
	csi(ansi.Command('>', 0, 'u'), func(p ansi.Params) bool { set(append(stack(), param(p, 0, 0))); return true })
	csi(ansi.Command('<', 0, 'u'), func(p ansi.Params) bool {
		s := stack()
		set(s[:max(0, len(s)-param(p, 0, 1))])
		return true
	})
	csi(ansi.Command('=', 0, 'u'), func(p ansi.Params) bool {
		if s := stack(); len(s) > 0 {
			s[len(s)-1] = param(p, 0, 0)
		}
		return true
	})
	csi(ansi.Command('>', 0, 'm'), func(p ansi.Params) bool {
		if param(p, 0, 0) == 4 {
			term.other = param(p, 1, 0)
		}
		return true
	})
	csi(ansi.Command('>', 0, 'q'), func(ansi.Params) bool { return term.answer("\x1bP>|screen 1\x1b\\") })
}

func (term *Terminal) answer(text string) bool {
	_, err := io.WriteString(term.emulator.InputPipe(), text)
	return err == nil
}

// read draws what the program writes.
func (term *Terminal) read() {
	chunk := make([]byte, 32<<10)
	for {
		n, err := term.master.Read(chunk)
		term.draw(chunk[:n])
		if err != nil {
			return // the terminal is closed
		}
	}
}

func (term *Terminal) draw(chunk []byte) {
	term.mu.Lock()
	defer term.mu.Unlock()
	drawn := len(term.output)
	term.output = append(term.output, chunk...)
	from := max(0, drawn-len(endMark))
	if i := bytes.Index(term.output[from:], []byte(endMark)); i >= 0 {
		// What follows was written by a process that outlived the program.
		before, after := term.output[:from+i], slices.Clone(term.output[from+i+len(endMark):])
		chunk = append(slices.Clone(before[min(drawn, from+i):]), "\x1b\\"...)
		chunk = append(chunk, after...)
		term.output, term.drained = slices.Concat(before, after), true
	}
	_, _ = term.emulator.Write(chunk)
	if !term.modes[ansi.ModeSynchronizedOutput] || term.drained {
		term.shown = term.snapshot()
	}
	term.change()
}

// change wakes those who wait. The caller holds the lock.
func (term *Terminal) change() {
	close(term.changed)
	term.changed = make(chan struct{})
}

func (term *Terminal) snapshot() Screen {
	e := term.emulator
	at := e.CursorPosition()
	s := Screen{
		Columns: e.Width(), Rows: e.Height(), CursorX: at.X, CursorY: at.Y, CursorVisible: term.modes[ansi.ModeTextCursorEnable],
		AltScreen: e.IsAltScreen(), BracketedPaste: term.modes[ansi.ModeBracketedPaste], Focus: term.modes[ansi.ModeFocusEvent],
		Keyboard: slices.Clone(term.keyboard[e.IsAltScreen()]), ModifyOtherKeys: term.other, Title: term.title, Bells: term.bells,
	}
	for _, m := range []ansi.Mode{ansi.ModeMouseX10, ansi.ModeMouseNormal, ansi.ModeMouseHighlight, ansi.ModeMouseButtonEvent, ansi.ModeMouseAnyEvent} {
		s.Mouse = s.Mouse || term.modes[m]
	}
	s.rows = rowsOf(e)
	return s
}

func rowsOf(e *vt.Emulator) (rows []uv.Line) {
	for y := range e.Height() {
		row := make(uv.Line, 0, e.Width())
		for x := range e.Width() {
			if c := e.CellAt(x, y); c != nil {
				row = append(row, *c)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// follow keeps what the leader reports.
func (term *Terminal) follow(reports io.Reader) {
	for lines := bufio.NewScanner(reports); lines.Scan(); {
		var s state
		var status uint32
		if _, err := fmt.Sscan(lines.Text(), &s.pid, &status); err != nil {
			continue
		}
		s.status = syscall.WaitStatus(status)
		term.mu.Lock()
		term.states = append(term.states, s)
		term.change()
		term.mu.Unlock()
		if s.status.Exited() || s.status.Signaled() {
			// An error means that the terminal was hung up: there is nothing more to read.
			if _, err := term.tty.WriteString(endMark); err != nil {
				term.mu.Lock()
				term.drained = true
				term.change()
				term.mu.Unlock()
			}
		}
	}
}

// reply passes on what the emulator answers to questions of the program.
func (term *Terminal) reply() {
	for {
		chunk := make([]byte, 4096)
		n, err := term.emulator.Read(chunk)
		if err != nil {
			return
		}
		term.input <- chunk[:n]
	}
}

// write types. The queue has no limit: a program that does not read must not keep the test from
// reading what it writes.
func (term *Terminal) write() {
	wrote := make(chan struct{}, 1)
	wrote <- struct{}{}
	var queue []byte
	for {
		free := wrote
		if len(queue) == 0 {
			free = nil
		}
		select {
		case more, open := <-term.input:
			if !open {
				return
			}
			queue = append(queue, more...)
		case <-free:
			chunk := queue
			queue = nil
			go func() {
				_, _ = term.master.Write(chunk)
				wrote <- struct{}{}
			}()
		}
	}
}

// Send types keys.
func (term *Terminal) Send(keys string) { term.input <- []byte(keys) }

// Paste inserts text, between marks if the program asked for them.
func (term *Terminal) Paste(text string) {
	text = strings.ReplaceAll(text, "\n", "\r") // as terminals do
	if term.Screen().BracketedPaste {
		text = ansi.BracketedPasteStart + text + ansi.BracketedPasteEnd
	}
	term.Send(text)
}

// Resize changes the size of the terminal.
func (term *Terminal) Resize(columns, rows int) {
	term.t.Helper()
	term.mu.Lock()
	term.emulator.Resize(columns, rows)
	term.shown = term.snapshot()
	term.change()
	term.mu.Unlock()
	if err := term.setSize(columns, rows); err != nil {
		term.t.Fatal(err)
	}
}

func (term *Terminal) setSize(columns, rows int) error {
	return control(term.master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)})
	})
}

// Termios returns the settings of the terminal.
func (term *Terminal) Termios() (mode unix.Termios, err error) {
	err = control(term.tty, func(fd int) error {
		m, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			mode = *m
		}
		return err
	})
	return mode, err
}

// TTY returns the path of the terminal.
func (term *Terminal) TTY() string { return term.tty.Name() }

// SetTermios changes them, as a shell does between two programs.
func (term *Terminal) SetTermios(mode unix.Termios) error {
	return control(term.tty, func(fd int) error { return unix.IoctlSetTermios(fd, unix.TCSETS, &mode) })
}

// control calls a function with the descriptor of a file, which stays with the poller of Go.
func control(f *os.File, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = do(int(fd)) })
	return errors.Join(err, failed)
}

// Screen returns what is on the screen now.
func (term *Terminal) Screen() Screen {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.shown
}

// Output returns all that the program wrote.
func (term *Terminal) Output() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return string(term.output)
}

// Modes returns the private modes of the terminal that are set.
func (term *Terminal) Modes() (set []int) {
	term.mu.Lock()
	defer term.mu.Unlock()
	for _, m := range slices.Collect(maps.Keys(term.modes)) {
		if term.modes[m] {
			set = append(set, m.Mode())
		}
	}
	slices.Sort(set)
	return set
}

// await waits until the condition holds. It is called with the lock.
func (term *Terminal) await(what string, holds func() bool) {
	term.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		term.mu.Lock()
		over := term.drained
		held, changed := holds(), term.changed
		shown, states := term.shown, term.states
		term.mu.Unlock()
		switch {
		case held:
			return
		case over:
			term.t.Fatalf("the program ended (%s) before: %s\n%v", describe(states), what, shown)
		}
		select {
		case <-changed:
		case <-late.C:
			term.t.Fatalf("not within %v: %s; the program: %s\n%v", patience, what, describe(states), shown)
		}
	}
}

// WaitFor waits for a screen on which the condition holds.
func (term *Terminal) WaitFor(what string, holds func(Screen) bool) (s Screen) {
	term.t.Helper()
	term.await(what, func() bool { s = term.shown; return holds(s) })
	return s
}

// WaitForText waits for a screen that has the text, within one line.
func (term *Terminal) WaitForText(text string) Screen {
	term.t.Helper()
	return term.WaitFor(fmt.Sprintf("%q on the screen", text), func(s Screen) bool { return s.Contains(text) })
}

// WaitForGone waits for a screen without the text.
func (term *Terminal) WaitForGone(text string) Screen {
	term.t.Helper()
	return term.WaitFor(fmt.Sprintf("%q gone from the screen", text), func(s Screen) bool { return !s.Contains(text) })
}

// WaitForOutput waits until the program has written something, whether the screen shows it or not.
func (term *Terminal) WaitForOutput(text string) {
	term.t.Helper()
	term.await(fmt.Sprintf("%q in the output", text), func() bool { return strings.Contains(string(term.output), text) })
}

// last returns the latest state. The caller holds the lock.
func (term *Terminal) last() state {
	if len(term.states) == 0 {
		return state{}
	}
	return term.states[len(term.states)-1]
}

func (term *Terminal) ended() bool {
	term.mu.Lock()
	defer term.mu.Unlock()
	last := term.last()
	return last.pid > 0 && (last.status.Exited() || last.status.Signaled())
}

// Pid returns the process number of the program, and of its process group.
func (term *Terminal) Pid() (pid int) {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.last().pid
}

// WaitForStart waits until the program runs, and returns its process number.
func (term *Terminal) WaitForStart() (pid int) {
	term.t.Helper()
	term.await("the program runs", func() bool { pid = term.last().pid; return pid > 0 })
	return pid
}

// WaitForStop waits until the program is stopped, and returns the signal that stopped it. The terminal
// belongs to the leader then, as to a shell.
func (term *Terminal) WaitForStop() (stop syscall.Signal) {
	term.t.Helper()
	term.await("the program is stopped", func() bool {
		last := term.last()
		stop = last.status.StopSignal()
		return last.pid > 0 && last.status.Stopped()
	})
	return stop
}

// Continue lets a stopped program run again in the foreground, as fg does.
func (term *Terminal) Continue() {
	term.t.Helper()
	term.mu.Lock()
	term.states = append(term.states, state{pid: term.last().pid, status: continued})
	term.mu.Unlock()
	if _, err := term.commands.WriteString("fg\n"); err != nil {
		term.t.Fatal(err)
	}
}

// HangUp closes the terminal, as closing the window does. The screen is lost.
func (term *Terminal) HangUp() {
	term.t.Helper()
	if err := term.master.Close(); err != nil {
		term.t.Fatal(err)
	}
}

// Wait waits until the program has ended and all its output is on the screen. It returns the exit
// code, or 0 and the signal that ended the program.
func (term *Terminal) Wait() (code int, killed syscall.Signal) {
	term.t.Helper()
	term.await("the program ends", func() bool { return term.drained })
	term.mu.Lock()
	defer term.mu.Unlock()
	if last := term.last().status; last.Signaled() {
		return 0, last.Signal()
	}
	return term.last().status.ExitStatus(), 0
}

// WaitRestored waits like Wait, and fails the test if the program left the terminal in another state
// than it was given it.
func (term *Terminal) WaitRestored() (code int, killed syscall.Signal) {
	term.t.Helper()
	code, killed = term.Wait()
	term.CheckRestored()
	return code, killed
}

// CheckRestored fails the test if the terminal is in another state than at the start: its settings,
// the alt screen, cursor, mouse, paste and keyboard modes.
func (term *Terminal) CheckRestored() {
	term.t.Helper()
	mode, err := term.Termios()
	if err != nil {
		term.t.Errorf("settings of the terminal: %v", err)
	} else if mode != term.before {
		term.t.Errorf("the terminal has other settings: %+v, want %+v", mode, term.before)
	}
	s := term.Screen()
	if s.AltScreen || !s.CursorVisible || s.Mouse || s.BracketedPaste || s.Focus || s.ModifyOtherKeys != 0 {
		term.t.Errorf("the terminal is left in another state: focus %t, modifyOtherKeys %d\n%v", s.Focus, s.ModifyOtherKeys, s)
	}
	term.mu.Lock()
	stacks := maps.Clone(term.keyboard)
	term.mu.Unlock()
	if len(stacks[false])+len(stacks[true]) > 0 {
		term.t.Errorf("keyboard modes are left on the stacks: %v on the main screen, %v on the other", stacks[false], stacks[true])
	}
	if plain := []int{7, 25}; !slices.Equal(term.Modes(), plain) {
		term.t.Errorf("modes %v are set, want %v", term.Modes(), plain)
	}
}

func describe(states []state) string {
	if len(states) == 0 {
		return "not started"
	}
	switch s := states[len(states)-1].status; {
	case s.Stopped():
		return "stopped by " + unix.SignalName(s.StopSignal())
	case s.Signaled():
		return "killed by " + unix.SignalName(s.Signal())
	case s.Exited():
		return fmt.Sprintf("exit code %d", s.ExitStatus())
	}
	return "running"
}
