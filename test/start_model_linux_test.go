package test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/screen"
)

// The screen changes its size while an answer streams, and nothing is lost or left of another size.
func TestStartResize(t *testing.T) {
	for name, start := range terminals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := start(t, newShown(t, streamed).perstack("start", "writer", "Summarise notes.txt"))
			d.WaitForText("Words that fill a line")
			for _, columns := range []int{40, 120, 40, 80, 120} {
				d.Resize(columns, 30)
				d.WaitFor("the screen in its new width", func(s screen.Screen) bool {
					return s.AltScreen && s.Contains("Words that") && s.Contains("RUNS") == (columns >= 80) && strings.HasPrefix(s.Lines()[29], " ")
				})
			}
			s := d.WaitForText("completed")
			answer := ""
			for _, line := range s.Lines() {
				line, _, _ = strings.Cut(line, "│") // the panel
				answer += " " + line
			}
			if n := strings.Count(strings.Join(strings.Fields(answer), " "), "Words that fill"); n != 12 || s.Contains("answering") {
				t.Errorf("%d of 12 sentences:\n%v", n, s)
			}
			leaveStart(d)
		})
	}
}

// leaveStart leaves the program, in which nothing runs.
func leaveStart(d screen.Driver) {
	d.Send(screen.CtrlC)
	d.WaitForText("again quits")
	d.Send(screen.CtrlC)
	d.WaitFor("the end", func(s screen.Screen) bool { return !s.AltScreen })
}

// A provider that stalls, retries or fails is seen as that. A tool that does not end does not hold up
// the screen.
func TestStartWaitsForModel(t *testing.T) {
	for name, tt := range slowModels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShown(t, tt.script)
			s.env = append(s.env, "PERSTACK_TEST_FIXED=") // a fixed clock does not wait for retries
			term := screen.Start(t, s.perstack("start", "writer", "Summarise notes.txt"), 80, 24)
			before := term.WaitForText(tt.start)
			term.WaitFor("another frame", func(s screen.Screen) bool { return s.Text() != before.Text() })
			term.Send("a message") // the keyboard is not held up
			term.WaitForText("> a message")
			term.Send(screen.CtrlC)
			term.WaitForText("Enter resumes")
			term.Send(screen.CtrlC)
			if code, _ := term.WaitRestored(); code != 0 || !strings.Contains(strings.Join(term.Screen().Lines(), ""), "perstack start --continue-job ") {
				t.Errorf("exit code %d:\n%v", code, term.Screen())
			}
		})
	}
	t.Run("for good", func(t *testing.T) {
		t.Parallel()
		s := newShown(t, "[[turn]]\n[turn.error]\nstatus = 400\nmessage = \"no such model\"\n[[turn]]\ntext = \"Now it works.\"\n")
		term := screen.Start(t, s.perstack("start", "writer", "Summarise notes.txt"), 80, 24)
		term.WaitForText("400 Bad Request: no such")
		term.WaitForText("Enter resumes")
		term.Send(screen.Enter)
		term.WaitForText("Now it works.")
		term.WaitForText("completed") // Ctrl-C would stop the Run otherwise
		leaveStart(term)
	})
}

// Fifty delegates work at once. The panel has a row for each, and the transcript their answers.
func TestStartManyDelegates(t *testing.T) {
	const many = 50
	config := "[experts.lead]\ninstruction = \"Plan.\"\ndelegates = [\"finder\"]\n[experts.finder]\ndescription = \"finds\"\ninstruction = \"Find.\"\n"
	cassette := "[[turn]]\nexpert = \"lead\"\n"
	for i := range many {
		cassette += fmt.Sprintf("[[turn.call]]\ntool = \"finder\"\nargs = { query = \"Place %d\" }\n", i)
	}
	cassette += "[[turn]]\nexpert = \"finder\"" + waits + "[[turn]]\nexpert = \"finder\"\ntext = \"Found it.\"\n[[turn]]\nexpert = \"lead\"\ntext = \"All are found.\"\n"
	s := newSession(t, config, cassette)
	s.env = append(s.env, "PERSTACK_TEST_FIXED=") // a reproducible job runs one delegate after the other
	term := screen.Start(t, s.command("lead", "Find fifty places", "--max-parallel=50", "--max-steps=200"), 120, 40)
	term.WaitFor("a panel full of delegates", func(s screen.Screen) bool { return strings.Count(s.Text(), "> finder") >= 30 })
	term.Send("a message") // the keyboard is not held up
	term.WaitForText("> a message")
	s.write("continue", "")
	term.WaitFor("the end", func(s screen.Screen) bool { return s.Contains("All are found.") && s.Contains("completed") })
	leaveStart(term)
	log := exec.Command("perstack", "log", "--latest", "--take=0")
	log.Dir, log.Env = s.dir, s.env
	out, err := log.CombinedOutput()
	if n := strings.Count(string(out), "Found it."); err != nil || n != many {
		t.Errorf("%v, %d of %d answers:\n%s", err, n, many, out)
	}
}
