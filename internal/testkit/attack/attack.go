// Package attack counts the attacks that tests carry out, so that CI can print how many were
// tried and how many held.
//
// With PERSTACK_ATTACKS in the environment, which .ci/run sets, [Held] adds a line to the file of
// that name. Without it, the package does nothing.
package attack

import (
	"fmt"
	"os"
	"testing"
)

// Held says that a test has tried n attacks against a promise and that all of them failed. Call
// it after the checks: if one of them failed, they count as tried and not as held. id is one of
// the promises and findings that SECURITY.md lists.
func Held(t testing.TB, id string, n int) {
	t.Helper()
	held := n
	if t.Failed() {
		held = 0
	}
	if err := Add(fmt.Sprintf("%s\t%s\t%d\t%d\n", id, t.Name(), n, held)); err != nil {
		t.Error(err)
	}
}

// Add adds a line to the file: the id, the test, the attacks tried and those that held.
func Add(line string) error {
	path := os.Getenv("PERSTACK_ATTACKS")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line) // one write: many tests add lines at once
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
