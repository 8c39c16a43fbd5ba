package test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// When perstack, the holder of a sandbox of level full, or the first process of a command is
// killed, no process, mount or file of the command is left.
func TestFullKilled(t *testing.T) { fullKilled(t) }

func fullKilled(t *testing.T) {
	t.Helper()
	testkit.Need(t, "setsid")
	t.Setenv("PERSTACK_SANDBOX", "full")
	for _, victim := range []string{"perstack", "perstack with a stopped holder", "perstack-supervisor", "perstack-command"} {
		t.Run(victim, func(t *testing.T) {
			tmp, before := t.TempDir(), mounts(t)
			t.Setenv("TMPDIR", tmp)
			project := leavingProcesses("stay")
			cmd, stderr := start(t, project, "startToolCall")
			ready := filepath.Join(cmd.Dir, "ready")
			waitFor(t, func() bool { _, err := os.Stat(ready); return err == nil })
			family := descendants(cmd.Process.Pid)
			// Three that stay behind, the shell that started them, and at least the two of perstack.
			if len(family) < 6 {
				t.Fatalf("%d processes: %v; %s", len(family), family, stderr)
			}
			killed := cmd.Process.Pid
			program := strings.HasPrefix(victim, "perstack ") || victim == "perstack"
			for pid, name := range family {
				if name == victim {
					killed = pid
				}
				if name == "perstack-supervisor" && victim == "perstack with a stopped holder" {
					if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() {
						if running(pid) {
							_ = syscall.Kill(pid, syscall.SIGKILL)
						}
					})
				}
			}
			if killed == cmd.Process.Pid && !program {
				t.Fatalf("there is no %s in %v", victim, family)
			}
			if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			for pid, name := range family {
				if victim == "perstack-command" && name == "perstack-supervisor" {
					continue // it holds the sandbox for the next command
				}
				waitFor(t, func() bool { return !running(pid) })
			}
			if !program { // which continues: the command has failed
				waitFor(t, func() bool {
					return slices.Contains(slices.Collect(maps.Values(descendants(cmd.Process.Pid))), "sleep")
				})
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			rest := descendants(cmd.Process.Pid)
			_ = cmd.Wait() // killed
			for pid := range rest {
				waitFor(t, func() bool { return !running(pid) })
			}
			for line := range strings.Lines(mounts(t)) {
				// Containers of other tests have mounts, too.
				if at := strings.Fields(line)[4]; !strings.Contains(before, line) && (slices.Contains([]string{"/", "/dev", "/proc"}, at) || strings.HasPrefix(at, cmd.Dir)) {
					t.Errorf("a mount is left: %s", line)
				}
			}
			left, err := os.ReadDir(tmp)
			if err != nil || len(left) > 0 {
				t.Errorf("temporary files are left: %v, %v", left, err)
			}
			entries, err := os.ReadDir(cmd.Dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if _, ours := project[e.Name()]; !ours && !slices.Contains([]string{"plain", "session", "daemon", "ready"}, e.Name()) {
					t.Errorf("%s is left in the workspace", e.Name())
				}
			}
		})
	}
}

func mounts(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// descendants are the processes below another one, with their names.
func descendants(pid int) map[int]string {
	all := make(map[int]string)
	tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, file := range tasks {
		text, _ := os.ReadFile(file)
		for field := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				continue
			}
			line, _ := os.ReadFile("/proc/" + field + "/cmdline")
			name, _, _ := bytes.Cut(line, []byte{0})
			all[child] = string(name)
			for below, name := range descendants(child) {
				all[below] = name
			}
		}
	}
	return all
}
