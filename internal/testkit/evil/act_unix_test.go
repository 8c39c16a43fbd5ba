//go:build unix

package evil_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// A daemon survives the program that started it and the death of its group; that is why
// it is here.
func TestDaemonise(t *testing.T) {
	file := filepath.Join(t.TempDir(), "beat")
	cmd := exec.Command(evil.Program(t), "daemonise", file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its group is empty, or should be
	if alive, err := evil.Alive(file); !alive || err != nil {
		t.Fatalf("alive %t, %v", alive, err)
	}
	var pid int
	until(t, "the first beat", func() bool { pid = firstPID(t, file); return pid != 0 })
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "the death of the daemon", func() bool { alive, err := evil.Alive(file); return !alive && err == nil })
}

// A daemon whose file is gone goes too.
func TestDaemonEndsWithItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "beat")
	ended := make(chan error)
	go func() { ended <- evil.Heartbeat(t.Context(), file) }()
	until(t, "the first beat", func() bool { return firstPID(t, file) == os.Getpid() })
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func firstPID(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return pid
}

// A fork bomb has as many processes as it says, all alive after their parents.
func TestForkBomb(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bomb")
	if out, err := exec.Command(evil.Program(t), "forkbomb", "7", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var pids []string
	until(t, "the seventh process", func() bool {
		text, _ := os.ReadFile(file) // it comes into being
		pids = strings.Fields(string(text))
		return len(pids) == 7
	})
	for i, text := range pids {
		if alive, err := evil.Alive(file); !alive || err != nil {
			t.Errorf("with %d left: alive %t, %v", 7-i, alive, err)
		}
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Errorf("process %d: %v", pid, err)
		}
	}
	until(t, "the death of all", func() bool { alive, err := evil.Alive(file); return !alive && err == nil })
	if err := evil.ForkBomb(t.Context(), "evilmcp", file, 501); err == nil {
		t.Error("a bomb without bounds")
	}
}

// The server can die by a signal, which its parent sees.
func TestKilledProcess(t *testing.T) {
	cmd := exec.Command(evil.Program(t), "killed")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}` + "\n")
	err := cmd.Run()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if err == nil || !ok || status.Signal() != syscall.SIGKILL {
		t.Errorf("%v", err)
	}
	cmd = exec.Command(evil.Program(t), "die-initialize")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}` + "\n")
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("%v", err)
	}
}

// The hunt finds what is there to be found: this process does not shield itself, so its
// child reads its environment and its memory. Without this, a hunt that finds nothing
// would prove nothing.
func TestHuntInProcesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows other processes as files")
	}
	const marker = "canary-of-the-parent"
	parent := exec.Command("/bin/sh", "-c", `"$0" hunt --marker `+marker+` --levels 1 now; :`, evil.Program(t))
	parent.Env = append(parent.Environ(), "PLANTED="+marker)
	parent.Dir = t.TempDir()
	out, err := parent.Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []evil.Find
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatal(err)
	}
	got := func(suffix string) (evil.Find, bool) {
		i := slices.IndexFunc(found, func(f evil.Find) bool { return f.Who == "parent" && strings.HasSuffix(f.Place, suffix) })
		if i < 0 {
			return evil.Find{}, false
		}
		return found[i], true
	}
	if f, ok := got("/environ"); !ok || !slices.Equal(f.Planted, []string{"PLANTED=" + marker}) {
		t.Errorf("environ of the parent: %+v", f)
	}
	// Reading memory is up to the machine (Yama, a container's profile): it is tried,
	// and the outcome is told.
	if f, ok := got("/mem"); !ok || f.Error == "" && len(f.Planted) == 0 {
		t.Errorf("memory of the parent: %+v", f)
	}
	if _, ok := got("/fd"); !ok {
		t.Error("the open files of the parent were not tried")
	}
}

// The race leaves both names where they were, after an even number of swaps.
func TestRaceMode(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a", "inside"), "")
	if err := os.Symlink("elsewhere", filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	c := dial(t, evil.Options{Mode: "race", Dir: dir, N: 11})
	c.hello()
	if got := c.call("race", nil); got != `{"done":true}` {
		t.Fatal(got)
	}
	if target, err := os.Readlink(filepath.Join(dir, "a")); err != nil || target != "elsewhere" {
		t.Errorf("after an odd number a is %q, %v", target, err)
	}
	c = dial(t, evil.Options{Mode: "race", Dir: filepath.Join(dir, "absent")})
	if got := c.call("race", nil); !strings.Contains(got, `"done":false`) {
		t.Error(got)
	}
}
