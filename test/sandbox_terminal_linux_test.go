package test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/testkit"
)

// noSandboxQuestion is asked on machines without a sandbox.
const noSandboxQuestion = "Run them? [y/N] "

// A sandboxed is a project whose Expert runs a command that leaves a file outside of the workspace,
// and a user with a terminal.
type sandboxed struct {
	*consenting
	outside string // what the command writes if it can
}

const sandboxedProject = "[provider]\nproviderName = \"replay\"\nsetting = { cassette = \"cassette.toml\" }\n[experts.helper]\ninstruction = \"Help.\"\n"

func newSandboxed(t *testing.T) *sandboxed {
	if err := landlock.Available(); err != nil {
		testkit.Missing(t, err.Error())
	}
	c := &sandboxed{consenting: newConsenting(t), outside: filepath.Join(t.TempDir(), "outside")}
	c.env = append(c.env, "PERSTACK_SANDBOX=")
	c.write("cassette.toml", "[[turn]]\n[[turn.call]]\nid = \"c\"\ntool = \"exec\"\nargs = { command = \"sh\", args = [\"-c\", \"echo x > '"+c.outside+"'\"] }\n[[turn]]\ntext = \"Done.\"\n")
	c.write("perstack.toml", sandboxedProject)
	return c
}

// try runs the Expert at a level of the machine. The user types keys after the question, if there are
// any, and allows the command: without a sandbox, each is asked about. It returns whether the question was asked, and whether the command
// wrote outside of the workspace.
func (c *sandboxed) try(level, question, keys string, args ...string) (screen string, code int, asked, wrote bool) {
	c.t.Helper()
	if err := os.RemoveAll(c.outside); err != nil {
		c.t.Fatal(err)
	}
	answers := testkit.Press("y")
	if keys != "" {
		answers = append([]testkit.Answer{{After: question, Type: keys}}, answers...)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute) // for a question that is not expected
	defer cancel()
	cmd := exec.CommandContext(ctx, "at-level", append([]string{level, "perstack", "run", "helper", "go", "--output", "text"}, args...)...)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := testkit.OnTerminal(cmd, answers...)
	_, missing := os.Stat(c.outside)
	return string(out), exitCode(c.t, err), strings.Contains(string(out), question), missing == nil
}

// What [sandbox] of a project opens is shown and asked once for each list, and a no or an
// interrupt starts nothing.
func TestSandboxOfProjectOnTerminal(t *testing.T) {
	c := newSandboxed(t)
	shared := filepath.Dir(c.outside)
	for name, tt := range map[string]struct{ lines, shown, more string }{
		"off":      {"mode = \"off\"\n", "  sandbox: programs run without a sandbox, with all your rights (perstack.toml:7)", "[experts.helper.skills.x]\ntype = \"mcpStdioSkill\"\ncommand = \"true\"\nrequiredEnv = [\"GITHUB_TOKEN\"]\n"},
		"writable": {"writable = [\"" + shared + "\"]\n", "  sandbox: programs can change " + shared + " (perstack.toml:7)", "memory = \"5GiB\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c.write("perstack.toml", sandboxedProject)
			if screen, code, asked, wrote := c.try("landlock", consentQuestion, ""); code != 0 || asked || wrote {
				t.Fatalf("nothing opened: %d, asked %t, wrote %t: %s", code, asked, wrote, screen)
			}
			c.write("perstack.toml", sandboxedProject+"[sandbox]\n"+tt.lines)
			for keys, want := range map[string]int{"n\n": 2, "\n": 2, "\x03": 130} {
				screen, code, asked, wrote := c.try("landlock", consentQuestion, keys)
				if code != want || !asked || wrote || strings.Contains(screen, "Done.") || !strings.Contains(screen, tt.shown) {
					t.Errorf("%q: %d, asked %t, wrote %t: %s", keys, code, asked, wrote, screen)
				}
			}
			if screen, code, asked, _ := c.try("landlock", consentQuestion, "n\n", "--yes"); code != 2 || !asked {
				t.Errorf("--yes: %d, asked %t: %s", code, asked, screen)
			}
			if screen, code, asked, wrote := c.try("landlock", consentQuestion, "y\n"); code != 0 || !asked || !wrote {
				t.Errorf("yes: %d, asked %t, wrote %t: %s", code, asked, wrote, screen)
			}
			if screen, code, asked, wrote := c.try("landlock", consentQuestion, ""); code != 0 || asked || !wrote {
				t.Errorf("again: %d, asked %t, wrote %t: %s", code, asked, wrote, screen)
			}
			c.write("perstack.toml", sandboxedProject+"[sandbox]\nnetwork = \"none\"\n"+tt.lines)
			if screen, code, asked, wrote := c.try("landlock", consentQuestion, ""); code != 0 || asked || !wrote {
				t.Errorf("with a line that tightens: %d, asked %t, wrote %t: %s", code, asked, wrote, screen)
			}
			c.write("perstack.toml", sandboxedProject+"[sandbox]\n"+tt.lines+tt.more)
			if screen, code, asked, wrote := c.try("landlock", consentQuestion, "n\n"); code != 2 || !asked || wrote {
				t.Errorf("with another request: %d, asked %t, wrote %t: %s", code, asked, wrote, screen)
			}
		})
	}
}

