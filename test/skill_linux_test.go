package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// hosting is a project whose server has children that do not want to end, one of them in
// a session of its own. Its tool never answers.
func hosting(t *testing.T) map[string]string {
	t.Helper()
	testkit.Need(t, "setsid")
	return map[string]string{
		"perstack.toml": slow["perstack.toml"] + `[experts.writer.skills.stubborn]
type = "mcpStdioSkill"
command = "sh"
args = ["serve"]
`,
		"cassette.toml": `[[turn]]
[[turn.call]]
tool = "echo"
args = { text = "hi" }
[[turn]]
text = "Worked."
`,
		"idle": leavingProcesses("")["idle"],
		"serve": `sh idle plain </dev/null >/dev/null 2>&1 &
setsid sh idle session </dev/null >/dev/null 2>&1 &
while ! [ -e plain -a -e session ]; do sleep 0.01; done
echo $$ >server
exec ` + strconv.Quote(evil.Program(t)) + ` hang-call
`,
	}
}

// serverProcesses are the processes of the server, with perstack's supervisor.
func serverProcesses(t *testing.T, dir string, stderr *lines) map[string]int {
	t.Helper()
	family := map[string]int{}
	for _, name := range []string{"plain", "session", "server"} {
		family[name] = number(t, filepath.Join(dir, name))
		if !running(family[name]) {
			t.Fatalf("%s is dead already; %s", name, stderr)
		}
	}
	family["supervisor"] = parent(t, family["server"])
	if name, _ := os.ReadFile("/proc/" + strconv.Itoa(family["supervisor"]) + "/cmdline"); string(name) != "perstack-supervisor\x00" {
		t.Fatalf("the server was started by %q", name)
	}
	return family
}

// S4: no process of a skill survives perstack, however it ends; and a run that was
// stopped by a signal is saved.
func TestNoServerSurvives(t *testing.T) {
	t.Run("kill", func(t *testing.T) {
		cmd, stderr := start(t, hosting(t), "startToolCall")
		family := serverProcesses(t, cmd.Dir, stderr)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		gone(t, family)
	})
	t.Run("signal", func(t *testing.T) {
		cmd, stderr := start(t, hosting(t), "startToolCall")
		family := serverProcesses(t, cmd.Dir, stderr)
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if code := exitCode(t, cmd.Wait()); code != 130 {
			t.Errorf("exit code %d, want 130; %s", code, stderr)
		}
		gone(t, family)
		checkEnd(t, cmd.Dir, event.StatusStoppedByInterrupt)
	})
	t.Run("two signals", func(t *testing.T) {
		cmd, stderr := start(t, hosting(t), "startToolCall")
		family := serverProcesses(t, cmd.Dir, stderr)
		interruptTwice(t, cmd, stderr)
		if code := exitCode(t, cmd.Wait()); code != 130 {
			t.Errorf("exit code %d, want 130; %s", code, stderr)
		}
		gone(t, family)
	})
}

// launch runs perstack in a project and waits for nothing.
func launch(t *testing.T, project map[string]string) (*exec.Cmd, *lines) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range project {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("perstack", "run", "writer", "go", "--job-id", "job")
	cmd.Dir = dir
	var stderr lines
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &stderr
}

// A signal while servers start stops them as well, without waiting for their timeout.
func TestSignalWhileSkillsStart(t *testing.T) {
	project := hosting(t)
	project["serve"] = `sh idle plain </dev/null >/dev/null 2>&1 &
while ! [ -e plain ]; do sleep 0.01; done
echo $$ >server.tmp; mv server.tmp server
exec ` + strconv.Quote(evil.Program(t)) + ` hang-initialize
`
	cmd, stderr := launch(t, project)
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(cmd.Dir, "server")); return err == nil })
	family := map[string]int{"plain": number(t, filepath.Join(cmd.Dir, "plain")), "server": number(t, filepath.Join(cmd.Dir, "server"))}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, cmd.Wait()); code != 130 {
		t.Errorf("exit code %d, want 130; %s", code, stderr)
	}
	gone(t, family)
	checkEnd(t, cmd.Dir, event.StatusStoppedByInterrupt)
}
