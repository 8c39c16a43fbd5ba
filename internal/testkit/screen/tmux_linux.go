package screen

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"

	"github.com/perstack-go/perstack/internal/testkit"
)

// A Tmux is a program in tmux. The test is a client in control mode, which is told when the program
// has written something.
type Tmux struct {
	t       testing.TB
	in      io.WriteCloser
	replies chan reply
	written chan struct{} // has a value when something was written since the last look
}

// A reply is what a command of tmux printed.
type reply struct {
	lines  []string
	failed bool
}

// tmuxConf makes tmux show nothing of its own, and keep a program that has ended on the screen.
const tmuxConf = `set -g default-terminal screen-256color
set -g status off
set -g remain-on-exit on
set -sg escape-time 0
`

// StartTmux runs a program in tmux, in a terminal of this size. Its environment is [Environ] if cmd
// has none. tmux is ended with the test.
//
// A shell leads the session, as that of a user does, and stays: when the leader ends, the kernel throws away what
// was written and not read yet.
func StartTmux(t testing.TB, cmd *exec.Cmd, columns, rows int) *Tmux {
	t.Helper()
	return startTmux(t, cmd, columns, rows, "sh", "-c", `"$@"; exec sleep infinity`, "sh")
}

// StartTmuxLeader is [StartTmux] for a program that leads the session itself. What it writes last can be lost.
func StartTmuxLeader(t testing.TB, cmd *exec.Cmd, columns, rows int) *Tmux {
	t.Helper()
	return startTmux(t, cmd, columns, rows, "env") // tmux would give a single argument to a shell
}

// startTmux runs a program in tmux, by another one that starts it.
func startTmux(t testing.TB, cmd *exec.Cmd, columns, rows int, by ...string) *Tmux {
	t.Helper()
	testkit.Need(t, "tmux")
	if cmd.Err != nil {
		t.Fatal(cmd.Err)
	}
	dir, err := os.MkdirTemp("", "tmux") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "tmux.conf")
	if err := os.WriteFile(conf, []byte(tmuxConf), 0o600); err != nil {
		t.Fatal(err)
	}
	env := cmd.Env
	if env == nil {
		env = Environ()
	}
	tmux := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(context.WithoutCancel(t.Context()), "tmux", append([]string{"-u", "-S", filepath.Join(dir, "socket"), "-f", conf}, args...)...)
		c.Env, c.Dir = env, cmd.Dir
		return c
	}
	t.Cleanup(func() {
		_ = tmux("kill-server").Run()
		_ = os.RemoveAll(dir)
	})
	args := append([]string{"new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), "--"}, by...)
	args = append(append(args, cmd.Path), cmd.Args[1:]...)
	if out, err := tmux(args...).CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	control := tmux("-C", "attach")
	x := &Tmux{t: t, replies: make(chan reply), written: make(chan struct{}, 1)}
	if x.in, err = control.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := control.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := control.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		x.read(out)
		close(over)
	}()
	t.Cleanup(func() {
		x.in.Close() // it detaches
		for done := false; !done; {
			select {
			case <-x.replies:
			case <-over:
				done = true
			}
		}
		_ = control.Wait()
	})
	x.reply()               // to attach
	x.Resize(columns, rows) // fixes it; set in the file, window-size makes tmux 3.3a crash
	return x
}

// read takes apart what tmux tells a client in control mode.
func (x *Tmux) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		begin, isReply := strings.CutPrefix(lines.Text(), "%begin ")
		if !isReply {
			select {
			case x.written <- struct{}{}:
			default:
			}
			continue
		}
		var r reply
		for lines.Scan() {
			line := lines.Text()
			if r.failed = line == "%error "+begin; r.failed || line == "%end "+begin {
				break
			}
			r.lines = append(r.lines, line)
		}
		x.replies <- r
	}
}

