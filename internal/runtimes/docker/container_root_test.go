//go:build root && linux

package docker

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/jail"
)

// What is mounted below a workspace that is read-only cannot be written either.
func TestRootReadOnlyBelow(t *testing.T) {
	d := realDaemon(t)
	plan := testPlan(t)
	plan.container().ReadOnlyWorkspace = true
	below := filepath.Join(plan.cover.Dir, "below")
	if err := os.Mkdir(below, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", below, "tmpfs", 0, "mode=777"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(below, 0); err != nil {
			t.Error(err)
		}
	})
	s, _ := buildSite(t, d, plan)
	saw, _ := enter(t, s, jail.Task{Write: []string{"/workspace/below"}})
	if failure, tried := saw.Wrote["/workspace/below"]; failure == "" || !tried {
		t.Error("it was written")
	}
}
