package screen

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/term"
)

// program names what this test program does in a terminal.
const program = "PERSTACK_TEST_PROGRAM"

func TestMain(m *testing.M) {
	Init()
	if os.Getenv(program) == "" {
		os.Exit(m.Run())
	}
	if err := show(os.Getenv(program)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// show writes a text, and then what is typed until q, each read in a line.
func show(text string) error {
	before, err := term.MakeRaw(0)
	if err != nil {
		return err
	}
	fmt.Print(text)
	chunk := make([]byte, 100)
	for typed := ""; !strings.HasSuffix(typed, "q"); {
		n, err := os.Stdin.Read(chunk)
		if err != nil {
			return err
		}
		typed = string(chunk[:n])
		width, height, err := term.GetSize(0)
		if err != nil {
			return err
		}
		fmt.Printf("%q at %dx%d\r\n", typed, width, height)
	}
	return term.Restore(0, before)
}

func showing(t *testing.T, text string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = Environ(program + "=" + text)
	return cmd
}

func drivers(t *testing.T, text string, columns, rows int, test func(*testing.T, Driver)) {
	t.Run("emulator", func(t *testing.T) { test(t, Start(t, showing(t, text), columns, rows)) })
	t.Run("tmux", func(t *testing.T) { test(t, StartTmux(t, showing(t, text), columns, rows)) })
}

// Both emulators show the same.
func TestDrivers(t *testing.T) {
	drivers(t, "\x1b[1;31mred\x1b[m and \x1b[7m 日本 \x1b[m\r\nplain \x1b[38;5;200mp\x1b[38;2;1;2;3;44mq\x1b[m\r\n", 30, 6, func(t *testing.T, d Driver) {
		s := d.WaitFor("two lines", func(s Screen) bool { return s.CursorY == 2 })
		if want := "red and  日本\nplain pq"; s.Text() != want {
			t.Errorf("%q, want %q", s.Text(), want)
		}
		s.Golden(t, "drivers")
		d.Send("é")
		if s := d.WaitForText(`"é" at 30x6`); s.AltScreen {
			t.Errorf("%v", s)
		}
		d.Send("'\x01")
		d.WaitForText(`"'\x01"`)
		d.Resize(40, 5)
		d.Send("x")
		d.WaitForText(`"x" at 40x5`)
		d.Send("\x1b[A\r")
		d.WaitForText(`"\x1b[A\r"`)
	})
	drivers(t, "\x1b[?1049h\x1b[?25l\x1b[?1003h\x1b[?2004hfull", 60, 6, func(t *testing.T, d Driver) {
		s := d.WaitForText("full")
		if !s.AltScreen || !s.Mouse || s.CursorVisible {
			t.Errorf("%v", s)
		}
		d.Paste("two\nlines")
		d.WaitForText(`"\x1b[200~two\rlines\x1b[201~"`)
	})
}

// The emulator answers the questions that programs ask.
func TestReplies(t *testing.T) {
	for question, want := range map[string]string{
		"\x1b[c":                     `"\x1b[?62;1;6;22c"`,
		"ab\x1b[6n":                  `"\x1b[1;3R"`,
		"\x1b]11;?\x07":              `"\x1b]11;rgb:0000/0000/0000\a"`,
		"\x1b[>1u\x1b[>5u\x1b[?u":    `"\x1b[?5u"`,
		"\x1b[>1u\x1b[<u\x1b[?u":     `"\x1b[?0u"`,
		"\x1b[?2026$p":               `"\x1b[?2026;2$y"`,
		"\x1b[?2004h\x1b[?2004$p":    `"\x1b[?2004;1$y"`,
		"\x1b[>q":                    `"\x1bP>|screen 1\x1b\\"`,
		"\x1b[>3u\x1b[=1u\x1b[?u":    `"\x1b[?1u"`,
		"\x1b[>5u\x1b[?1049h\x1b[?u": `"\x1b[?0u"`,
	} {
		t.Run(want, func(t *testing.T) { Start(t, showing(t, question), 60, 5).WaitForText(want) })
	}
}

// A frame is shown when it is complete.
func TestFrames(t *testing.T) {
	term := Start(t, showing(t, "old\x1b[?2026h\rnew"), 30, 5)
	term.WaitForOutput("new")
	if s := term.Screen(); s.Contains("new") {
		t.Errorf("half a frame:\n%v", s)
	}
}

// Ends, stops and hang-ups of a program are seen, and so is what it leaves behind.
func TestEnds(t *testing.T) {
	code := func(t *testing.T, term *Terminal, want int, signal syscall.Signal) {
		t.Helper()
		if code, killed := term.Wait(); code != want || killed != signal {
			t.Errorf("exit code %d, signal %v, want %d and %v", code, killed, want, signal)
		}
	}
	t.Run("exit", func(t *testing.T) {
		term := Start(t, exec.Command("sh", "-c", "echo text; exit 3"), 30, 5)
		code(t, term, 3, 0)
		term.CheckRestored()
		if got := term.Screen().Text(); got != "text" || term.Output() != "text\r\n" {
			t.Errorf("%q, %q", got, term.Output())
		}
	})
	t.Run("restored", func(t *testing.T) {
		term := Start(t, showing(t, "> "), 30, 5)
		term.WaitForText(">")
		term.Send("q")
		if code, _ := term.WaitRestored(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("signal", func(t *testing.T) {
		term := Start(t, exec.Command("sh", "-c", "kill -9 $$"), 30, 5)
		code(t, term, 0, syscall.SIGKILL)
	})
	t.Run("hang-up", func(t *testing.T) {
		term := Start(t, exec.Command("sh", "-c", "echo ready; exec sleep 600"), 30, 5)
		term.WaitForText("ready")
		term.HangUp()
		code(t, term, 0, syscall.SIGHUP)
	})
	t.Run("stop", func(t *testing.T) {
		term := Start(t, exec.Command("sh", "-c", "echo ready; exec cat"), 30, 5)
		term.WaitForText("ready")
		term.Send(CtrlZ)
		if stop := term.WaitForStop(); stop != syscall.SIGTSTP {
			t.Errorf("stopped by %v", stop)
		}
		term.Continue()
		term.Send("again\r")
		term.WaitFor("two lines", func(s Screen) bool { return strings.Count(s.Text(), "again") == 2 })
		term.Send(CtrlC)
		code(t, term, 0, syscall.SIGINT)
	})
}

// A recorder is a test whose failures are looked at.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}
func (*recorder) Helper() {}

// CheckRestored notices each thing that a program can leave behind.
func TestCheckRestored(t *testing.T) {
	for name, text := range map[string]string{
		"the settings":                 "",
		"the alt screen":               "\x1b[?1049h",
		"a hidden cursor":              "\x1b[?25l",
		"a cursor hidden on the other": "\x1b[?1049h\x1b[?25l\x1b[?1049l",
		"the mouse":                    "\x1b[?1002h",
		"marked pastes":                "\x1b[?2004h",
		"the focus":                    "\x1b[?1004h",
		"a keyboard mode":              "\x1b[>1u",
		"one of the other screen":      "\x1b[?1049h\x1b[>1u\x1b[?1049l",
		"another keyboard mode":        "\x1b[>4;2m",
		"a frame":                      "\x1b[?2026h",
	} {
		t.Run(name, func(t *testing.T) {
			command := "printf '%s' '" + text + "'"
			if text == "" {
				command = "stty -echo"
			}
			term := Start(t, exec.Command("sh", "-c", command), 30, 5)
			term.Wait()
			r := &recorder{TB: t}
			term.t = r
			term.CheckRestored()
			if len(r.failures) == 0 {
				t.Error("it was not noticed")
			}
		})
	}
}

// The environment is that of the test, but for the terminal.
func TestEnviron(t *testing.T) {
	t.Setenv("TERM", "dumb")
	t.Setenv("NO_COLOR", "1")
	t.Setenv("OTHER", "1")
	env := Environ("MORE=1")
	for _, kv := range []string{"TERM=xterm-256color", "LANG=C.UTF-8", "OTHER=1", "MORE=1"} {
		if !slices.Contains(env, kv) {
			t.Errorf("%s is missing", kv)
		}
	}
	if slices.Contains(env, "NO_COLOR=1") || slices.Contains(env, "TERM=dumb") {
		t.Errorf("%q", env)
	}
}
