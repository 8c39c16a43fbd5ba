package test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/screen"
)

const journeyConfig = `[[rules]]
command = ["rm", "**"]
do = "ask"
why = "deleting needs a person"
[experts.lead]
description = "plans trips"
instruction = "Plan."
delegates = ["finder"]
[experts.lead.skills.user]
type = "interactiveSkill"
[experts.lead.skills.user.tools.ask]
description = "Asks the user a question"
inputJsonSchema = '{"type":"object","properties":{"question":{"type":"string"}},"required":["question"]}'
[experts.finder]
description = "finds flights"
instruction = "Find."
`

const journeyCassette = `[[turn]]
expert = "lead"
contains = "By train"
text = "Then by train."
[[turn]]
expert = "lead"
text = "I look for **flights** first. 日本語 🎉"
[[turn.call]]
tool = "finder"
args = { query = "Flights in May" }
[[turn]]
expert = "finder"` + waits + `[[turn]]
expert = "finder"
text = "Two direct flights."
[[turn]]
expert = "lead"
[[turn.call]]
tool = "writeTextFile"
args = { path = "plan.txt", text = "Fly on Friday.\n" }
[[turn]]
expert = "lead"
[[turn.call]]
tool = "exec"
args = { command = "rm", args = ["-r", "old drafts"] }
[[turn]]
expert = "lead"
[[turn.call]]
tool = "exec"
args = { command = "rm", args = ["notes.txt"] }
[[turn]]
expert = "lead"
[[turn.call]]
tool = "ask"
args = { question = "Which hotel?" }
[[turn]]
expert = "lead"
[[turn.call]]
tool = "writeTextFile"
args = { path = "hotel.txt", text = "By the sea.\n" }
[[turn]]
expert = "lead"
text = "The plan is in plan.txt."
`

// timeless is a screen with the same spinner and the same durations at all times. The clock of the
// jobs is fixed, and that of the program is not.
func timeless(text string) string {
	text = regexp.MustCompile("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]").ReplaceAllString(text, "⠋")
	text = regexp.MustCompile(`\b\d{6}m\d\ds`).ReplaceAllString(text, "000000m00s")
	return regexp.MustCompile(`\b\d\d:\d\d ·`).ReplaceAllString(text, "00:00 ·") + "\n"
}

