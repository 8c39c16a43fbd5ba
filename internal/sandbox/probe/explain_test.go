package probe

import (
	"context"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
)

func settings(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

// What the kernel refused leads to the cause and the remedy of docs/doctor.md.
func TestCauseOf(t *testing.T) {
	ubuntu := map[string]string{apparmorUserns: "1", usernsClone: "1", maxNamespaces: "15000"}
	for _, tt := range []struct {
		name, step, errno string
		root              bool
		sysctl            map[string]string
		cause, remedy     string
	}{
		{"container", Namespaces, "EPERM", false, nil, "seccomp profile", "CLONE_NEWUSER"},
		{"container, root", Namespaces, "EPERM", true, map[string]string{usernsClone: "0"}, "seccomp profile", "CLONE_NEWUSER"},
		{"Debian's setting", Namespaces, "EPERM", false, map[string]string{usernsClone: "0"}, usernsClone + " is 0", "sysctl -w " + usernsClone + "=1"},
		{"none allowed", Namespaces, "ENOSPC", false, map[string]string{maxNamespaces: "0"}, maxNamespaces + " is 0", "sysctl -w " + maxNamespaces},
		{"all in use", Namespaces, "ENOSPC", false, map[string]string{maxNamespaces: "20"}, "all 20 user namespaces", "raise"},
		{"nested", Namespaces, "EUSERS", false, map[string]string{maxNamespaces: "20"}, "nested", "raise"},
		{"not built in", Namespaces, "EINVAL", false, nil, "without namespaces", "CONFIG_USER_NS"},
		{"Ubuntu ids", IDs, "EPERM", false, ubuntu, "Ubuntu 24.04", AllowByProfile},
		{"Ubuntu mounts", Mounts, "EACCES", false, ubuntu, "Ubuntu 24.04", AllowByProfile},
		{"Ubuntu network", Network, "EPERM", false, ubuntu, "Ubuntu 24.04", AllowByProfile},
		{"Ubuntu, root", IDs, "EPERM", true, ubuntu, "CAP_SETFCAP", "SETFCAP"},
		{"not AppArmor", Mounts, "EPERM", false, map[string]string{apparmorUserns: "0"}, "seccomp profile", "pivot_root"},
		{"old kernel", Mounts, "ENOSYS", false, ubuntu, "mount_setattr", "Linux 5.12"},
		{"masked", Proc, "EPERM", false, ubuntu, "masks parts of /proc", "systempaths=unconfined"},
		{"no Landlock", Landlock, "ENOSYS", false, nil, "no Landlock", "Linux 6.7"},
		{"Landlock off", Landlock, "EOPNOTSUPP", false, nil, "switched off", "lsm="},
		{"no filter", Seccomp, "EINVAL", false, nil, "filter system calls", "CONFIG_SECCOMP_FILTER"},
		{"no overlay", Caches, "ENODEV", false, nil, "overlayfs", "empty caches"},
		{"unknown", Mounts, "EIO", false, nil, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cause, remedy := causeOf(tt.step, tt.errno, facts{root: tt.root, sysctl: settings(tt.sysctl)})
			if !strings.Contains(cause, tt.cause) || !strings.Contains(remedy, tt.remedy) || (cause == "") != (tt.cause == "") {
				t.Errorf("cause %q, remedy %q", cause, remedy)
			}
		})
	}
}

// Each level needs its steps; Landlock without namespaces needs version 4, and root needs it
// beside them.
func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		name   string
		failed string
		root   bool
		abi    int
		want   expert.SandboxLevel
	}{
		{"all", "", false, 7, expert.SandboxFull},
		{"caches", Caches, false, 7, expert.SandboxFull},
		{"user without Landlock", Landlock, false, 0, expert.SandboxFull},
		{"root without Landlock", Landlock, true, 0, expert.SandboxOff},
		{"root, first Landlock", "", true, 1, expert.SandboxFull},
		{"namespaces", Namespaces, false, 7, expert.SandboxLandlock},
		{"ids", IDs, false, 7, expert.SandboxLandlock},
		{"mounts", Mounts, false, 6, expert.SandboxLandlock},
		{"proc", Proc, false, 5, expert.SandboxLandlock},
		{"network", Network, false, 4, expert.SandboxLandlock},
		{"old Landlock", Network, false, 3, expert.SandboxOff},
		{"seccomp", Seccomp, false, 7, expert.SandboxOff},
	} {
		var steps []Step
		for _, name := range order {
			s := Step{Name: name, Status: OK}
			if name == tt.failed {
				s.Status = Fail
			}
			steps = append(steps, s)
		}
		if got := decide(steps, facts{root: tt.root, abi: tt.abi}); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// A check of the complete start that fails lowers the level, and its step is listed.
func TestComplete(t *testing.T) {
	level, _ := Level(t.Context())
	if level != expert.SandboxFull {
		t.Skip("needs level full")
	}
	for _, tt := range []struct {
		status Status
		want   expert.SandboxLevel
	}{{OK, expert.SandboxFull}, {Fail, expert.SandboxLandlock}} {
		p := Prober{Complete: func(context.Context) []Step { return []Step{{Name: Start, Status: tt.status}} }}
		level, steps := p.Level(t.Context())
		if last := steps[len(steps)-1]; level != tt.want || last.Name != Start {
			t.Errorf("%s: %s, %+v", tt.status, level, last)
		}
	}
}

func TestLandlockDetail(t *testing.T) {
	for abi, want := range map[int]string{1: "together with namespaces only", 3: "together with namespaces only", 4: "abstract sockets", 5: "abstract sockets"} {
		if got := landlockDetail(abi); !strings.Contains(got, want) {
			t.Errorf("version %d: %q", abi, got)
		}
	}
	if got := landlockDetail(6); got != "" {
		t.Errorf("version 6: %q", got)
	}
}
