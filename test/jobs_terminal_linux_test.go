package test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// On a terminal, jobs are shown before they are deleted, and only a clear yes deletes them.
func TestJobsOnTerminal(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"perstack.toml": slow["perstack.toml"],
		"cassette.toml": "[[turn]]\ntext = \"Tidy answer\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(t.TempDir(), "state"))
	perstack := func(typed string, args ...string) string {
		t.Helper()
		cmd := exec.Command("perstack", args...)
		cmd.Dir, cmd.Env = dir, env
		var answers []testkit.Answer
		if typed != "" {
			answers = append(answers, testkit.Answer{After: "[y/N] ", Type: typed})
		}
		out, err := testkit.OnTerminal(cmd, answers...)
		if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	perstack("", "run", "writer", "Keep the garden tidy", "--job-id", "garden-job", "--output", "text")
	for _, args := range [][]string{{"jobs", "rm", "gard"}, {"jobs", "prune", "--keep", "0"}} {
		out := perstack("\r", args...)
		if !strings.Contains(out, "Keep the garden") || !strings.Contains(out, "Delete 1 job?") || !strings.Contains(out, "nothing was removed") {
			t.Errorf("%s: %s", args, out)
		}
	}
	if out := perstack("", "jobs"); !strings.Contains(out, "gard ") {
		t.Errorf("the job is gone: %s", out)
	}
	if out := perstack("y\r", "jobs", "rm", "gard"); !strings.Contains(out, "deleted job garden-job") {
		t.Errorf("with a yes: %s", out)
	}
	if out := perstack("", "jobs"); !strings.Contains(out, "No jobs in this project yet") {
		t.Errorf("the job is there still: %s", out)
	}
}
