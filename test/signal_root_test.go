//go:build root && linux

package test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/attack"
	"github.com/perstack-go/perstack/internal/testkit/hung"
)

// A second signal ends perstack although it waits for a file system that does not answer.
func TestRootSecondSignalWhileAFileHangs(t *testing.T) {
	cmd := exec.Command("perstack", "run", "writer", "go", "--config", filepath.Join(hung.Mount(t), "perstack.toml"))
	cmd.Dir = planter(t, "true")
	endsBySignals(t, cmd)
	attack.Held(t, "T9", 1)
}
