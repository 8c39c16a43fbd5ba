package testkit

import (
	"os"
	"os/exec"
	"testing"
)

// Missing ends a test that needs what this machine lacks. On a developer's machine it
// is skipped; in CI, where everything has to be there, it fails.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("missing in CI: %s", what)
	}
	t.Skipf("missing here: %s", what)
}

// Need ends a test that needs programs which this machine lacks.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			Missing(t, p)
		}
	}
}
