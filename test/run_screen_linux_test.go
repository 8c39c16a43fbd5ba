package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/internal/testkit/screen"
)

// A shown is a project whose runs are looked at.
type shown struct {
	*consenting
	env []string
}

// newShown has a model that answers as the script says.
func newShown(t *testing.T, script string) *shown {
	t.Helper()
	c := newConsenting(t)
	c.write("perstack.toml", "model = \"claude-sonnet-4-5\"\n[provider]\nproviderName = \"anthropic\"\n[experts.writer]\ninstruction = \"Write.\"\n")
	played, err := llm.Parse("script", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	_, url := llm.Start(t, played)
	home := t.TempDir()
	return &shown{c, screen.Environ("HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "XDG_STATE_HOME="+filepath.Join(home, "state"),
		"PERSTACK_TEST_FIXED=1", "ANTHROPIC_API_KEY="+llm.Key, "ANTHROPIC_BASE_URL="+url)}
}

func (s *shown) perstack(args ...string) *exec.Cmd {
	cmd := exec.Command("perstack", args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

func (s *shown) command(args ...string) *exec.Cmd {
	return s.perstack(append([]string{"run", "writer", "Summarise notes.txt"}, args...)...)
}

// still is a screen with the same spinner at all times.
func still(text string) string {
	return regexp.MustCompile("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] ").ReplaceAllString(text, "⠋ ") + "\n"
}

// waits is a command that waits for the file "continue".
const waits = "\n[[turn.call]]\ntool = \"exec\"\nargs = { command = \"sh\", args = [\"-c\", \"echo compiling; while [ ! -e continue ]; do sleep 0.05; done\"] }\n"

// What a person sees while a job runs, and after it.
func TestRunScreens(t *testing.T) {
	const script = "[[turn]]\nreasoning = \"The notes come first.\"\ntext = \"I read the **notes** 日本語 🎉.\"\n[[turn.call]]\ntool = \"readTextFile\"\nargs = { path = \"notes.txt\" }" + waits +
		"[[turn]]\ntext = \"# Summary\\n\\nThe launch moves to *May*. מזל טוב\\n\\n- first\\n- second\\n\"\nusage = { input = 18200, output = 2100 }\n"
	for _, size := range [][2]int{{40, 12}, {80, 24}, {120, 40}} {
		for _, colour := range []string{"", "NO_COLOR=1"} {
			t.Run(fmt.Sprintf("%dx%d%s", size[0], size[1], colour), func(t *testing.T) {
				t.Parallel()
				s := newShown(t, script)
				s.write("notes.txt", "one\ntwo\n")
				s.env = append(s.env, colour)
				name := fmt.Sprintf("run_%s_%dx%d", map[string]string{"": "colour", "NO_COLOR=1": "plain"}[colour], size[0], size[1])
				term := screen.Start(t, s.command("--max-cost", "0.50"), size[0], size[1])
				last := "/$0.50"
				if size[0] < 60 {
					last = "step 1/100"
				}
				during := term.WaitFor("the whole region", func(s screen.Screen) bool { return s.Contains("└ compiling") && s.Contains(last) })
				s.write("continue", "")
				code, _ := term.WaitRestored()
				if code != 0 {
					t.Errorf("exit code %d", code)
				}
				testkit.Golden(t, name+".golden", still(during.Styled())+"-- and then\n"+still(term.Screen().Styled()))
			})
		}
	}
}

// A locale without UTF-8 gets marks of ASCII.
func TestRunScreenASCII(t *testing.T) {
	s := newShown(t, "[[turn]]"+waits+"[[turn]]\ntext = \"Done.\"\n")
	s.env = append(s.env, "LC_ALL=C")
	term := screen.Start(t, s.command(), 80, 24)
	term.WaitForText("` compiling")
	s.write("continue", "")
	if code, _ := term.WaitRestored(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, r := range term.Output() {
		if r > 0x7e {
			t.Fatalf("%q is not ASCII:\n%v", r, term.Screen())
		}
	}
	if s := term.Screen(); !s.Contains("+ completed in") {
		t.Errorf("%v", s)
	}
}

// terminals are two independent emulators, 120 columns wide and 30 rows high.
var terminals = map[string]func(testing.TB, *exec.Cmd) screen.Driver{
	"emulator": func(t testing.TB, cmd *exec.Cmd) screen.Driver { return screen.Start(t, cmd, 120, 30) },
	"tmux":     func(t testing.TB, cmd *exec.Cmd) screen.Driver { return screen.StartTmux(t, cmd, 120, 30) },
}

// streamed is an answer of twelve sentences that comes slowly.
var streamed = "[[turn]]\neventDelay = \"25ms\"\ntext = \"" + strings.Repeat("Words that fill a line of the terminal and more than one. ", 12) + "\"\n"

// The terminal can change its size while text streams. Terminals differ in what they do to lines that are
// too long then: the emulator cuts them, tmux breaks them.
func TestRunResize(t *testing.T) {
	for name, start := range terminals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := start(t, newShown(t, streamed).command())
			d.WaitForText("Words that fill a line of the terminal and more than one. Words that")
			for _, columns := range []int{40, 120, 40, 80, 120} {
				d.Resize(columns, 30)
				d.WaitFor("one region of the new width", func(s screen.Screen) bool {
					all := strings.Join(s.Lines(), "\n")
					return strings.Count(all, "answering") == 1 && strings.Count(all, "Words") >= 120/60 || strings.Contains(all, "completed")
				})
			}
			s := d.WaitForText("completed in")
			all := strings.Join(s.Lines(), "\n")
			// tmux moves the first line out of sight when it breaks lines.
			if strings.Contains(all, "answering") || name == "emulator" && strings.Count(all, "writer · ") != 1 || strings.Count(strings.Join(strings.Fields(all), " "), "Words that fill") != 12 {
				t.Errorf("%v", s)
			}
		})
	}
}

// However a run ends, the terminal is as it was, and what is said then has lines of its own.
func TestRunEnds(t *testing.T) {
	start := func(t *testing.T) (*shown, *screen.Terminal) {
		s := newShown(t, "[[turn]]"+waits+"[[turn]]\ntext = \"Done.\"\n")
		term := screen.Start(t, s.command(), 80, 24)
		term.WaitForText("└ compiling")
		return s, term
	}
	t.Run("interrupt", func(t *testing.T) {
		t.Parallel()
		_, term := start(t)
		term.Send(screen.CtrlC)
		if code, _ := term.WaitRestored(); code != 130 {
			t.Errorf("exit code %d", code)
		}
		s := term.Screen()
		for _, text := range []string{"perstack: stopping and saving; interrupt again to quit at once", "✗ stopped after", "perstack: stopped (received interrupt)"} {
			if !strings.HasPrefix(strings.TrimPrefix(s.Line(text), "^C"), text) {
				t.Errorf("%q has no line of its own:\n%v", text, s)
			}
		}
		if strings.Contains(s.Text(), "⠋") || s.Contains("└ compiling") {
			t.Errorf("the region is left:\n%v", s)
		}
	})
	t.Run("stop and continue", func(t *testing.T) {
		t.Parallel()
		s, term := start(t)
		term.Send(screen.CtrlZ)
		term.WaitForStop()
		term.WaitForGone("└ compiling") // what was written before may still be on its way
		term.Continue()
		term.WaitForText("└ compiling")
		s.write("continue", "")
		if code, _ := term.WaitRestored(); code != 0 || !term.Screen().Contains("✓ completed in") {
			t.Errorf("exit code %d\n%v", code, term.Screen())
		}
	})
	t.Run("kill", func(t *testing.T) {
		t.Parallel()
		_, term := start(t)
		if err := syscall.Kill(term.Pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if _, killed := term.WaitRestored(); killed != syscall.SIGKILL {
			t.Errorf("killed by %v", killed)
		}
	})
	t.Run("hang-up", func(t *testing.T) {
		t.Parallel()
		_, term := start(t)
		term.HangUp()
		if code, _ := term.Wait(); code != 129 {
			t.Errorf("exit code %d", code)
		}
	})
}

// slowModels are providers that stall and retry, and tools that do not end, with what perstack run and
// perstack start show of them.
var slowModels = map[string]struct{ script, run, start string }{
	"no answer":  {"[[turn]]\ndelay = \"60s\"\ntext = \"Late.\"\n", "waiting for the model", "waiting for the model"},
	"retry":      {"[[turn]]\n[turn.error]\nstatus = 529\nretryAfter = \"60\"\n[[turn]]\ntext = \"Late.\"\n", "retrying", "retrying"},
	"no output":  {"[[turn]]\nsilence = \"60s\"\ntext = \"Late.\"\n", "waiting for the model", "waiting for the model"},
	"for ever":   {"[[turn]]\n[[turn.call]]\ntool = \"exec\"\nargs = { command = \"sh\", args = [\"-c\", \"while :; do echo again; done\"] }\n", "└ again", "└ again"},
	"half a day": {"[[turn]]\n[[turn.call]]\ntool = \"exec\"\nargs = { command = \"sleep\", args = [\"43200\"] }\n", "○ Run   sleep 43200", "▸ Run  sleep 43200"},
}

// A provider that stalls or retries is seen as that.
func TestRunWaitsForModel(t *testing.T) {
	for name, tt := range slowModels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShown(t, tt.script)
			s.env = append(s.env, "PERSTACK_TEST_FIXED=") // a fixed clock does not wait for retries
			term := screen.Start(t, s.command(), 80, 24)
			term.WaitForText(tt.run)
			before := term.WaitFor("a status line", func(s screen.Screen) bool { return strings.ContainsAny(s.Text(), "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") })
			term.WaitFor("another frame", func(s screen.Screen) bool { return s.Text() != before.Text() })
			term.Send(screen.CtrlC)
			if code, _ := term.WaitRestored(); code != 130 {
				t.Errorf("exit code %d:\n%v", code, term.Screen())
			}
		})
	}
}

