package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// exists reports whether the project has a file.
func (s *session) exists(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

// A journey is what a newcomer does: start, ask, watch a delegate, approve a command, deny another, answer
// a question, look at a diff, take two steps back with the files, branch, quit and return.
type journey struct {
	*session
	t     *testing.T
	start func() screen.Driver // perstack start
	ended func() screen.Screen // waits until the program has left the terminal as it was
	term  screen.Driver
	shown strings.Builder // the screens so far
}

func newJourney(t *testing.T, more ...string) *journey {
	t.Helper()
	j := &journey{session: newSession(t, journeyConfig, journeyCassette), t: t}
	j.env = append(append(j.env, "TZ=UTC"), more...)
	j.write("notes.txt", "Lisbon.\n")
	if err := os.Mkdir(filepath.Join(j.dir, "old drafts"), 0o755); err != nil {
		t.Fatal(err)
	}
	return j
}

// The screens are the same in two emulators, at all sizes, and on a terminal without colours.
func TestStartJourney(t *testing.T) {
	for _, size := range [][2]int{{40, 12}, {80, 24}, {120, 40}} {
		for kind, more := range map[string]string{"colour": "", "plain": "NO_COLOR=1"} {
			name := fmt.Sprintf("%s_%dx%d", kind, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				j := newJourney(t, more)
				var term *screen.Terminal
				j.start = func() screen.Driver {
					term = screen.Start(t, j.command(), size[0], size[1])
					return term
				}
				j.ended = func() screen.Screen {
					if code, _ := term.WaitRestored(); code != 0 {
						t.Errorf("exit code %d:\n%v", code, term.Screen())
					}
					return term.Screen()
				}
				j.travel()
				testkit.Golden(t, "start_"+name+".golden", j.shown.String())
			})
		}
	}
	t.Run("tmux", func(t *testing.T) {
		t.Parallel()
		testkit.Need(t, "tmux")
		j := newJourney(t)
		shell := exec.Command("bash", "--norc", "--noprofile", "-i")
		shell.Dir, shell.Env = j.dir, append(j.env, "PS1=prompt> ", "HISTFILE=")
		tmux := screen.StartTmux(t, shell, 80, 24)
		j.start = func() screen.Driver {
			tmux.WaitForText("prompt>")
			tmux.Send("clear; perstack start\r")
			return tmux
		}
		j.ended = func() screen.Screen {
			return tmux.WaitFor("the prompt", func(s screen.Screen) bool {
				return strings.HasPrefix(s.Lines()[s.CursorY], "prompt>") && !s.AltScreen && s.CursorVisible && !s.Mouse
			})
		}
		j.travel()
		testkit.Golden(t, "start_colour_80x24.golden", j.shown.String())
	})
}

// varying is what differs from one journey to the next, with what stands for it: the spinner, how long
// something takes or is ago, because only the clock of the jobs is fixed, and the number of a record,
// because the journal says more about some sandboxes.
var varying = []struct {
	what *regexp.Regexp
	same string
}{
	{regexp.MustCompile("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]"), "⠋"},
	{regexp.MustCompile(`\b\d{6}m\d\ds`), "000000m00s"},
	{regexp.MustCompile(`\b\d\d:\d\d ·`), "00:00 ·"},
	{regexp.MustCompile(` *(›‹[^|›]*\|)? *\d+[dy]\b`), "${1} 000d"},
	{regexp.MustCompile(`\bs\d+\b`), "s00"},
}

// keep adds a screen to those that the journey is known by.
func (j *journey) keep(name string, shown screen.Screen) {
	text := shown.Styled()
	for _, v := range varying {
		text = v.what.ReplaceAllString(text, v.same)
	}
	fmt.Fprintf(&j.shown, "== %s\n%s\n", name, text)
}

func (j *journey) travel() {
	j.t.Helper()
	j.ask()
	j.comeBack()
	j.open()
}

// apart is more than the time that must lie between a key that decides something and other keys.
const apart = 400 * time.Millisecond

// press types a key alone, and waits for what it does. On a busy machine the program can read it together
// with the key before, and then asks for it again.
func (j *journey) press(key, what string, holds func(screen.Screen) bool) {
	j.t.Helper()
	const refused = "that was too soon"
	for {
		time.Sleep(apart)
		j.term.Send(key)
		if s := j.term.WaitFor(what, func(s screen.Screen) bool { return s.Contains(refused) || holds(s) }); !s.Contains(refused) {
			return
		}
		j.term.Send(screen.Left) // any key takes the notice away
		j.term.WaitForGone(refused)
	}
}

// focus makes keys go to the question.
func (j *journey) focus() {
	j.t.Helper()
	j.press(screen.Tab, "a focused question", func(s screen.Screen) bool { return !s.Contains("Tab to answer") })
}

