package probe

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/atlevel"
)

// levelOf runs the test program at a level, and as another user if its number is not 0.
func levelOf(t *testing.T, level string, uid uint32) answer {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := atlevel.Command(t, level, exe, ask)
	if uid != 0 {
		cmd = anybodys(t, cmd, exe)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &errs, []string{"PATH=/usr/bin:/bin", cacheVariable + "=" + os.Getenv(cacheVariable)}
	cmd.Dir = "/"
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	var a answer
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return a
}

// anybodys copies the programs of a command to where every user can run them.
func anybodys(t *testing.T, cmd *exec.Cmd, exe string) *exec.Cmd {
	t.Helper()
	dir, err := os.MkdirTemp("", "at-level")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	copied := make([]string, 0, 2)
	for _, from := range []string{cmd.Path, exe} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.Base(from))
		syscall.ForkLock.RLock()
		err = os.WriteFile(to, text, 0o755)
		syscall.ForkLock.RUnlock()
		if err != nil {
			t.Fatal(err)
		}
		copied = append(copied, to)
	}
	return exec.CommandContext(t.Context(), copied[0], cmd.Args[1], copied[1], ask)
}

func (a answer) step(name string) Step {
	for _, s := range a.Steps {
		if s.Name == name {
			return s
		}
	}
	return Step{}
}

// The level is found by trying, for root and for an ordinary user, and each step that is missing
// has its cause.
func TestLevel(t *testing.T) {
	if level, steps := Level(t.Context()); level != expert.SandboxFull {
		testkit.Missing(t, "a machine that offers all levels: "+text(steps))
	}
	users := map[string]uint32{"this user": 0}
	if os.Geteuid() == 0 {
		users["another user"] = 65534
	}
	for name, uid := range users {
		for _, tt := range []struct {
			level, want string
			errno       string // of the step namespaces
			cause       string
		}{
			{atlevel.Full, "full", "", ""},
			{atlevel.Landlock, "landlock", "ENOSPC", "user.max_user_namespaces is 0"},
			{atlevel.None, "off", "EPERM", "seccomp profile"},
		} {
			t.Run(name+" "+tt.level, func(t *testing.T) {
				a := levelOf(t, tt.level, uid)
				s := a.step(Namespaces)
				if a.Level != tt.want || s.Errno != tt.errno || !strings.Contains(s.Cause, tt.cause) {
					t.Errorf("level %s, want %s\n%s", a.Level, tt.want, text(a.Steps))
				}
				if len(a.Steps) != len(order) {
					t.Errorf("%d steps, want %d\n%s", len(a.Steps), len(order), text(a.Steps))
				}
				for _, s := range failing(a.Steps) {
					if s.Cause == "" || s.Remedy == "" || s.Errno == "" {
						t.Errorf("a step fails without errno, cause or remedy: %+v", s)
					}
				}
				if want := tt.errno != ""; want != (a.step(Mounts).Status == Skipped) {
					t.Errorf("mounts: %+v", a.step(Mounts))
				}
			})
		}
	}
}

func text(steps []Step) string {
	var out strings.Builder
	for _, s := range steps {
		out.WriteString(strings.Join([]string{s.Name, string(s.Status), s.Detail, s.Errno, s.Cause, s.Remedy}, " | ") + "\n")
	}
	return out.String()
}

// Trying a sandbox changes no mount of this process and leaves no child.
func TestLevelLeavesNothing(t *testing.T) {
	mounts := func() string {
		text, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := mounts()
	Level(t.Context())
	if after := mounts(); after != before {
		t.Errorf("mounts before:\n%s\nafter:\n%s", before, after)
	}
	if _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
		t.Errorf("a child is left: %v", err)
	}
}

// A context that has ended gives no level, and says why.
func TestLevelCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	level, steps := Level(ctx)
	if level == expert.SandboxFull && len(failing(steps)) > 0 {
		t.Errorf("%s\n%s", level, text(steps))
	}
	for _, s := range failing(steps) {
		if s.Cause == "" {
			t.Errorf("no cause: %+v", s)
		}
	}
}

// When the process that asks is killed, the processes that try the sandbox end with it.
func TestLevelKilled(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "own") // no other test runs this file
	syscall.ForkLock.RLock()
	err = os.WriteFile(own, text, 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for range 10 {
		cmd := exec.CommandContext(t.Context(), own, ask)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for len(running(own)) == 1 && !ended(cmd.Process.Pid) { // until there is a probe
			time.Sleep(100 * time.Microsecond)
		}
		if len(running(own)) > 1 {
			seen++
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for patience := 6000; len(running(own)) > 0; patience-- {
			if patience == 0 {
				t.Fatalf("processes %v are left", running(own))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	if seen == 0 {
		t.Error("no probe was ever running")
	}
}

// running lists the processes of a program.
func running(path string) (pids []string) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe")); err == nil && target == path {
			pids = append(pids, e.Name())
		}
	}
	return pids
}

// ended reports whether a child of this process has ended and was not waited for.
func ended(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}
