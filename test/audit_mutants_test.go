//go:build linux

package test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/testkit"
)

// mutants are builds of perstack with one protection removed, and the promise that it breaks.
var mutants = map[string]struct{ file, with, without, promise string }{
	"hidden files are not masked": {
		"internal/sandbox/space/protect_linux.go", "\t\t{p.Hidden, s.mask},\n", "", "W4",
	},
	"the password of a proxy is passed on": {
		"internal/sandbox/environment.go", "return withoutCredentials(value)", "return value, true", "E1",
	},
	"the name in a TLS hello is not compared": {
		"internal/egress/hello.go", "err != nil || named != host {", "err != nil || named == \"\" {", "N8",
	},
}

// An audit by a perstack without one protection reports exactly its promise as failed.
func TestAuditOfMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds perstack several times")
	}
	for name, mutant := range mutants {
		t.Run(name, func(t *testing.T) {
			program := mutated(t, mutant.file, mutant.with, mutant.without)
			cmd := exec.Command(program, "audit", "--format", "json")
			cmd.Dir = t.TempDir()
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			err := cmd.Run()
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
				t.Errorf("the audit ended with %v: %s", err, &errs)
			}
			var report struct {
				Claims []struct{ ID, Status, Reason, Runtime string }
			}
			if err := json.Unmarshal(out.Bytes(), &report, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatalf("%v: %s", err, &errs)
			}
			var failed []string
			for _, c := range report.Claims {
				if c.Status == string(audit.Failed) {
					failed = append(failed, c.ID)
				}
				if c.ID == "N1" && c.Runtime != audit.Full && mutant.promise == "W4" {
					testkit.Missing(t, "a machine that offers level full: "+c.Runtime+c.Reason)
				}
			}
			if !slices.Equal(failed, []string{mutant.promise}) {
				t.Errorf("failed: %v, want %s alone", failed, mutant.promise)
			}
		})
	}
}

// mutated builds perstack with one change to a file. The file itself stays as it is.
func mutated(t *testing.T, file, with, without string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), with); n != 1 {
		t.Fatalf("%s contains %q %d times", file, with, n)
	}
	dir := t.TempDir()
	changed, overlay, program := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "perstack")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), with, without, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-overlay", overlay, "-o", program, "github.com/perstack-go/perstack/cmd/perstack")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}
