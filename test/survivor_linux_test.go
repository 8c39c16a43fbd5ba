package test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// leavingProcesses is a project whose command leaves processes behind: in the background, in a
// session of its own, and in one that was forked twice and has closed its streams.
func leavingProcesses(then string) map[string]string {
	return map[string]string{
		"perstack.toml": slow["perstack.toml"],
		"cassette.toml": `[[turn]]
[[turn.call]]
tool = "exec"
args = { command = "sh", args = ["breed", "` + then + `"], timeout = 0 }
[[turn]]
[[turn.call]]
tool = "exec"
args = { command = "sleep", args = ["1000"], timeout = 0 }
[[turn]]
text = "Worked."
`,
		"idle": "echo $$ >$1.tmp; mv $1.tmp $1; trap '' TERM HUP; while :; do sleep 1000; done\n",
		"breed": `sh idle plain &
setsid sh idle session &
setsid sh -c 'setsid sh idle daemon <&- >&- 2>&- &' &
while ! [ -e plain -a -e session -a -e daemon ]; do sleep 0.01; done
echo >ready
if [ $1 = stay ]; then sleep 1000; fi
`,
	}
}

// No process that a command started survives perstack, however it dies.
func TestNothingSurvives(t *testing.T) {
	testkit.Need(t, "setsid")
	t.Run("kill", func(t *testing.T) {
		cmd, stderr := start(t, leavingProcesses("stay"), "startToolCall")
		family := born(t, cmd.Dir, stderr)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed
		gone(t, family)
	})
	t.Run("two signals", func(t *testing.T) {
		cmd, stderr := start(t, leavingProcesses("stay"), "startToolCall")
		family := born(t, cmd.Dir, stderr)
		interruptTwice(t, cmd, stderr)
		if code := exitCode(t, cmd.Wait()); code != 130 {
			t.Errorf("exit code %d, want 130", code)
		}
		gone(t, family)
	})
	t.Run("the end of the call", func(t *testing.T) {
		cmd, stderr := start(t, leavingProcesses("leave"), "resolveToolResults")
		family := map[string]int{}
		for _, name := range []string{"plain", "session", "daemon"} {
			family[name] = number(t, filepath.Join(cmd.Dir, name))
		}
		gone(t, family)
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := exitCode(t, cmd.Wait()); code != 143 {
			t.Errorf("exit code %d, want 143; %s", code, stderr)
		}
	})
}

// born waits until all are up, with perstack and its supervisor among them.
func born(t *testing.T, dir string, stderr *lines) map[string]int {
	t.Helper()
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil })
	family := map[string]int{}
	for _, name := range []string{"plain", "session", "daemon"} {
		family[name] = number(t, filepath.Join(dir, name))
		if !running(family[name]) {
			t.Fatalf("%s is dead already; %s", name, stderr)
		}
	}
	shell := parent(t, family["plain"])
	family["shell"], family["supervisor"] = shell, parent(t, shell)
	if name, _ := os.ReadFile("/proc/" + strconv.Itoa(family["supervisor"]) + "/cmdline"); string(name) != "perstack-supervisor\x00" {
		t.Fatalf("the command was started by %q", name)
	}
	return family
}

func gone(t *testing.T, family map[string]int) {
	t.Helper()
	for name, pid := range family {
		t.Logf("%s is %d", name, pid)
		waitFor(t, func() bool { return !running(pid) })
	}
}

func number(t *testing.T, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// running does not count what is dead and waits to be collected. A process whose first
// thread has ended looks the same and lives on in the others: field 20 of
// proc_pid_stat(5) counts them.
func running(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the first is field 3
	return fields[0] != "Z" || fields[17] != "1" && fields[17] != "0"
}

func parent(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	n, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// E4: the environment that perstack was started with is not in its memory any more
// where the kernel shows it. As root one may look; as a user, even that is refused.
func TestEnvironmentErased(t *testing.T) {
	dir := t.TempDir()
	for name, text := range leavingProcesses("stay") {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const canary = "canary-5512f0"
	cmd := exec.Command(program(t), "run", "writer", "go")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PERSTACK_API_KEY="+canary, "TMPDIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil })
	environ := "/proc/" + strconv.Itoa(cmd.Process.Pid) + "/environ"
	block, err := os.ReadFile(environ)
	if os.Getuid() == 0 && (err != nil || len(bytes.Trim(block, "\x00")) > 0) || os.Getuid() != 0 && !os.IsPermission(err) {
		t.Errorf("%s has %q, %v", environ, block, err)
	}
}
