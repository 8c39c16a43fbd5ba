package evil

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// Program writes evilmcp into a directory of the test and returns its path.
func Program(tb testing.TB) string {
	tb.Helper()
	testkit.Need(tb, "go")
	text, err := program()
	if err != nil {
		tb.Fatal(err)
	}
	dir := filepath.Join(tb.TempDir(), "bin") // a sandbox shows directories of PATH that are named so
	if err := os.Mkdir(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(dir, name())
	// A process that starts meanwhile would have the file open for writing, and a program
	// that can still be written is not run.
	syscall.ForkLock.RLock()
	err = os.WriteFile(path, text, 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// program builds evilmcp, once a process: to link it takes longer than most of the tests
// that run it. It needs no C library, so that it also runs where there is nothing else.
var program = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "evilmcp")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, name())
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "github.com/perstack-go/perstack/internal/testkit/evil/evilmcp")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build evilmcp: %w\n%s", err, out)
	}
	return os.ReadFile(path)
})

func name() string {
	if runtime.GOOS == "windows" {
		return "evilmcp.exe"
	}
	return "evilmcp"
}
