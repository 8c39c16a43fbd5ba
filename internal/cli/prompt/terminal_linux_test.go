package prompt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/screen"
)

// resultFile names the file for the result of a question, in the program that a test starts.
const resultFile = "PERSTACK_TEST_RESULT"

func TestMain(m *testing.M) {
	screen.Init()
	if path := os.Getenv(resultFile); path != "" {
		if err := askHere(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A scene is what the program is told by its environment.
type scene struct {
	Approval      *event.Approval
	Question      *event.ToolCall // of an Expert
	Text          *Text
	Columns, Rows uint16 // 0 leaves the size as it is
	Color         bool
	Quiet         bool // what is read is not written
	TypedAhead    bool // it begins when something was typed
}

// A result is what the program writes.
type result struct {
	Answer   event.Answer
	Err      string
	Restored bool // the terminal has its old mode
}

// traced writes what was read, so that a test knows when it can type on.
type traced struct{ *tty }

func (c traced) read(ctx context.Context, timeout time.Duration) ([]byte, error) {
	chunk, err := c.tty.read(ctx, timeout)
	if len(chunk) > 0 {
		fmt.Fprintf(c.tty, "[read %q]\r\n", chunk)
	}
	return chunk, err
}

// askHere asks on the terminal of this process.
func askHere(path string) error {
	var s scene
	if err := json.Unmarshal([]byte(os.Getenv("PERSTACK_TEST_SCENE")), &s); err != nil {
		return err
	}
	if s.Columns > 0 {
		if err := unix.IoctlSetWinsize(0, unix.TIOCSWINSZ, &unix.Winsize{Col: s.Columns, Row: s.Rows}); err != nil {
			return err
		}
	}
	before, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		return err
	}
	terminal := &tty{in: 0, Writer: os.Stderr}
	var console console = traced{terminal}
	if s.Quiet {
		console = terminal
	}
	if s.TypedAhead {
		fmt.Fprintln(os.Stderr, "type now")
		for {
			if ready, err := terminal.wait(); err != nil && !errors.Is(err, unix.EINTR) {
				return err
			} else if ready {
				break
			}
		}
	}
	ctx, stop := process.Interruptible(context.Background(), os.Stderr, func() bool { return true })
	defer stop()
	request := event.Request{ExpertKey: "guide", Approval: s.Approval}
	if s.Question != nil {
		request.Question = *s.Question
	}
	var answer event.Answer
	if s.Text != nil {
		answer.Text, err = s.Text.read(ctx, console)
	} else {
		answer, err = newApprover(console, Options{Color: s.Color}).Ask(ctx, request)
	}
	after, modeErr := unix.IoctlGetTermios(0, unix.TCGETS)
	r := result{Answer: answer, Restored: modeErr == nil && reflect.DeepEqual(before, after)}
	if err != nil {
		r.Err = err.Error()
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// onTerminal asks in another process, on a pseudo terminal, and returns what was on the screen.
func onTerminal(t *testing.T, s scene, keys ...testkit.Answer) (string, result) {
	t.Helper()
	s.Columns, s.Rows = cmp.Or(s.Columns, 80), cmp.Or(s.Rows, 24)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "result.json")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), resultFile+"="+path, "PERSTACK_TEST_SCENE="+string(text))
	for i := range keys {
		switch rest, continues := strings.CutPrefix(keys[i].Type, "SIGCONT "); {
		case keys[i].Type == "SIGTERM":
			keys[i].Type, keys[i].Before = "", func() { _ = cmd.Process.Signal(syscall.SIGTERM) }
		case continues:
			keys[i].Type, keys[i].Before = rest, func() { resume(t, cmd.Process) }
		}
	}
	out, err := testkit.OnTerminal(cmd, keys...)
	if err != nil {
		t.Fatalf("%v; on the screen:\n%s", err, out)
	}
	var r result
	if text, err = os.ReadFile(path); err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !r.Restored {
		t.Errorf("the terminal is left in another mode; on the screen:\n%s", out)
	}
	return string(out), r
}

// resume does what a shell does with a stopped process: it sets the usual mode of the terminal, and
// the process runs again.
func resume(t *testing.T, p *os.Process) {
	keyboard, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", p.Pid), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Error(err)
		return
	}
	defer keyboard.Close()
	mode, err := unix.IoctlGetTermios(int(keyboard.Fd()), unix.TCGETS)
	if err == nil {
		mode.Lflag |= unix.ICANON | unix.ECHO | unix.ISIG
		err = unix.IoctlSetTermios(int(keyboard.Fd()), unix.TCSETS, mode)
	}
	if err = errors.Join(err, p.Signal(syscall.SIGCONT)); err != nil {
		t.Error(err)
	}
}

const (
	menu = "? help\r\n> "
	more = "show more"
)

func typed(after, keys string) testkit.Answer { return testkit.Answer{After: after, Type: keys} }

// enter confirms a letter when it is on the screen.
func enter(letter string) testkit.Answer {
	return testkit.Answer{After: fmt.Sprintf("[read %q]\r\n%s", letter, letter), Type: "\r"}
}

