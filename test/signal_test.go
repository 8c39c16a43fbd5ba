//go:build unix

package test

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store/file"
)

// slow is a project whose first turn runs a command that does not end by itself.
var slow = map[string]string{
	"perstack.toml": `[provider]
providerName = "replay"
[provider.setting]
cassette = "cassette.toml"
[experts.writer]
instruction = "Work."
`,
	"cassette.toml": `[[turn]]
[[turn.call]]
tool = "exec"
args = { command = "sleep", args = ["1000"], timeout = 0 }
[[turn]]
text = "Worked."
`,
}

// start runs perstack in a project and waits for the record of that type.
func start(t *testing.T, project map[string]string, until event.Type) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range project {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("perstack", "run", "writer", "go", "--job-id", "job", "--events", "lean")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"type":"`+string(until)+`"`) {
			return cmd, &stderr
		}
	}
	t.Fatalf("perstack ended before %s: %s", until, stderr.String())
	return nil, nil
}

// A signal stops the command under way, saves, and ends with the signal's exit code.
func TestSignals(t *testing.T) {
	tests := []struct {
		signal syscall.Signal
		code   int
	}{
		{syscall.SIGINT, 130},
		{syscall.SIGTERM, 143},
		{syscall.SIGHUP, 129},
	}
	for _, tt := range tests {
		t.Run(tt.signal.String(), func(t *testing.T) {
			cmd, stderr := start(t, slow, "startToolCall")
			if err := cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			if code := exitCode(t, cmd.Wait()); code != tt.code {
				t.Errorf("exit code %d, want %d; %s", code, tt.code, stderr)
			}
			if want := "perstack run --continue-job job"; !strings.Contains(stderr.String(), want) {
				t.Errorf("stderr %q does not say %q", stderr, want)
			}
			checkEnd(t, cmd.Dir, event.StatusStoppedByInterrupt)
			perstack(t, cmd.Dir, "run", "--continue-job", "job")
			checkEnd(t, cmd.Dir, event.StatusCompleted)
		})
	}
}

// A second SIGINT ends perstack at once, and the journal is valid all the same.
func TestSecondInterrupt(t *testing.T) {
	project := map[string]string{"perstack.toml": slow["perstack.toml"], "cassette.toml": `[[turn]]
[[turn.call]]
tool = "exec"
args = { command = "sh", args = ["-c", "trap '' TERM; while :; do sleep 1; done"], timeout = 0 }
[[turn]]
text = "Worked."
`}
	cmd, _ := start(t, project, "startToolCall")
	for range 2 {
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	if code := exitCode(t, cmd.Wait()); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	perstack(t, cmd.Dir, "log", "job", "--verify")
	perstack(t, cmd.Dir, "run", "--continue-job", "job")
	checkEnd(t, cmd.Dir, event.StatusCompleted)
}

// When the reader of standard output goes away, the run ends saved.
func TestClosedStdout(t *testing.T) {
	dir := t.TempDir()
	for name, text := range slow {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close() // nobody will ever read
	cmd := exec.Command("perstack", "run", "writer", "go", "--job-id", "job")
	cmd.Dir, cmd.Stdout = dir, w
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if code := exitCode(t, cmd.Wait()); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if !strings.Contains(stderr.String(), "output closed") || !strings.Contains(stderr.String(), "everything is saved") {
		t.Errorf("stderr = %q", stderr.String())
	}
	checkEnd(t, dir, event.StatusStoppedByInterrupt)
}

// A job has one writer; the second is told who the first is.
func TestSecondWriter(t *testing.T) {
	first, _ := start(t, slow, "startToolCall")
	second := exec.Command("perstack", "run", "writer", "more", "--continue-job", "job")
	second.Dir = first.Dir
	var stderr bytes.Buffer
	second.Stderr = &stderr
	if code := exitCode(t, second.Run()); code != 2 {
		t.Errorf("exit code %d, want 2", code)
	}
	if !strings.Contains(stderr.String(), "is being written by another process (pid ") {
		t.Errorf("stderr = %q", stderr.String())
	}
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	checkEnd(t, first.Dir, event.StatusStoppedByInterrupt)
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return exit.ExitCode()
}

// checkEnd checks that the job's last record is an end of that status.
func checkEnd(t *testing.T, dir string, want event.Status) {
	t.Helper()
	var last event.Event
	for r, err := range file.New(filepath.Join(dir, "perstack"), nil).Read(t.Context(), "job", 0) {
		if err != nil {
			t.Fatal(err)
		}
		last = r.Event
	}
	if got, _ := last.EndStatus(); got != want {
		t.Errorf("the journal ends with %s (%s), want %s", last.Type(), got, want)
	}
}
