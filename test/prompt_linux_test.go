package test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit"
)

// Tool calls are asked about on the terminal, one after the other, and carried out as answered.
func TestApprovalOnTerminal(t *testing.T) {
	const keys, reason = "? help\r\n> ", "Esc: back): "
	answer := func(after, typed string) testkit.Answer { return testkit.Answer{After: after, Type: typed} }
	press := func(letters ...string) (all []testkit.Answer) {
		for _, letter := range letters {
			all = append(all, testkit.Press(letter)...)
		}
		return all
	}
	var running *exec.Cmd
	for name, tt := range map[string]struct {
		answers []testkit.Answer
		code    int
		made    string
		shown   []string
	}{
		"allowed": {press("y", "y", "y"), 0, "one two three",
			[]string{"Allow this change? (1 of 3)", "(2 of 3)", "(3 of 3)", "  | I make three.", `"path": "one"`, "Done."}},
		"one denied": {slices.Concat(press("y", "n"), []testkit.Answer{answer(reason, "use staging\r")}, press("y")), 0, "one three",
			[]string{"denied by the user: use staging", "Done."}},
		"later":       {press("y", "q"), 4, "", []string{"no answer; the job waits"}},
		"interrupted": {[]testkit.Answer{answer(keys, "\x03")}, 4, "", []string{"no answer; the job waits"}},
		"signal": {[]testkit.Answer{{After: keys, Before: func() { _ = running.Process.Signal(syscall.SIGTERM) }}}, 143, "",
			[]string{"The question is closed."}},
		"answered elsewhere": {[]testkit.Answer{{After: keys, Before: func() {
			approve := exec.Command("perstack", "approve", "job", "call_1_1", "call_1_2", "call_1_3")
			approve.Dir, approve.Env = running.Dir, running.Env
			if out, err := approve.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}}}, 0, "one two three", []string{"The question is closed.", "Done."}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newConsenting(t)
			c.write("perstack.toml", "approvals = \"ask\"\n"+sandboxedProject)
			turn := "[[turn]]\ntext = \"I make three.\"\n"
			for _, path := range []string{"one", "two", "three"} {
				turn += "[[turn.call]]\ntool = \"createDirectory\"\nargs = { path = \"" + path + "\" }\n"
			}
			c.write("cassette.toml", turn+"[[turn]]\ntext = \"Done.\"\n")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			running = exec.CommandContext(ctx, "perstack", "run", "helper", "go", "--job-id", "job")
			running.Dir, running.Env = c.dir, append(c.env, "NO_COLOR=1")
			out, err := testkit.OnTerminal(running, tt.answers...)
			screen, made := string(out), ""
			if code := exitCode(t, err); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, path := range []string{"one", "two", "three"} {
				if _, err := os.Stat(filepath.Join(c.dir, path)); err == nil {
					made += " " + path
				} else if !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				}
			}
			if strings.TrimSpace(made) != tt.made {
				t.Errorf("made%s, want %s", made, tt.made)
			}
			for _, text := range tt.shown {
				if !strings.Contains(screen, text) {
					t.Errorf("%q is not on the screen", text)
				}
			}
			if t.Failed() {
				t.Log(screen)
			}
		})
	}
}
