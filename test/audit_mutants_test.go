//go:build linux

package test

import (
	"bytes"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/mutant"
)

// mutants are builds of perstack with one protection removed, and the promise that it breaks.
var mutants = map[string]struct{ file, with, without, promise string }{
	"hidden files are not masked": {
		"internal/sandbox/space/protect_linux.go", "\t\t{p.Hidden, s.mask},\n", "", "W4",
	},
	"system calls are not filtered": {
		"internal/sandbox/landlock/inside_linux.go", "return install(code) // it", "_ = code\n\treturn nil // it", "W4",
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
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			program := mutant.Build(t, m.file, m.with, m.without)
			cmd := exec.Command(program, "audit", "--format", "json")
			cmd.Dir = t.TempDir()
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			err := cmd.Run()
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
				t.Errorf("the audit ended with %v: %s", err, &errs)
			}
			var report struct {
				Claims []struct{ ID, Status, Reason, Evidence, Runtime string }
			}
			if err := json.Unmarshal(out.Bytes(), &report, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatalf("%v: %s", err, &errs)
			}
			var failed []string
			for _, c := range report.Claims {
				if c.Status == string(audit.Failed) {
					failed = append(failed, c.ID)
					t.Logf("%s: %s", c.ID, c.Evidence)
				}
				if c.ID == "N1" && !strings.HasPrefix(c.Runtime, audit.Full) && m.promise == "W4" {
					testkit.Missing(t, "a machine that offers level full: "+c.Runtime+c.Reason)
				}
			}
			if !slices.Equal(failed, []string{m.promise}) {
				t.Errorf("failed: %v, want %s alone", failed, m.promise)
			}
		})
	}
}
