//go:build unix

package evil_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// A fork bomb that was started is found alive: else a test of what ends it could pass
// because nothing ever began.
func TestForkBombIsAlive(t *testing.T) {
	program := evil.Program(t)
	for range 5 {
		file := filepath.Join(t.TempDir(), "bomb")
		if out, err := exec.CommandContext(t.Context(), program, "forkbomb", "2", file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if alive, err := evil.Alive(file); !alive || err != nil {
			t.Errorf("alive %t, %v", alive, err)
		}
		if err := os.Remove(file); err != nil { // which ends it
			t.Error(err)
		}
	}
	if err := evil.ForkBomb(t.Context(), "evilmcp", filepath.Join(t.TempDir(), "bomb"), 0); err == nil {
		t.Error("a bomb of nothing, which is refused")
	}
}
