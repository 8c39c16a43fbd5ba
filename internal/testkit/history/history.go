// Package history finds the history of a project that a test has run.
//
// Start reading at [Isolate].
package history

import (
	"os"
	"runtime"
	"testing"

	"github.com/perstack-go/perstack/internal/state"
)

// Isolate gives the programs that this process starts a state directory in dir, so that tests
// never write to that of the user. A TestMain calls it.
func Isolate(dir string) error {
	if runtime.GOOS == "windows" {
		return os.Setenv("LocalAppData", dir)
	}
	return os.Setenv("XDG_STATE_HOME", dir)
}

// Of returns the directory with the history of the project in dir.
func Of(t testing.TB, dir string) string {
	t.Helper()
	root, err := state.Find(runtime.GOOS, os.Getenv("HOME"), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	p, err := root.Project(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p.State
}
