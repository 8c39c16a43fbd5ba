package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/screen"
)

// TestTour does what docs/tour.md says, key by key, and compares the screens that it shows.
func TestTour(t *testing.T) {
	const page = "../docs/tour.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, m := range regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		files = append(files, m[1])
	}
	if len(files) != 2 {
		t.Fatalf("the tour has %d files, want 2", len(files))
	}
	dir, home := filepath.Join(t.TempDir(), "trip"), t.TempDir()
	for name, content := range map[string]string{"perstack.toml": files[0], "answers.toml": files[1], "notes.txt": "An hour of talk: launch in May, not April; tests pass.\n"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start := func(args ...string) *exec.Cmd {
		cmd := exec.Command("perstack", append([]string{"start"}, args...)...)
		cmd.Dir = dir
		cmd.Env = screen.Environ("HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "XDG_STATE_HOME="+filepath.Join(home, "state"), "PERSTACK_TEST_FIXED=1", "TZ=UTC")
		return cmd
	}
	show := func(name string, s screen.Screen) {
		t.Helper()
		testkit.PageBlock(t, page, "./test -run TestTour", name, "```\n"+short(s)+"\n```\n")
	}

	term := screen.Start(t, start(), 80, 24)
	term.WaitForText("Shortens texts.")
	term.Send("wri")
	term.WaitForGone("Shortens texts.")
	term.Send(screen.Enter)
	term.WaitForGone("Experts")
	term.Send("Summarise notes.txt" + screen.Enter)
	term.WaitForText("The summary is in")
	term.WaitForText("completed")
	term.Send("Shorter" + screen.Enter)
	term.WaitForText("You   Shorter")
	show("conversation", term.WaitFor("the second answer", func(s screen.Screen) bool {
		return strings.Count(s.Text(), "Launch in May.") == 2 && s.Contains("completed ")
	}))

	for !strings.HasPrefix(term.Screen().Line("Read  notes.txt"), "▌") {
		before := term.Screen().Text()
		term.Send(screen.CtrlUp)
		term.WaitFor("another row to be selected", func(s screen.Screen) bool { return s.Text() != before })
	}
	term.Send(screen.Enter)
	show("detail", term.WaitForText("totalLines"))
	term.Send(screen.Escape)
	term.WaitForText("You   Shorter")

	term.Send(screen.Ctrl('p'))
	term.WaitForText("All actions")
	term.Send("history" + screen.Enter)
	term.WaitForText("Summarise notes.txt")
	term.WaitForText("c checkpoints")
	term.Send("c")
	show("checkpoints", term.WaitForText("step 1 "))
	term.Send(screen.End)
	term.WaitFor("step 1 to be selected", func(s screen.Screen) bool { return strings.HasPrefix(s.Line("step 1 "), "❯") })
	term.Send("d")
	show("diff", term.WaitForText("+Launch in May."))
	term.Send(screen.Escape)
	term.WaitForText("Checkpoints of")
	term.Send("w")
	term.WaitForText("Rewind to step 1?")
	term.Send("n")
	term.WaitForText("nothing was changed")
	term.Send(screen.Enter)
	term.WaitForText("step 1")
	term.Send(screen.CtrlC)
	term.WaitForText("Ctrl-C again quits")
	term.Send(screen.CtrlC)
	if code, _ := term.WaitRestored(); code != 0 {
		t.Errorf("exit code %d:\n%v", code, term.Screen())
	}
	if !term.Screen().Contains("perstack start --continue-job") {
		t.Errorf("how to return is not said:\n%v", term.Screen())
	}

	lines := start("writer")
	lines.Env = append(lines.Env, "PERSTACK_TEST_FIXED=") // a second job has another id
	lines.Stdin = strings.NewReader("Summarise notes.txt\n")
	out, err := lines.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	for _, want := range []string{"\nTool: Write summary.txt", "writer: The launch moves to May."} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}

// short is a screen of a page, without colours and most of its empty lines.
func short(s screen.Screen) string {
	var out []string
	for i, line := range s.Lines() {
		line = strings.TrimRight(line, " ")
		empty := strings.Trim(line, " │") == ""
		if empty && i > 0 && strings.Trim(out[len(out)-1], " │") == "" {
			continue
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
