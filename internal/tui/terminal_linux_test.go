package tui

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	emulator "github.com/perstack-go/perstack/internal/testkit/screen"
	"github.com/perstack-go/perstack/internal/tui/guard"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// shownProgram says that this test program is the full-screen program, for a terminal.
const shownProgram = "PERSTACK_TEST_TUI"

func TestMain(m *testing.M) {
	emulator.Init()
	if os.Getenv(shownProgram) == "" {
		os.Exit(m.Run())
	}
	os.Exit(shown())
}

// A user who writes one of these messages makes the program panic: in Update, in one of its commands,
// and in a goroutine, after which only the guard can restore the terminal.
const (
	panicInUpdate    = "panic in Update"
	panicInCommand   = "panic in a command"
	panicInGoroutine = "panic in a goroutine"
)

// shown runs the full-screen program as perstack start does, and returns its exit code.
func shown() int {
	saved := false
	project := &fakeProject{run: func(ctx context.Context, task Task, a Asker, yield func(event.Event, error) bool) {
		defer func() { saved = true }()
		switch task.Query {
		case panicInCommand:
			panic(task.Query)
		case panicInGoroutine:
			go panic(task.Query)
		}
		start := happened("R", 1, event.StartRun{InputMessages: []*event.Message{says(event.UserMessage, task.Query)}})
		yield(start, nil)
		yes, err := a.Confirm(ctx, "Is this a test?")
		if err != nil {
			yield(happened("R", 1, event.StopRunByInterrupt{}), nil)
			return
		}
		yield(happened("R", 1, event.CompleteRun{NewMessage: says(event.ExpertMessage, fmt.Sprintf("It is **%v**.", yes))}), nil)
	}}
	redact := func(text string) string {
		if text == panicInUpdate {
			panic(text)
		}
		return text
	}
	code, err := guard.Run(context.Background(), guard.Options{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Hint: "continue the job",
	}, func(ctx context.Context, _ func(string)) error {
		result, err := Run(ctx, Options{
			Project: project, Name: "trip", In: os.Stdin, Out: os.Stdout, Environ: os.Environ(), Palette: paint.Palette{Color: true, Unicode: true}, Redact: redact, Entry: EntryChat, Expert: "lead",
		})
		fmt.Printf("job %q, error %v, saved %t\n", result.Job, err, saved)
		return err
	})
	if err != nil {
		return 1
	}
	return code
}

func inTerminal(t *testing.T, more ...string) *emulator.Terminal {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = emulator.Environ(append(more, shownProgram+"=1")...)
	return emulator.Start(t, cmd, 80, 24)
}

// The program runs in a real terminal, and leaves it as it was.
func TestTerminal(t *testing.T) {
	term := inTerminal(t)
	if s := term.WaitForText("F1 help"); !s.AltScreen || !s.BracketedPaste || s.Mouse {
		t.Errorf("%s", s)
	}
	term.Send(emulator.Ctrl('g'))
	term.WaitFor("the mouse", func(s emulator.Screen) bool { return s.Mouse })
	term.Send(emulator.Ctrl('g'))
	term.Send("a test")
	term.WaitForText("> a test")
	term.Send(emulator.Enter)
	term.WaitForText("Is this a test?")
	term.WaitForText("00:01") // a question takes keys when it was on the screen for a while
	term.Send(emulator.Tab)
	term.WaitForText("Esc back")
	term.WaitForText("00:02") // and an answer comes alone
	term.Send("y")
	term.WaitForText("It is true.")
	term.Send(emulator.CtrlC)
	term.WaitForText("Ctrl-C again quits")
	term.Send(emulator.CtrlC)
	if s := term.WaitForText(`job "r58pyt00", error <nil>, saved true`); s.AltScreen || s.Mouse || s.BracketedPaste || !s.CursorVisible || len(s.Keyboard) > 0 {
		t.Errorf("%s", s)
	}
}

// Ctrl-C while a job runs stops and saves it. Then the program can be left.
func TestTerminalStops(t *testing.T) {
	term := inTerminal(t)
	term.WaitForText("F1 help")
	term.Send("go" + emulator.Enter)
	term.WaitForText("Is this a test?")
	term.Send(emulator.CtrlC)
	term.WaitForText("interrupted")
	if s := term.WaitForText("Enter resumes"); strings.Contains(s.Text(), "Is this a test?") {
		t.Errorf("%s", s)
	}
	term.Send(emulator.CtrlC) // the second one
	term.WaitForText(`job "r58pyt00", error <nil>, saved true`)
}

// Ctrl-Z gives the terminal back, and fg draws the screen again.
func TestTerminalSuspends(t *testing.T) {
	// The library reads the size of the terminal while it opens it again. The race detector would say so
	// on the screen of the program.
	term := inTerminal(t, "GORACE=log_path="+filepath.Join(t.TempDir(), "race"))
	term.WaitForText("F1 help")
	term.Send("half a mess" + emulator.CtrlZ)
	term.WaitForStop()
	term.WaitFor("the screen of the shell", func(s emulator.Screen) bool { return !s.AltScreen && s.CursorVisible })
	term.Continue()
	term.WaitForText("> half a mess")
	term.Send("age")
	term.WaitForText("> half a message")
	term.Send(emulator.CtrlC + emulator.CtrlC)
	term.WaitForText("error <nil>")
}

func TestTerminalResize(t *testing.T) {
	term := inTerminal(t)
	term.WaitForText("F1 help")
	term.Resize(30, 8)
	term.WaitForText("perstack needs 40x10")
	term.Resize(100, 30)
	term.WaitForText("F1 help")
	term.Send(emulator.CtrlC + emulator.CtrlC)
	term.WaitForText("error <nil>")
}

// Whatever panics, the terminal is as it was, and the user learns of it.
func TestTerminalPanics(t *testing.T) {
	for message, test := range map[string]struct {
		code int
		says string
	}{
		panicInUpdate:    {1, `job "r58pyt00", error show the screen: program was killed: program experienced a panic, saved true`},
		panicInCommand:   {1, `error show the screen: program was killed: program experienced a panic, saved true`},
		panicInGoroutine: {134, "perstack: the full-screen program crashed; continue the job"},
	} {
		t.Run(message, func(t *testing.T) {
			term := inTerminal(t)
			term.WaitForText("F1 help")
			term.Send(message + emulator.Enter)
			if code, killed := term.WaitRestored(); code != test.code || killed != 0 {
				t.Errorf("exit code %d, %v, want %d", code, killed, test.code)
			}
			if out := term.Output(); !strings.Contains(out, message) || !strings.Contains(out, "internal/tui") || !strings.Contains(out, test.says) {
				t.Errorf("the user is not told:\n%v", term.Screen())
			}
		})
	}
}
