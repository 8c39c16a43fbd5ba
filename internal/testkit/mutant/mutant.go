// Package mutant builds perstack with one line changed, for tests that show what notices it.
package mutant

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// Build returns a perstack in which a file of the module, named from its root, has other text in
// the place of some that it must contain exactly once.
func Build(tb testing.TB, file, with, without string) (program string) {
	tb.Helper()
	root, err := exec.CommandContext(tb.Context(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(strings.TrimSpace(string(root)), filepath.FromSlash(file))
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if n := strings.Count(string(text), with); n != 1 {
		tb.Fatalf("%s contains %q %d times", file, with, n)
	}
	dir := tb.TempDir()
	changed, overlay, program := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "perstack")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), with, without, 1)), 0o600); err != nil {
		tb.Fatal(err)
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		tb.Fatal(err)
	}
	build := exec.CommandContext(tb.Context(), "go", "build", "-trimpath", "-overlay", overlay, "-o", program, "github.com/perstack-go/perstack/cmd/perstack")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	return program
}