// On a machine without a sandbox, the user is asked once for a project whether commands can run
// with all rights. A level that the user asks for is not asked about but refused.
func TestNoSandboxOnTerminal(t *testing.T) {
	c := newSandboxed(t)
	for keys, want := range map[string]int{"n\n": 2, "\n": 2, "x\n": 2, "\x04": 2, "\x03": 130} {
		screen, code, asked, wrote := c.try("none", noSandboxQuestion, keys)
		if code != want || !asked || wrote || strings.Contains(screen, "Done.") || !strings.Contains(screen, "Commands will run with all your rights (") {
			t.Errorf("%q: %d, asked %t, wrote %t: %s", keys, code, asked, wrote, screen)
		}
	}
	if screen, code, asked, wrote := c.try("none", noSandboxQuestion, "n\n", "--yes"); code != 2 || !asked || wrote {
		t.Errorf("--yes: %d, asked %t, wrote %t: %s", code, asked, wrote, screen)
	}
	if screen, code, asked, wrote := c.try("none", noSandboxQuestion, "y\n"); code != 0 || !asked || !wrote {
		t.Errorf("yes: %d, asked %t, wrote %t: %s", code, asked, wrote, screen)
	}
	if screen, code, asked, wrote := c.try("none", noSandboxQuestion, ""); code != 0 || asked || !wrote {
		t.Errorf("again: %d, asked %t, wrote %t: %s", code, asked, wrote, screen)
	}
	if screen, code, asked, wrote := c.try("none", noSandboxQuestion, "", "--sandbox=landlock"); code != 2 || asked || wrote {
		t.Errorf("a level: %d, asked %t, wrote %t: %s", code, asked, wrote, screen)
	}
	if screen, code, asked, wrote := c.try("landlock", noSandboxQuestion, ""); code != 0 || asked || wrote {
		t.Errorf("the answer turns no sandbox off that the machine has: %d, asked %t, wrote %t: %s", code, asked, wrote, screen)
	}
	other := newSandboxed(t)
	other.env = c.env
	if screen, code, asked, wrote := other.try("none", noSandboxQuestion, "n\n"); code != 2 || !asked || wrote {
		t.Errorf("another project: %d, asked %t, wrote %t: %s", code, asked, wrote, screen)
	}
	if err := os.WriteFile(filepath.Join(other.dir, "perstack.toml"), []byte(sandboxedProject+"[experts.helper.skills.\"@perstack/base\"]\nomit = [\"exec\"]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	other.write("cassette.toml", "[[turn]]\ntext = \"Done.\"\n")
	if screen, code, asked, _ := other.try("none", noSandboxQuestion, ""); code != 0 || asked {
		t.Errorf("no programs: %d, asked %t: %s", code, asked, screen)
	}
}

// The level is announced on a terminal in one line if it is not the best one.
func TestLevelOnTerminal(t *testing.T) {
	c := newSandboxed(t)
	for level, want := range map[string]int{"landlock": 1, "full": 0} {
		for _, output := range []string{"text", "progress"} {
			screen, code, _, wrote := c.try(level, consentQuestion, "", "--output", output)
			if got := strings.Count(screen, "programs can read env files in the workspace"); code != 0 || wrote || got != want {
				t.Errorf("%s, %s: %d, wrote %t, %d lines: %s", level, output, code, wrote, got, screen)
			}
		}
	}
}
