package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// An error is printed without the keys of the environment, and without anything that
// acts on a terminal.
func TestErrorsAreSafe(t *testing.T) {
	const key = "sk-canary-1234567890"
	var out, errs bytes.Buffer
	h := &host.Host{Dir: t.TempDir(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Environ: []string{"ANTHROPIC_API_KEY=" + key}, Command: "perstack"}
	if code := Main(t.Context(), h, []string{"run", "--config", "no-\x1b[31m-" + key + "-such\u202e.toml", "x", "y"}); code != host.ExitUsage {
		t.Errorf("exit code %d", code)
	}
	got := out.String() + errs.String()
	if strings.Contains(got, key) || strings.ContainsAny(got, "\x1b\u202e") {
		t.Errorf("printed %q", got)
	}
	if !strings.Contains(got, "no-") || !strings.Contains(got, "[redacted: ANTHROPIC_API_KEY]") {
		t.Errorf("the error does not name the file: %q", got)
	}
}
