package evil

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// Program builds evilmcp for a test and returns its path. It needs no C library, so that
// it also runs where there is nothing else.
func Program(tb testing.TB) string {
	tb.Helper()
	testkit.Need(tb, "go")
	path := filepath.Join(tb.TempDir(), "evilmcp")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	build := exec.CommandContext(tb.Context(), "go", "build", "-trimpath", "-o", path, "github.com/perstack-go/perstack/internal/testkit/evil/evilmcp")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build evilmcp: %v\n%s", err, out)
	}
	return path
}
