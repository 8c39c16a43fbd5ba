package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/screen"
)

// A session is a project that perstack start is used with.
type session struct{ *consenting }

// newSession has an Expert that answers as the cassette says, at fixed times and with fixed names.
func newSession(t *testing.T, config, cassette string) *session {
	t.Helper()
	s := &session{newConsenting(t)}
	if err := os.Mkdir(filepath.Join(s.dir, "trip"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.dir = filepath.Join(s.dir, "trip") // the screen shows the name
	home := t.TempDir()
	s.env = screen.Environ("HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "XDG_STATE_HOME="+filepath.Join(home, "state"), "PERSTACK_TEST_FIXED=1")
	s.write("perstack.toml", "[provider]\nproviderName = \"replay\"\nsetting = { cassette = \"cassette.toml\" }\n"+config)
	s.write("cassette.toml", cassette)
	return s
}

func (s *session) command(args ...string) *exec.Cmd {
	cmd := exec.Command("perstack", append([]string{"start"}, args...)...)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// guarded returns the process that draws: the child of the one that was started.
func guarded(t *testing.T, guard int) int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", guard))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range tasks { // the child belongs to the thread that started it
		list, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		for _, pid := range strings.Fields(string(list)) {
			if n, err := strconv.Atoi(pid); err == nil {
				return n
			}
		}
	}
	t.Fatal("perstack start has no second process")
	return 0
}

const writer = "[experts.writer]\ndescription = \"writes\"\ninstruction = \"Write.\"\n"

// However the program ends, the terminal is as it was, and the job can be resumed.
func TestStartEnds(t *testing.T) {
	const cassette = "[[turn]]" + waits + "[[turn]]\ntext = \"All is done.\"\n"
	begin := func(t *testing.T) (*session, *screen.Terminal) {
		s := newSession(t, writer, cassette)
		term := screen.Start(t, s.command("writer", "Compile it"), 80, 24)
		term.WaitForStart()
		if shown := term.WaitForText("compiling"); !shown.AltScreen {
			t.Errorf("the screen is not that of a program:\n%v", shown)
		}
		return s, term
	}
	resume := func(t *testing.T, s *session) {
		t.Helper()
		s.write("continue", "")
		term := screen.Start(t, s.command("--continue"), 80, 24)
		term.WaitForText("Compile it")
		term.Send("Continue" + screen.Enter)
		term.WaitForText("All is done.")
		term.Send(screen.CtrlC)
		term.Send(screen.CtrlC)
		if code, _ := term.WaitRestored(); code != 0 || !strings.Contains(strings.Join(term.Screen().Lines(), ""), "perstack: return to this job with: perstack start --continue-job ") {
			t.Errorf("exit code %d:\n%v", code, term.Screen())
		}
	}
	t.Run("killed", func(t *testing.T) {
		s, term := begin(t)
		if err := syscall.Kill(guarded(t, term.Pid()), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if code, _ := term.WaitRestored(); code != 137 {
			t.Errorf("exit code %d", code)
		}
		if got := strings.Join(term.Screen().Lines(), ""); !strings.HasPrefix(got, "perstack: the full-screen program was killed (SIGKILL); return to the job with:") {
			t.Errorf("%q", got)
		}
		resume(t, s)
	})
	for name, test := range map[string]struct {
		signal syscall.Signal
		code   int
	}{"terminated": {syscall.SIGTERM, 143}, "hung up": {syscall.SIGHUP, 129}} {
		t.Run(name, func(t *testing.T) {
			s, term := begin(t)
			if err := syscall.Kill(term.Pid(), test.signal); err != nil {
				t.Fatal(err)
			}
			if code, _ := term.WaitRestored(); code != test.code {
				t.Errorf("exit code %d, want %d:\n%v", code, test.code, term.Screen())
			}
			resume(t, s)
		})
	}
	t.Run("panicked", func(t *testing.T) {
		s := newSession(t, writer, cassette)
		s.env = append(s.env, "PERSTACK_TEST_MISTAKE="+filepath.Join(s.dir, "mistake"))
		term := screen.Start(t, s.command("writer", "Compile it"), 80, 24)
		term.WaitForText("compiling")
		s.write("mistake", "")
		s.write("continue", "")
		if code, _ := term.WaitRestored(); code != 134 {
			t.Errorf("exit code %d:\n%v", code, term.Screen())
		}
		if out := term.Output(); !strings.Contains(out, "a mistake in the engine") || !strings.Contains(out, "perstack: the full-screen program crashed; return to the job with: perstack start --continue-job id") {
			t.Errorf("the user is not told:\n%v", term.Screen())
		}
		if err := os.Remove(filepath.Join(s.dir, "mistake")); err != nil {
			t.Fatal(err)
		}
		resume(t, s)
	})
	t.Run("suspended", func(t *testing.T) {
		s, term := begin(t)
		for range 2 {
			term.Send(screen.CtrlZ)
			term.WaitForStop()
			term.WaitFor("the screen is left", func(s screen.Screen) bool { return !s.AltScreen })
			term.CheckRestored()
			term.Continue()
			term.WaitFor("the screen is back", func(s screen.Screen) bool { return s.AltScreen && s.Contains("compiling") })
		}
		s.write("continue", "")
		term.WaitForText("All is done.")
		term.Send(screen.CtrlC)
		term.Send(screen.CtrlC)
		if code, _ := term.WaitRestored(); code != 0 {
			t.Errorf("exit code %d:\n%v", code, term.Screen())
		}
	})
	t.Run("wrong usage", func(t *testing.T) {
		s := newSession(t, writer, cassette)
		term := screen.Start(t, s.command("nobody"), 80, 24)
		if code, _ := term.WaitRestored(); code != 2 || !term.Screen().Contains("nobody") || strings.Contains(term.Output(), "\x1b") {
			t.Errorf("exit code %d:\n%v", code, term.Screen())
		}
		s.dir = t.TempDir()
		term = screen.Start(t, s.command(), 80, 24)
		if code, _ := term.WaitRestored(); code != 2 || !term.Screen().Contains("perstack.toml") || strings.Contains(term.Output(), "\x1b") {
			t.Errorf("without perstack.toml: exit code %d:\n%v", code, term.Screen())
		}
	})
}

// In a shell in tmux the program is one job, whatever happens to it and to the size of the terminal.
func TestStartTmux(t *testing.T) {
	testkit.Need(t, "tmux")
	s := newSession(t, writer, "[[turn]]"+waits+"[[turn]]\ntext = \"All is done.\"\n")
	shell := exec.Command("bash", "--norc", "--noprofile", "-i")
	shell.Dir, shell.Env = s.dir, append(s.env, "PS1=prompt> ", "HISTFILE=")
	tmux := screen.StartTmux(t, shell, 120, 24)
	settings := func() string {
		out, err := exec.Command("stty", "-g", "-F", tmux.TTY()).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	prompt := func(after string) {
		t.Helper()
		tmux.WaitFor("the prompt after "+after, func(s screen.Screen) bool {
			return s.Contains(after) && strings.HasPrefix(s.Lines()[s.CursorY], "prompt>") && !s.AltScreen && s.CursorVisible && !s.Mouse
		})
	}
	drawn := func(what string) screen.Screen {
		t.Helper()
		return tmux.WaitFor(what, func(s screen.Screen) bool { return s.AltScreen && s.Contains("compiling") && s.Contains("step 1") })
	}
	tmux.WaitForText("prompt>")
	before := settings()
	tmux.Send("perstack start writer 'Compile it'\r")
	drawn("the job")
	for _, columns := range []int{40, 120, 60, 120} {
		tmux.Resize(columns, 24)
		if shown := drawn(fmt.Sprintf("the job in %d columns", columns)); strings.Count(shown.Text(), "step 1") > 2 {
			t.Errorf("something was left of another size:\n%v", shown)
		}
	}
	tmux.WaitFor("the panel", func(s screen.Screen) bool { return s.Contains("RUNS") })
	tmux.Send(screen.CtrlZ)
	prompt("Stopped")
	tmux.Send("fg\r")
	drawn("the job again")
	first, err := exec.Command("pgrep", "--oldest", "-t", strings.TrimPrefix(tmux.TTY(), "/dev/"), "-f", "perstack start").Output()
	if err != nil {
		t.Fatal(err)
	}
	guard, err := strconv.Atoi(strings.TrimSpace(string(first)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(guarded(t, guard), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	prompt("the full-screen program was killed (SIGKILL)")
	tmux.Send("echo code $?\r")
	prompt("code 137")
	if got := settings(); got != before {
		t.Errorf("the shell has the settings %s, want %s", got, before)
	}
}
