//go:build root && linux

package cell_test

import (
	"os"
	"testing"
)

// The walls also hold when perstack runs as root.
func TestRootWalls(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("run as root")
	}
	tryWalls(t)
}
