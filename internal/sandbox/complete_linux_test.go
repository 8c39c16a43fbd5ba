package sandbox

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/sandbox/probe"
	"github.com/perstack-go/perstack/internal/sandbox/selfcheck"
)

// failedChecks are the steps that failed, without their prefix.
func failedChecks(t *testing.T, steps []probe.Step) (failed []string) {
	t.Helper()
	if want := 1 + len(selfcheck.Names()); len(steps) != want {
		t.Fatalf("%d steps, want %d", len(steps), want)
	}
	for _, s := range steps {
		if s.Status != probe.OK {
			t.Logf("%+v", s)
			failed = append(failed, strings.TrimPrefix(s.Name, probe.Start+"."))
		}
	}
	return failed
}

// All checks pass in a sandbox as jobs have it, and nothing is left of it.
func TestComplete(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	if failed := failedChecks(t, Complete(t.Context())); len(failed) > 0 {
		t.Errorf("failed: %v", failed)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Each check notices when its protection is missing.
func TestCompleteNotices(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Command)
		want   string // the checks that fail
	}{
		"not hidden":  {func(c *Command) { c.Policy.Hidden = nil }, "hidden"},
		"not frozen":  {func(c *Command) { c.Policy.Frozen = nil }, "frozen"},
		"not pinned":  {func(c *Command) { c.Policy.Pinned = nil }, "pinned"},
		"file shown":  {func(c *Command) { c.Policy.Read = append(c.Policy.Read, filepath.Join(filepath.Dir(c.Dir), "outside")) }, "outside"},
		"home shown":  {func(c *Command) { c.Policy.Read = append(c.Policy.Read, filepath.Join(c.Policy.Home, "secret")) }, "home"},
		"no home":     {func(c *Command) { c.Policy.Home = "" }, "home"},
		"writable":    {func(c *Command) { c.Policy.Write = []string{"/usr"} }, "root"},
		"network":     {func(c *Command) { c.Policy.HostNetwork, c.Policy.Listener, c.Accept = true, false, nil }, "loopback proxy"},
		"no listener": {func(c *Command) { c.Policy.Listener, c.Accept = false, nil }, "proxy"},
		"no answer":   {func(c *Command) { c.Accept = hangUp }, "proxy"},
		"no sandbox": {func(c *Command) { c.Policy, c.Accept = off(), nil },
			"hidden frozen pinned outside home root loopback proxy filter proc processes"},
		"another end": {func(c *Command) { c.Args = []string{selfcheck.Word, "{"} },
			"start " + strings.Join(selfcheck.Names(), " ")},
		"no start": {func(c *Command) { c.Policy.Workspace = policy.Workspace{Path: "/missing"} },
			"start " + strings.Join(selfcheck.Names(), " ")},
	} {
		t.Run(name, func(t *testing.T) {
			failed := failedChecks(t, complete(t.Context(), tt.change))
			if name == "no sandbox" && os.Getuid() != 0 { // such a user has none, and could gain some
				failed = slices.DeleteFunc(failed, func(s string) bool { return s == "capabilities" })
			}
			if !slices.Equal(failed, strings.Fields(tt.want)) {
				t.Errorf("failed: %v, want %s", failed, tt.want)
			}
		})
	}
}

func hangUp(l net.Listener) {
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
}

// A process that starts without a supervisor has capabilities, or can gain them.
func TestCompleteNoticesCapabilities(t *testing.T) {
	for _, r := range selfcheck.Run(selfcheck.Spec{Workspace: t.TempDir(), Home: t.TempDir(), Outside: "/"}) {
		if r.Name == "capabilities" && r.Failed == "" {
			t.Errorf("this process has none: %s", r.Found)
		}
	}
}

// The same holds for a user without rights.
func TestCompleteAsAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this is another user already")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "another-user") // which that user can reach
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "program")
	if err := os.WriteFile(copied, data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(copied, "-test.run=^(TestComplete|TestCompleteNotices|TestCompleteNoticesCapabilities)$", "-test.v")
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS") < 3 {
		t.Errorf("%v: %s", err, out)
	}
}
