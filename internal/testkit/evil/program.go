package evil

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// program has evilmcp as the first test of a process built it: to link it takes longer than
// most of the tests that run it.
var program struct {
	once sync.Once
	text []byte
}

// Program builds evilmcp for a test and returns its path. It needs no C library, so that
// it also runs where there is nothing else.
func Program(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "evilmcp")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	program.once.Do(func() { program.text = built(tb, path) })
	if program.text == nil {
		tb.Fatal("an earlier test could not build evilmcp")
	}
	if _, err := os.Stat(path); err == nil {
		return path
	}
	// A process that starts meanwhile would have the file open for writing, and no program
	// runs that somebody may still write.
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, program.text, 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

func built(tb testing.TB, path string) []byte {
	tb.Helper()
	testkit.Need(tb, "go")
	build := exec.CommandContext(tb.Context(), "go", "build", "-trimpath", "-o", path, "github.com/perstack-go/perstack/internal/testkit/evil/evilmcp")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build evilmcp: %v\n%s", err, out)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}
