//go:build root && linux

package sandbox

import (
	"os"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"
)

// E4: it also holds when perstack runs as root, since its commands have no capabilities
// and can get none.
func TestRootSecretsUnreadable(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("run as root")
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil || have[0].Effective == 0 {
		t.Fatalf("root without capabilities proves nothing: %v, %v", have, err)
	}
	out := probed(t, "shieldAndRun", false)
	checkProbe(t, out)
	for _, want := range []string{`CapBnd:\t0+`, `Uid:\t0\t0\t0\t0`} {
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(out) {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
}

// The thread that starts the supervisor gives its rights up, the others keep them.
func TestRootKeepsItsRights(t *testing.T) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var before, after [2]unix.CapUserData
	if err := unix.Capget(&header, &before[0]); err != nil {
		t.Fatal(err)
	}
	run(t, shell(t, "true"))
	for range 100 {
		done := make(chan error)
		go func() { done <- unix.Capget(&header, &after[0]) }()
		if err := <-done; err != nil || after != before {
			t.Fatalf("%v, %v, want %v", after, err, before)
		}
	}
}
