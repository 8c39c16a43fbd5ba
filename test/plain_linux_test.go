package test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit/screen"
)

// TestPlainApproves answers approvals in plain mode, on a terminal that can only add lines. Lines that
// were entered together approve nothing, and Ctrl-C stops and then quits.
func TestPlainApproves(t *testing.T) {
	s := newShown(t, "[[turn]]\n[[turn.call]]\ntool = \"createDirectory\"\nargs = { path = \"first\" }\n"+
		"[[turn]]\n[[turn.call]]\ntool = \"createDirectory\"\nargs = { path = \"second\" }\n"+
		"[[turn]]\ntext = \"Half of it.\"\n[[turn]]\ndelay = \"60s\"\ntext = \"Late.\"\n")
	s.write("perstack.toml", "model = \"claude-sonnet-4-5\"\napprovals = \"ask\"\n[provider]\nproviderName = \"anthropic\"\n[experts.writer]\ninstruction = \"Write.\"\n")
	cmd := exec.Command("perstack", "start", "writer")
	cmd.Dir, cmd.Env = s.dir, append(s.env, "TERM=dumb", "PERSTACK_TEST_FIXED=")
	term := screen.Start(t, cmd, 100, 60)
	made := func(name string, want bool) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(s.dir, name)); errors.Is(err, fs.ErrNotExist) == want {
			t.Errorf("%s: %v, want made %t\n%v", name, err, want, term.Screen())
		}
	}
	// readable waits until a person could have read a question: an approval counts from then on.
	readable := func() { <-time.After(time.Second) }
	if term.WaitForText("You:"); !term.Screen().Contains("plain mode (TERM is dumb)") {
		t.Errorf("the mode is not named:\n%v", term.Screen())
	}
	term.Send("Make two directories" + screen.Enter)
	shown := term.WaitForText("Approval: Allow this change?")
	if shown.Bells == 0 {
		t.Error("the bell was not rung")
	}
	term.WaitForText("or \"later\".")
	readable()
	term.Send("allow" + screen.Enter + "allow" + screen.Enter)
	term.WaitForText("that does not count")
	made("first", false)
	readable()
	term.Send("allow" + screen.Enter)
	term.WaitForText("Tool: Mkdir first")
	made("first", true)
	term.WaitFor("the second question", func(s screen.Screen) bool { return s.Contains("second") && s.CursorX == len("Approval: ") })
	term.Send("deny not this one" + screen.Enter)
	term.WaitForText("writer: Half of it.")
	made("second", false)

	term.WaitFor("the prompt", func(s screen.Screen) bool { return s.CursorX == len("You: ") })
	term.Send("More" + screen.Enter)
	term.WaitFor("the job to work", func(s screen.Screen) bool { return strings.Count(s.Text(), "Working: ") == 2 })
	term.Send(screen.CtrlC)
	term.WaitForText("Done: stopped")
	term.WaitFor("the prompt", func(s screen.Screen) bool { return s.CursorX == len("You: ") })
	term.Send(screen.CtrlC)
	term.WaitForText("Note: press Ctrl-C again to quit")
	term.Send(screen.CtrlC)
	if code, _ := term.WaitRestored(); code != 0 {
		t.Errorf("exit code %d:\n%v", code, term.Screen())
	}
	if out := term.Screen(); !out.Contains("Resume: perstack start --continue-job ") || out.AltScreen {
		t.Errorf("the end is\n%v", out)
	}
}
