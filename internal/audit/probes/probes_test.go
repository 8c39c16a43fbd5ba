package probes

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/hostile"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/testkit"
)

func TestMain(m *testing.M) {
	sandbox.Init()
	hostile.Init()
	if err := sandbox.Harden(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// newMachine returns this machine, with the real protections.
func newMachine(t *testing.T) *Machine {
	t.Helper()
	supervisor := sandbox.NewSupervisor()
	t.Cleanup(func() {
		if err := supervisor.Close(); err != nil {
			t.Error(err)
		}
	})
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parts := Real(supervisor)
	parts.Container = nil // this program cannot be one in a container; see test/docker
	return &Machine{
		Program: program, Dir: t.TempDir(), Environ: os.Environ(),
		PID: os.Getpid(), Parts: parts,
	}
}

// Every probe finds its promise kept, with the real protections; those of containers are in
// test/docker.
func TestKept(t *testing.T) {
	claims, err := audit.Run(t.Context(), Promises(newMachine(t)), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		t.Logf("%s %s %s%s", c.ID, c.Status, c.Reason, c.Evidence)
	}
	for i, p := range Promises(newMachine(t)) {
		if c := claims[i]; p.Probe != nil && p.Area != "Container" && c.Status != audit.Verified {
			t.Errorf("%s: %s: %s", c.ID, c.Status, c.Reason)
		}
	}
}

// The probes of sandboxes also work where the machine offers only the level landlock, or none.
func TestKeptAtLowerLevels(t *testing.T) {
	ids := strings.Fields("N1 N3 N7 E4 W1 W4 W8")
	for level, want := range map[expert.SandboxLevel]map[string]audit.Status{
		expert.SandboxLandlock: {},
		expert.SandboxOff:      {"N1": audit.Unavailable, "N7": audit.Unavailable, "W4": audit.Unavailable, "W8": audit.Unavailable},
	} {
		t.Run(string(level), func(t *testing.T) {
			if level == expert.SandboxLandlock {
				if err := landlock.Available(); err != nil {
					testkit.Missing(t, err.Error())
				}
			}
			m := newMachine(t)
			m.Parts.Level = func(context.Context) (expert.SandboxLevel, string) { return level, "of this test" }
			all := slices.DeleteFunc(Promises(m), func(p audit.Promise) bool { return !slices.Contains(ids, p.ID) })
			claims, err := audit.Run(t.Context(), all, audit.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range claims {
				t.Logf("%s %s %s %s%s", c.ID, c.Status, c.Runtime, c.Reason, c.Evidence)
				if c.Status != cmp.Or(want[c.ID], audit.Verified) || c.Runtime == audit.Full {
					t.Errorf("%s: %s: %s", c.ID, c.Status, c.Reason)
				}
			}
		})
	}
}
