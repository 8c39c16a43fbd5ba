package test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/testkit"
)

// A file that a command cannot read is asked about on the terminal, and the answer holds for as long as
// the user says: see what the next command reads, and what later runs without a terminal read.
func TestDirectoryOnTerminal(t *testing.T) {
	if offer := local.Offered(t.Context(), ""); offer.Level != expert.SandboxFull {
		testkit.Missing(t, fmt.Sprint(offer.Why))
	}
	press := testkit.Press
	for name, tt := range map[string]struct {
		answers []testkit.Answer
		reads   bool // the second call does
		later   bool // so does a later run, which no one answers
		shown   []string
	}{
		"for this Run":    {press("y"), true, false, []string{"y allow for this Run", "Allowed leave the sandbox for /var/tmp/"}},
		"for the project": {press("p"), true, true, []string{"answered: allow for this project"}},
		"denied":          {append(press("n"), testkit.Answer{After: "Esc: back): ", Type: "use the copy\r"}), false, false, []string{"Denied leave the sandbox for /var/tmp/", "use the copy", "--sandbox-read /var/tmp/"}},
		"without answer":  {press("q"), false, false, []string{"q no answer", "no answer; the sandbox stays closed", "is outside the sandbox"}},
		"after the help":  {append([]testkit.Answer{{After: "? help\r\n> ", Type: "?"}}, press("y")...), true, false, []string{"the sandbox stays closed"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := outsideFile(t)
			outside := filepath.Dir(file)
			c := newConsenting(t)
			c.env = append(c.env, "NO_COLOR=1", "PERSTACK_SANDBOX=full")
			c.write("perstack.toml", sandboxedProject)
			call := fmt.Sprintf("[[turn]]\n[[turn.call]]\ntool = \"exec\"\nargs = { command = \"cat\", args = [%q] }\n", file)
			c.write("cassette.toml", call+call+"[[turn]]\ntext = \"Done.\"\n")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			perstack := func(args ...string) *exec.Cmd {
				cmd := exec.CommandContext(ctx, "perstack", args...)
				cmd.Dir, cmd.Env = c.dir, c.env
				return cmd
			}
			out, err := testkit.OnTerminal(perstack("run", "helper", "go", "--output", "progress"), tt.answers...)
			screen := string(out)
			if code := exitCode(t, err); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if strings.Contains(screen, "READ-IT") != tt.reads {
				t.Errorf("it was read: want %t", tt.reads)
			}
			for _, text := range append(tt.shown, "Allow commands to read this directory, which is outside of the sandbox?", `Path      "`+outside+`"`, `Named     "`+file+`"`, `Command   "cat"`, "it can print any path", "Done.") {
				if !strings.Contains(strings.Join(strings.Fields(screen), " "), strings.Join(strings.Fields(text), " ")) {
					t.Errorf("%q is not on the screen", text)
				}
			}
			headless := func() string {
				out, err := perstack("run", "helper", "go").CombinedOutput()
				if err != nil {
					t.Errorf("a later run: %v: %s", err, out)
				}
				return string(out)
			}
			if strings.Contains(headless(), "READ-IT") != tt.later {
				t.Errorf("a later run reads it: want %t", tt.later)
			}
			list, err := perstack("rules").CombinedOutput()
			found := regexp.MustCompile(`(?m)^  (\S+)  project  Expert helper, programs of @perstack/base: leaving the sandbox for ` + regexp.QuoteMeta(outside) + ` `).FindSubmatch(list)
			if err != nil || (found != nil) != tt.later {
				t.Errorf("%v: %s", err, list)
			}
			if found != nil {
				if out, err := perstack("rules", "revoke", string(found[1])).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
				if strings.Contains(headless(), "READ-IT") {
					t.Error("a revoked grant counts")
				}
			}
			if t.Failed() {
				t.Log(screen)
			}
		})
	}
}

// An answer outlives the process that got it.
func TestDirectoryAfterKill(t *testing.T) {
	if offer := local.Offered(t.Context(), ""); offer.Level != expert.SandboxFull {
		testkit.Missing(t, fmt.Sprint(offer.Why))
	}
	file := outsideFile(t)
	c := newConsenting(t)
	c.env = append(c.env, "NO_COLOR=1", "PERSTACK_SANDBOX=full")
	c.write("perstack.toml", sandboxedProject)
	call := func(program, arg string) string {
		return fmt.Sprintf("[[turn]]\n[[turn.call]]\ntool = \"exec\"\nargs = { command = %q, args = [%q] }\n", program, arg)
	}
	c.write("cassette.toml", call("cat", file)+call("sleep", "1000")+call("cat", file)+"[[turn]]\ntext = \"Done.\"\n")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	running := exec.CommandContext(ctx, "perstack", "run", "helper", "go", "--output", "progress", "--job-id", "job")
	running.Dir, running.Env = c.dir, c.env
	screen, err := testkit.OnTerminal(running, append(testkit.Press("y"), testkit.Answer{After: "Run sleep 1000", Before: func() { _ = running.Process.Kill() }})...)
	if err == nil || strings.Contains(string(screen), "READ-IT") {
		t.Fatalf("%v: %s", err, screen)
	}
	resumed := exec.CommandContext(ctx, "perstack", "run", "--continue-job", "job", "--events", "lean")
	resumed.Dir, resumed.Env = c.dir, c.env
	out, err := resumed.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "READ-IT") || strings.Contains(string(out), "approvalRequested") {
		t.Errorf("%v: %s", err, out)
	}
}

// outsideFile makes a file that no sandbox shows: at level full, /tmp is another directory.
func outsideFile(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "perstack-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(file, []byte("READ-IT"), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
