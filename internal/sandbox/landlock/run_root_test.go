//go:build root && linux

package landlock_test

import (
	"os"
	"testing"
)

// Policies also hold when perstack runs as root.
func TestRootAttacks(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("run as root")
	}
	tryAttacks(t)
}