func (x *Tmux) reply() []string {
	x.t.Helper()
	select {
	case r := <-x.replies:
		if r.failed {
			x.t.Fatalf("tmux: %s", strings.Join(r.lines, "\n"))
		}
		return r.lines
	case <-time.After(patience):
		x.t.Fatalf("tmux does not answer within %v", patience)
		return nil
	}
}

// command runs a command of tmux.
func (x *Tmux) command(format string, args ...any) []string {
	x.t.Helper()
	if _, err := fmt.Fprintf(x.in, format+"\n", args...); err != nil {
		x.t.Fatalf("tmux: %v", err)
	}
	return x.reply()
}

// Send types keys.
func (x *Tmux) Send(keys string) {
	x.t.Helper()
	hex, other := "", ""
	flush := func() {
		if hex != "" {
			x.command("send-keys -H%s", hex)
		}
		if other != "" {
			x.command("send-keys -l -- '%s'", other)
		}
		hex, other = "", ""
	}
	for _, r := range keys {
		if ascii := r < 0x80; ascii && other != "" || !ascii && hex != "" {
			flush()
		}
		if r < 0x80 {
			hex += fmt.Sprintf(" %02x", r)
		} else {
			other += string(r)
		}
	}
	flush()
}

// Paste inserts text, between marks if the program asked for them.
func (x *Tmux) Paste(text string) {
	x.t.Helper()
	path := filepath.Join(x.t.TempDir(), "paste")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		x.t.Fatal(err)
	}
	x.command("load-buffer '%s'", path)
	x.command("paste-buffer -p -d")
}

// Resize changes the size of the terminal.
func (x *Tmux) Resize(columns, rows int) {
	x.t.Helper()
	x.command("resize-window -x %d -y %d", columns, rows)
}

// Screen returns what is on the screen now.
func (x *Tmux) Screen() (s Screen) {
	x.t.Helper()
	// In one line, so that tmux does not read output of the program in between.
	about := strings.Join(x.command("display-message -p '#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{cursor_flag} #{alternate_on} #{mouse_any_flag}' ; "+
		"capture-pane -p -e -N"), "")
	lines := x.reply()
	var visible, alt, mouse int
	if _, err := fmt.Sscan(about, &s.Columns, &s.Rows, &s.CursorX, &s.CursorY, &visible, &alt, &mouse); err != nil {
		x.t.Fatalf("tmux: %q: %v", about, err)
	}
	s.CursorVisible, s.AltScreen, s.Mouse = visible == 1, alt == 1, mouse == 1
	e := vt.NewEmulator(s.Columns, s.Rows)
	_, _ = e.WriteString(strings.Join(lines[:min(len(lines), s.Rows)], "\r\n"))
	s.rows = rowsOf(e)
	return s
}

// TTY returns the path of the terminal of the program.
func (x *Tmux) TTY() string {
	x.t.Helper()
	return strings.Join(x.command("display-message -p '#{pane_tty}'"), "")
}

// lookAgain is how often a wait looks at the screen. tmux does not tell of the last output of a program
// that has ended.
const lookAgain = 100 * time.Millisecond

// WaitFor waits for a screen on which the condition holds.
func (x *Tmux) WaitFor(what string, holds func(Screen) bool) Screen {
	x.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		s := x.Screen()
		if holds(s) {
			return s
		}
		select {
		case <-x.written:
		case <-time.After(lookAgain):
		case <-late.C:
			x.t.Fatalf("not within %v: %s\n%v", patience, what, s)
		}
	}
}

// WaitForText waits for a screen that has the text, within one line.
func (x *Tmux) WaitForText(text string) Screen {
	x.t.Helper()
	return x.WaitFor(fmt.Sprintf("%q on the screen", text), func(s Screen) bool { return s.Contains(text) })
}

// WaitForGone waits for a screen without the text.
func (x *Tmux) WaitForGone(text string) Screen {
	x.t.Helper()
	return x.WaitFor(fmt.Sprintf("%q gone from the screen", text), func(s Screen) bool { return !s.Contains(text) })
}