// exists reports whether the project has a file.
func (s *session) exists(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

// A newcomer starts, asks, watches a delegate, approves a command, denies another, answers a
// question, looks at a diff, takes two steps back with the files, branches, quits and returns.
func TestStartJourney(t *testing.T) {
	for _, size := range []struct {
		columns, rows int
		more          string
	}{{80, 24, ""}, {120, 40, "NO_COLOR=1"}} {
		t.Run(fmt.Sprintf("%dx%d", size.columns, size.rows), func(t *testing.T) {
			t.Parallel()
			s := newSession(t, journeyConfig, journeyCassette)
			s.env = append(s.env, "TZ=UTC", size.more)
			s.write("notes.txt", "Lisbon.\n")
			if err := os.Mkdir(filepath.Join(s.dir, "old drafts"), 0o755); err != nil {
				t.Fatal(err)
			}
			golden := func(name string, shown screen.Screen) {
				t.Helper()
				testkit.Golden(t, fmt.Sprintf("start_%s_%dx%d.golden", name, size.columns, size.rows), timeless(shown.Styled()))
			}
			s.journey(t, screen.Start(t, s.command(), size.columns, size.rows), golden)
			s.comeBack(t, screen.Start(t, s.command(), size.columns, size.rows), golden)
			s.open(t, screen.Start(t, s.command(), size.columns, size.rows))
		})
	}
}

// press types a key until the screen shows that it counted. The program drops keys that come before a
// person can have read a question.
func press(t *testing.T, term *screen.Terminal, key, what string, holds func(screen.Screen) bool) {
	t.Helper()
	for range 60 {
		term.Send(key)
		for late := time.After(time.Second); ; {
			if holds(term.Screen()) {
				return
			}
			select {
			case <-late:
			case <-time.After(10 * time.Millisecond):
				continue
			}
			break
		}
	}
	t.Fatalf("the key %q does not lead to: %s\n%v", key, what, term.Screen())
}

// focus makes keys go to the question.
func focus(t *testing.T, term *screen.Terminal) {
	t.Helper()
	press(t, term, screen.Tab, "a focused question", func(s screen.Screen) bool { return !s.Contains("Tab to answer") })
}

func (s *session) journey(t *testing.T, term *screen.Terminal, golden func(string, screen.Screen)) {
	t.Helper()
	golden("experts", term.WaitForText("finder"))
	term.Send(screen.Enter)
	term.WaitForGone("Experts")
	term.Send("Plan a weekend" + screen.Enter)

	approve := func(command string) {
		t.Helper()
		term.WaitFor("the question about "+command, func(s screen.Screen) bool { return s.Contains("Approve?") && s.Contains(command) })
		term.Send("y") // nothing but the input has the focus
		term.WaitForText("> y")
		term.Send(screen.Back)
		focus(t, term)
		press(t, term, "y", "the answer", func(s screen.Screen) bool { return !s.Contains("y once  ") })
	}
	approve("sh")
	golden("delegate", term.WaitForText("└ compiling"))
	s.write("continue", "")
	approve("rm -r")
	term.WaitForText("Approve? exec  rm notes.txt")
	focus(t, term)
	term.Send("n")
	term.WaitForText("why not?")
	term.Send("keep it" + screen.Enter)
	golden("question", term.WaitFor("the question", func(s screen.Screen) bool { return s.Contains("Which hotel?") && s.Contains("answer >") }))
	if s.exists("old drafts") || !s.exists("notes.txt") {
		t.Error("the command that was approved was not run, or the denied one was")
	}
	term.Send("By the sea")
	term.WaitForText("answer > By the sea")
	press(t, term, screen.Enter, "the answer is sent", func(s screen.Screen) bool { return !s.Contains("answer > By the sea") })
	golden("answer", term.WaitFor("the end", func(s screen.Screen) bool { return s.Contains("The plan is in plan.txt.") && s.Contains("completed") }))
	s.quit(t, term)
}

// quit leaves, which prints how to return.
func (s *session) quit(t *testing.T, term *screen.Terminal) {
	t.Helper()
	term.Send(screen.CtrlC)
	term.WaitForText("again")
	term.Send(screen.CtrlC)
	if code, _ := term.WaitRestored(); code != 0 || !strings.Contains(strings.Join(term.Screen().Lines(), ""), "perstack start --continue-job id") {
		t.Errorf("exit code %d:\n%v", code, term.Screen())
	}
}

// comeBack finds the job in the history, looks at what its last steps changed, and takes them back.
func (s *session) comeBack(t *testing.T, term *screen.Terminal, golden func(string, screen.Screen)) {
	t.Helper()
	term.WaitForText("Plan a weekend")
	term.Send("c")
	golden("checkpoints", term.WaitForText("step 1 "))
	term.Send(screen.Down + screen.Down + "d")
	golden("diff", term.WaitForText("+By the sea."))
	term.Send(screen.Escape)
	term.WaitForText("step 1 ")
	if !s.exists("hotel.txt") {
		t.Error("the file is gone already")
	}
	term.Send("w")
	golden("rewind", term.WaitForText("Rewind to step 8?"))
	press(t, term, "y", "the conversation", func(s screen.Screen) bool { return !s.Contains("Checkpoints") })
	term.Send("By train")
	term.WaitForText("> By train")
	press(t, term, screen.Enter, "the message is sent", func(s screen.Screen) bool { return !s.Contains("> By train") })
	golden("branch", term.WaitFor("the other answer", func(s screen.Screen) bool { return s.Contains("Then by train.") && s.Contains("completed") }))
	if s.exists("hotel.txt") || !s.exists("plan.txt") {
		t.Error("the files are not those of the checkpoint")
	}
	s.quit(t, term)
}

// open opens the job from the history.
func (s *session) open(t *testing.T, term *screen.Terminal) {
	t.Helper()
	term.WaitForText("Plan a weekend")
	term.Send(screen.Enter)
	term.WaitForText("Then by train.")
	s.quit(t, term)
}