// read scrolls through a question that does not fit: only one that was seen to its end can be approved.
func (j *journey) read() {
	j.t.Helper()
	for s := j.term.Screen(); s.Contains(" more line"); s = j.term.Screen() {
		j.press(screen.Down, "the next line", func(now screen.Screen) bool { return now.Text() != s.Text() })
	}
}

// waitForAll waits for a screen that has all the texts.
func (j *journey) waitForAll(texts ...string) screen.Screen {
	j.t.Helper()
	return j.term.WaitFor(strings.Join(texts, ", "), func(s screen.Screen) bool { return containsAll(s, texts) })
}

// waitForStill waits for such a screen on which nothing is under way.
func (j *journey) waitForStill(texts ...string) screen.Screen {
	j.t.Helper()
	return j.term.WaitFor(strings.Join(texts, ", "), func(s screen.Screen) bool {
		return containsAll(s, texts) && !strings.ContainsAny(s.Text(), "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	})
}

func containsAll(s screen.Screen, texts []string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !s.Contains(text) })
}

func (j *journey) approve(name, command string) {
	j.t.Helper()
	j.waitForAll("Approve?", command)
	j.term.Send("y") // nothing but the input has the focus
	j.keep(name, j.term.WaitForText("> y"))
	j.term.Send(screen.Back)
	j.focus()
	j.read()
	j.press("y", "the answer", func(s screen.Screen) bool { return !s.Contains("y once") })
}

func (j *journey) ask() {
	j.t.Helper()
	j.term = j.start()
	j.keep("experts", j.waitForStill("finder"))
	j.term.Send(screen.F1)
	j.keep("help", j.waitForStill("perstack · help"))
	j.term.Send(screen.Escape)
	j.term.WaitForText("finder")
	j.term.Send(screen.Ctrl('p'))
	j.keep("palette", j.waitForStill("perstack · actions"))
	j.term.Send(screen.Escape)
	j.term.WaitForText("finder")
	j.term.Send(screen.Enter)
	j.term.WaitForGone("Experts")
	j.term.Send("Plan a weekend" + screen.Enter)

	j.approve("approval of the delegate", "sh")
	j.keep("delegate", j.term.WaitForText("└ compiling"))
	j.write("continue", "")
	j.approve("approval", "rm -r")
	j.waitForAll("Approve?", "rm notes.txt")
	j.focus()
	j.term.Send("n")
	j.term.WaitForText("why not?")
	j.term.Send("keep it" + screen.Enter)
	j.keep("question", j.waitForAll("Which hotel?", "answer >"))
	if j.exists("old drafts") || !j.exists("notes.txt") {
		j.t.Error("the command that was approved was not run, or the denied one was")
	}
	j.term.Send("By the sea")
	j.term.WaitForText("answer > By the sea")
	j.press(screen.Enter, "the answer is sent", func(s screen.Screen) bool { return !s.Contains("answer > By the sea") })
	j.keep("answer", j.waitForStill("The plan is in plan.txt.", "completed"))
	j.quit()
}

// quit leaves, which prints how to return.
func (j *journey) quit() {
	j.t.Helper()
	j.term.Send(screen.CtrlC)
	j.term.WaitForText("again")
	j.term.Send(screen.CtrlC)
	if s := j.ended(); !strings.Contains(strings.Join(s.Lines(), ""), "perstack start --continue-job id") {
		j.t.Errorf("it does not say how to return:\n%v", s)
	}
}

// comeBack finds the job in the history, looks at what its last steps changed, and takes them back.
func (j *journey) comeBack() {
	j.t.Helper()
	j.term = j.start()
	j.keep("history", j.waitForStill("Plan a weekend"))
	j.term.Send("c")
	j.keep("checkpoints", j.waitForStill("step 9 "))
	j.term.Send(screen.Down + screen.Down + "d")
	j.keep("diff", j.waitForStill("+By the sea."))
	j.term.Send(screen.Escape)
	j.term.WaitForText("step 9 ")
	if !j.exists("hotel.txt") {
		j.t.Error("the file is gone already")
	}
	j.term.Send("w")
	j.keep("rewind", j.waitForStill("Rewind to step 8?"))
	j.press("y", "the conversation", func(s screen.Screen) bool { return !s.Contains("Checkpoints") })
	j.term.Send("By train")
	j.term.WaitForText("> By train")
	j.press(screen.Enter, "the message is sent", func(s screen.Screen) bool { return !s.Contains("> By train") })
	j.keep("branch", j.waitForStill("Then by train.", "completed"))
	if j.exists("hotel.txt") || !j.exists("plan.txt") {
		j.t.Error("the files are not those of the checkpoint")
	}
	j.quit()
}

// open opens the job from the history.
func (j *journey) open() {
	j.t.Helper()
	j.term = j.start()
	j.term.WaitForText("Plan a weekend")
	j.term.Send(screen.Enter)
	j.term.WaitForText("Then by train.")
	j.quit()
}
