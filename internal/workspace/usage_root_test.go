//go:build root && linux

package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

// A directory of another user that we can neither read nor write does not stop the count:
// commands cannot hide anything in it. One that we can write to does.
func TestRootUsageOfOthers(t *testing.T) {
	const us, other = 12345, 54321
	for mode, hides := range map[os.FileMode]bool{0o700: false, 0o711: false, 0o733: true, 0o755: false} {
		top, err := os.MkdirTemp("", "usage") // t.TempDir is closed to others
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(top)
		dir := filepath.Join(top, "ws", "others")
		put(t, filepath.Join(dir, "big"), strings.Repeat("x", 1<<20))
		if err := errors.Join(os.Chmod(top, 0o755), os.Chown(dir, other, other), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
		w, err := workspace.Open(filepath.Join(top, "ws"), workspace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if got, err := w.Usage(t.Context(), 0); err != nil || got < 1<<20 {
			t.Errorf("%o as root: %d, %v", mode, got, err)
		}
		if err := syscall.Setreuid(-1, us); err != nil {
			t.Fatal(err)
		}
		got, err := w.Usage(t.Context(), 0)
		if back := syscall.Setreuid(-1, 0); back != nil {
			t.Fatal(back)
		}
		if hides {
			wantCode(t, err, workspace.NotReadable, `"others" cannot be measured`)
		} else if err != nil || (got >= 1<<20) != (mode == 0o755) {
			t.Errorf("%o: %d, %v", mode, got, err)
		}
	}
}