// A question has the terminal for itself.
func TestRunAsks(t *testing.T) {
	s := newShown(t, "[[turn]]\n[[turn.call]]\ntool = \"createDirectory\"\nargs = { path = \"made\" }\n[[turn]]\n"+waits[1:]+"[[turn]]\ntext = \"Done.\"\n")
	s.write("perstack.toml", "model = \"claude-sonnet-4-5\"\napprovals = \"ask\"\n[provider]\nproviderName = \"anthropic\"\n[experts.writer]\ninstruction = \"Write.\"\n")
	term := screen.Start(t, s.command(), 80, 24)
	asked := term.WaitFor("the question", func(s screen.Screen) bool { return s.Contains("? help") && s.CursorX == 2 })
	if strings.ContainsAny(asked.Text(), "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") {
		t.Errorf("the region is beside the question:\n%v", asked)
	}
	term.Send("y")
	term.WaitFor("the letter", func(s screen.Screen) bool { return s.Contains("> y") })
	term.Send(screen.Enter)
	term.WaitForText("● Mkdir made")
	term.Send(screen.CtrlC)
	term.WaitRestored()
	if _, err := os.Stat(filepath.Join(s.dir, "made")); err != nil {
		t.Error(err)
	}
}

// The user answers an Expert in place, and the live lines return.
func TestRunAnswers(t *testing.T) {
	s := newShown(t, "[[turn]]\n[[turn.call]]\ntool = \"askUser\"\nargs = { question = \"Which day?\" }\n[[turn]]"+waits+"[[turn]]\ntext = \"Done.\"\n")
	s.write("perstack.toml", `model = "claude-sonnet-4-5"
[provider]
providerName = "anthropic"
[experts.writer]
instruction = "Write."
[experts.writer.skills.user]
type = "interactiveSkill"
[experts.writer.skills.user.tools.askUser]
inputJsonSchema = '{"type":"object"}'
`)
	term := screen.Start(t, s.command(), 80, 24)
	asked := term.WaitFor("the question", func(s screen.Screen) bool { return s.Contains("Which day?") && s.Contains("Enter: send") })
	if strings.ContainsAny(asked.Text(), "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") {
		t.Errorf("the region is beside the question:\n%v", asked)
	}
	term.Send("Tuesday")
	term.WaitForText("Tuesday")
	term.Send(screen.Enter)
	term.WaitForText("└ compiling")
	s.write("continue", "")
	code, _ := term.WaitRestored()
	if now := term.Screen(); code != 0 || !now.Contains("Tuesday") || !now.Contains("✓ completed in") || strings.ContainsAny(now.Text(), "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") {
		t.Errorf("exit code %d\n%v", code, now)
	}
	if n := strings.Count(term.Screen().Text(), "Which day?"); n != 1 {
		t.Errorf("the question is there %d times:\n%v", n, term.Screen())
	}
}
