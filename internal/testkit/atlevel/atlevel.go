// Package atlevel runs programs as on a machine that offers a certain sandbox level:
//
//	at-level full|landlock|none PROGRAM [ARGUMENT...]
//
// landlock is forced by a user namespace in which no other one can be made, and none by a seccomp
// filter that also takes Landlock away. Neither can be undone by the program.
//
// The package is for tests. [Main] is the program; [Program] builds it.
package atlevel

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// Name is what the program is called in a PATH.
const Name = "at-level"

// The levels.
const (
	Full     = "full"
	Landlock = "landlock"
	None     = "none"
)

const usage = "usage: " + Name + " full|landlock|none PROGRAM [ARGUMENT...]"

// Program writes the program into a directory of the test and returns its path.
func Program(tb testing.TB) string {
	tb.Helper()
	testkit.Need(tb, "go")
	text, err := program()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), Name)
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

// Command is a program with its arguments, at a level.
func Command(tb testing.TB, level, program string, args ...string) *exec.Cmd {
	tb.Helper()
	return exec.CommandContext(tb.Context(), Program(tb), append([]string{level, program}, args...)...)
}

// program builds at-level, once a process.
var program = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", Name)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, Name)
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "github.com/perstack-go/perstack/internal/testkit/atlevel/atleveld")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", Name, err, out)
	}
	return os.ReadFile(path)
})
