package test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/screen"
)

// screen starts perstack on a terminal.
func (c *consenting) screen(columns, rows int, args ...string) *screen.Terminal {
	c.t.Helper()
	cmd := exec.Command("perstack", args...)
	cmd.Dir, cmd.Env = c.dir, append(c.env, "TERM=xterm-256color", "LANG=C.UTF-8", "NO_COLOR=1")
	return screen.Start(c.t, cmd, columns, rows)
}

// perstack runs it without a terminal.
func (c *consenting) perstack(args ...string) (string, int) {
	c.t.Helper()
	cmd := exec.Command("perstack", args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := cmd.CombinedOutput()
	return string(out), exitCode(c.t, err)
}

func wantExit(t *testing.T, term *screen.Terminal, want int) {
	t.Helper()
	if code, killed := term.WaitRestored(); code != want || killed != 0 {
		t.Errorf("exit code %d, signal %v, want %d\n%v", code, killed, want, term.Screen())
	}
}

// A query that is missing is asked for, and offered again. Leaving starts nothing.
func TestQueryOnTerminal(t *testing.T) {
	c := newConsenting(t)
	c.write("perstack.toml", sandboxedProject)
	c.write(".env", "MAIL_KEY=0123456789abcdefghij-XYZ\n")

	term := c.screen(80, 24, "run", "helper")
	term.WaitForText("What should helper do?")
	term.Send(screen.CtrlC)
	wantExit(t, term, 130)
	term = c.screen(80, 24, "run") // the only Expert
	term.WaitForText("What should helper do?")
	term.Send("\x04")
	wantExit(t, term, 130)
	if out, _ := c.perstack("log"); !strings.Contains(out, "No data found") {
		t.Errorf("a job was started: %s", out)
	}

	term = c.screen(80, 24, "run", "helper", "--job-id", "first")
	term.WaitForText("Ctrl-C: leave")
	term.Send("one 0123456789abcdefghij-XYZ" + screen.AltEnter)
	term.Paste("two\nthree")
	term.WaitForText("three")
	term.Send(screen.Enter)
	wantExit(t, term, 0)
	out, _ := c.perstack("log", "first", "--json")
	if !strings.Contains(out, `\ntwo\nthree`) {
		t.Errorf("the job has another query: %s", out)
	}

	term = c.screen(80, 24, "run", "helper")
	term.WaitForText("Ctrl-C: leave")
	term.Send(screen.Up)
	s := term.WaitForText("three")
	if !s.Contains("> one [redacted: MAIL_KEY]") || s.Contains("abcdefghij") {
		t.Errorf("the history has the key:\n%v", s)
	}
	term.Send(screen.CtrlC)
	wantExit(t, term, 130)

	term = c.screen(80, 24, "run", "helper", "--no-input")
	wantExit(t, term, 2)
	if s := term.Screen(); !s.Contains("no query given") {
		t.Errorf("%v", s)
	}
}

// Among several Experts, the user chooses.
func TestChooseExpert(t *testing.T) {
	c := newConsenting(t)
	c.write("perstack.toml", sandboxedProject+"[experts.clerk]\ndescription = \"Files the mail\"\ninstruction = \"File.\"\n")
	term := c.screen(80, 24, "run")
	term.WaitForText("Which Expert?")
	if s := term.Screen(); !s.Contains("  1  helper") || !s.Contains("  2  clerk  Files the mail") {
		t.Errorf("%v", s)
	}
	term.Send("7" + screen.Enter)
	term.WaitForText(`There is no Expert "7".`)
	term.Send("2" + screen.Enter)
	term.WaitForText("What should clerk do?")
	term.Send("file it" + screen.Enter)
	wantExit(t, term, 0)
	out, code := c.perstack("run")
	if code != 2 || !strings.Contains(out, "has: helper, clerk") {
		t.Errorf("without a terminal: %d, %s", code, out)
	}
}

// asking is a project whose Expert asks two questions.
func asking(t *testing.T) *consenting {
	c := newConsenting(t)
	c.write("perstack.toml", sandboxedProject+"[experts.helper.skills.user]\ntype = \"interactiveSkill\"\n[experts.helper.skills.user.tools.ask]\n"+
		"inputJsonSchema = '{\"type\":\"object\",\"properties\":{\"question\":{\"type\":\"string\"}},\"required\":[\"question\"]}'\n")
	var turn strings.Builder
	turn.WriteString("[[turn]]\n")
	for _, question := range []string{"What is the budget?", "When? \u001b[2J日本"} {
		fmt.Fprintf(&turn, "[[turn.call]]\ntool = \"ask\"\nargs = { question = %s }\n", strings.ReplaceAll(fmt.Sprintf("%+q", question), `\x1b`, `\u001b`))
	}
	c.write("cassette.toml", turn.String()+"[[turn]]\ntext = \"In May.\"\n")
	return c
}

// Questions of an Expert are asked one after the other, and the same process continues with the answers.
func TestQuestionOnTerminal(t *testing.T) {
	c := asking(t)
	term := c.screen(80, 24, "run", "helper", "plan", "--job-id", "trip")
	term.WaitForText("  | What is the budget?")
	term.WaitForText("Ctrl-C: leave")
	term.Send("500 EUR" + screen.Enter)
	term.WaitForText("  | When? <U+001B>[2J日本")
	if s := term.WaitForText("Ctrl-C: leave"); s.Contains("· step ") {
		t.Errorf("the status line is between the question and its answer:\n%v", s)
	}
	term.Send("in May" + screen.Enter)
	wantExit(t, term, 0)
	if s := term.Screen(); !s.Contains("In May.") {
		t.Errorf("%v", s)
	}
	out, _ := c.perstack("log", "trip", "--records")
	if strings.Count(out, `"type":"endToolCall"`) != 2 || !strings.Contains(out, "500 EUR") || strings.Contains(out, "stopRunByInteractiveTool") {
		t.Errorf("the journal: %s", out)
	}
}

// A question that the user leaves stays open, and is asked again when the job resumes.
func TestQuestionIsLeft(t *testing.T) {
	c := asking(t)
	term := c.screen(80, 24, "run", "helper", "plan", "--job-id", "trip")
	term.WaitForText("Ctrl-C: leave")
	term.Send("50" + screen.CtrlC)
	wantExit(t, term, 4)
	if s := term.Screen(); !s.Contains("no answer; the job waits") || !s.Contains("--continue-job trip") {
		t.Errorf("%v", s)
	}
	for _, args := range [][]string{{"run", "--continue-job", "trip", "--no-input"}} {
		term = c.screen(80, 24, args...)
		wantExit(t, term, 2)
	}
	term = c.screen(80, 24, "run", "--continue-job", "trip")
	term.WaitForText("  | What is the budget?")
	term.WaitForText("Ctrl-C: leave")
	term.Send("500" + screen.Enter)
	term.WaitForText("  | When?")
	term.WaitForText("Ctrl-C: leave")
	term.Send("in May" + screen.Enter)
	wantExit(t, term, 0)
	// Without a terminal, or with --no-input on one, nothing is asked.
	if out, code := c.perstack("run", "helper", "plan", "--job-id", "again"); code != 4 {
		t.Errorf("%d: %s", code, out)
	}
	term = c.screen(80, 24, "run", "helper", "plan", "--job-id", "more", "--no-input")
	wantExit(t, term, 4)
}