func TestOnTerminal(t *testing.T) {
	left := result{Err: engine.ErrNoAnswer.Error(), Restored: true}
	allowed := result{Answer: event.Answer{Allow: true, Scope: event.ScopeOnce}, Restored: true}
	forJob := result{Answer: event.Answer{Allow: true, Scope: event.ScopeJob}, Restored: true}
	for name, tt := range map[string]struct {
		scene scene
		keys  []testkit.Answer
		want  result
	}{
		"allow":             {scene{}, []testkit.Answer{typed(menu, "y"), enter("y")}, allowed},
		"for the job":       {scene{}, []testkit.Answer{typed(menu, "a"), enter("a"), typed("rule: until this job ends, coder can run: git push", "")}, forJob},
		"typed ahead":       {scene{TypedAhead: true}, []testkit.Answer{typed("type now", "y\ny\ry\n"), typed(menu, "q"), enter("q")}, left},
		"typed while shown": {scene{}, []testkit.Answer{typed("Allow this command?", "y"), typed(`[read "y"]`, "\r"), typed(menu, "q"), enter("q")}, left},
		"Enter":             {scene{}, []testkit.Answer{typed(menu, "\r"), typed(`[read "\r"]`, "\r"), typed(`[read "\r"]`, "\x03")}, left},
		"letter and Enter at once": {scene{}, []testkit.Answer{typed(menu, "y\r"), typed("Pasted text is no answer.", ""), typed(menu, "q"), enter("q")},
			left},
		"special key":       {scene{}, []testkit.Answer{typed(menu, "\x1bOy"), typed(`[read "\x1bOy"]`, "\x03")}, left},
		"interrupt":         {scene{}, []testkit.Answer{typed(menu, "\x03")}, left},
		"interrupt at once": {scene{}, []testkit.Answer{typed("Allow this command?", "\x03")}, left},
		"signal":            {scene{}, []testkit.Answer{typed(menu, "SIGTERM")}, result{Err: "received terminated", Restored: true}},
		"signal in a reason": {scene{}, []testkit.Answer{typed(menu, "n"), enter("n"), typed("Esc: back", "SIGTERM")},
			result{Err: "received terminated", Restored: true}},
		"stopped and continued": {scene{}, []testkit.Answer{typed(menu, "SIGCONT a"), enter("a")}, forJob},
		"denial": {scene{}, []testkit.Answer{typed(menu, "n"), enter("n"), typed("Esc: back): ", "use stägixx\x7f\x7fng"), typed("ng", "\r")},
			result{Answer: event.Answer{Reason: "use stäging"}, Restored: true}},
		"end not on the screen": {scene{Approval: long()}, []testkit.Answer{typed(more, ""), typed(menu, "y"), enter("y"), typed("Read to the end first.", ""), typed(menu, "q"), enter("q")}, left},
		"read to the end": {scene{Approval: long()}, []testkit.Answer{typed(menu, " "), typed(menu, " "), typed(menu, " "), typed(menu, "y"), enter("y")},
			allowed},
		"other size": {scene{}, []testkit.Answer{{After: menu, Type: "y", Columns: 60, Rows: 30}, enter("y"), typed("has changed", ""), typed(menu, "q"), enter("q")}, left},
		"other size, seen": {scene{}, []testkit.Answer{{After: menu, Type: "y", Columns: 40, Rows: 30}, enter("y"), typed("has changed", ""), typed(menu, "y"), enter("y")},
			allowed},
		"narrow": {scene{Columns: 20, Rows: 40}, []testkit.Answer{typed(menu, "y"), enter("y")}, allowed},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.scene.Approval == nil {
				tt.scene.Approval = push()
			}
			screen, got := onTerminal(t, tt.scene, tt.keys...)
			if got != tt.want {
				t.Errorf("%+v, want %+v; on the screen:\n%s", got, tt.want, screen)
			}
		})
	}
}

// Nothing of a request acts on the terminal, and its words can be read back.
func TestHostileOnTerminal(t *testing.T) {
	dirty := "\x1b[2J\x1b]0;title\x07\u009b31m\a\u202e\u2066\u200b\U000e0041\r\nRule      none"
	a := push()
	a.Effect.Argv = []string{"git", dirty, "a” “b", "", strings.Repeat(" ", 500) + "--force", "\"", "\\", strings.Repeat("x", 1000)}
	a.Effect.Dir, a.Effect.Program, a.Effect.Env = dirty, dirty, []string{dirty}
	a.Said, a.Rule, a.Why, a.Experts, a.Sandbox = dirty, dirty, dirty, []string{dirty, dirty}, dirty
	out, got := onTerminal(t, scene{Approval: a, Columns: 100, Rows: 60}, typed(menu, "y"), enter("y"))
	if !got.Answer.Allow {
		t.Errorf("%+v", got)
	}
	screen := strings.ReplaceAll(out, "\r\n", "\n")
	if i := strings.IndexFunc(screen, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) }); i >= 0 {
		t.Errorf("there is %q on the screen:\n%s", screen[i:i+10], screen)
	}
	// The words are in the rows of the section, each behind ten columns.
	_, rest, _ := strings.Cut(screen, "\nCommand   ")
	rows, _, _ := strings.Cut(rest, "\nProgram   ")
	words, err := testkit.ReadQuoted(strings.ReplaceAll(rows, "\n"+strings.Repeat(" ", 10), ""))
	if err != nil || !slices.Equal(words, a.Effect.Argv) {
		t.Errorf("%q, %v, want %q", words, err, a.Effect.Argv)
	}
	for line := range strings.Lines(screen) {
		if strings.HasPrefix(line, "Rule") && strings.TrimSpace(line) == "Rule      none" {
			t.Errorf("a forged line:\n%s", screen)
		}
	}
}
