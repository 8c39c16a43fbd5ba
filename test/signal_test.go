//go:build unix

package test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/history"
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
func start(t *testing.T, project map[string]string, until event.Type) (*exec.Cmd, *lines) {
	t.Helper()
	return startAndAwait(t, project, until, 1)
}

// startAndAwait runs perstack in a project and waits for so many records of that type.
func startAndAwait(t *testing.T, project map[string]string, until event.Type, times int) (*exec.Cmd, *lines) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range project {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(watched, "run", "writer", "go", "--job-id", "job", "--events", "lean")
	cmd.Dir = dir
	var stderr lines
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if strings.Contains(scanner.Text(), `"type":"`+string(until)+`"`) {
			times--
		}
		if times == 0 {
			return cmd, &stderr
		}
	}
	t.Fatalf("perstack ended before %s: %s", until, stderr.String())
	return nil, nil
}

// lines collects what a process writes, while it is read.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
	seen int
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// wait returns when text has been written once more than at the last call.
func (l *lines) wait(t *testing.T, text string) {
	t.Helper()
	l.seen++
	waitFor(t, func() bool { return strings.Count(l.String(), text) >= l.seen })
}

// waitFor waits until a condition holds. The deadline is far beyond what a busy machine
// needs: it only keeps a broken test from waiting for ever.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatal("it never came to hold")
		}
		runtime.Gosched()
	}
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

// interruptTwice interrupts perstack, and again when that does not count as the same interrupt any
// more, unless everything has ended before.
func interruptTwice(t *testing.T, cmd *exec.Cmd, stderr *lines) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	stderr.wait(t, "perstack: ")
	again := time.After(200 * time.Millisecond)
	waitFor(t, func() bool {
		said := stderr.String()
		if strings.Contains(said, "quit at once; commands") || strings.Contains(said, "everything is saved") {
			return true
		}
		select {
		case <-again:
			_ = cmd.Process.Signal(syscall.SIGINT) // it may be gone by now
		default:
		}
		return false
	})
}

// A terminal that closes, and programs like timeout, send the same signal twice: it is
// saved all the same.
func TestSignalSentTwice(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		cmd, stderr := start(t, slow, "startToolCall")
		for range 2 {
			_ = cmd.Process.Signal(s) // it may be gone at the second
			stderr.wait(t, "perstack: ")
		}
		if err := cmd.Wait(); err == nil || !strings.Contains(stderr.String(), "resume with: perstack run --continue-job job") {
			t.Errorf("%v: %v, %s", s, err, stderr)
		}
		checkEnd(t, cmd.Dir, event.StatusStoppedByInterrupt)
	}
}

// A second interrupt ends perstack at once, and the journal is valid all the same.
func TestSecondInterrupt(t *testing.T) {
	project := map[string]string{"perstack.toml": slow["perstack.toml"], "cassette.toml": `[[turn]]
[[turn.call]]
tool = "exec"
args = { command = "sh", args = ["-c", "trap '' TERM; echo $$ > pid; while :; do sleep 1; done"], timeout = 0 }
[[turn]]
text = "Worked."
`}
	cmd, stderr := start(t, project, "startToolCall")
	var pid int
	waitFor(t, func() bool {
		data, err := os.ReadFile(filepath.Join(cmd.Dir, "pid"))
		_, scanErr := fmt.Sscan(string(data), &pid)
		return err == nil && scanErr == nil
	})
	interruptTwice(t, cmd, stderr)
	if code := exitCode(t, cmd.Wait()); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	if !strings.Contains(stderr.String(), "quit at once; commands that were running are killed") {
		t.Errorf("stderr = %q", stderr)
	}
	waitFor(t, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }) // the command is gone
	for r, err := range file.New(history.Of(t, cmd.Dir), nil).Read(t.Context(), "job", 0) {
		if err != nil || r.Event.IsTerminal() {
			t.Errorf("record %d: %v, %v; the run was not left in the middle", r.Seq, r.Event.Type(), err)
		}
	}
	perstack(t, cmd.Dir, "log", "job", "--verify")
	perstack(t, cmd.Dir, "run", "--continue-job", "job")
	checkEnd(t, cmd.Dir, event.StatusCompleted)
}

// A query that never ends can be given up.
func TestInterruptWhileReadingTheQuery(t *testing.T) {
	dir := t.TempDir()
	for name, text := range slow {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-"}, {"--query-file", "pipe"}} {
		cmd := exec.Command("perstack", append([]string{"run", "writer", "--verbose"}, args...)...)
		cmd.Dir = dir
		stdin, err := cmd.StdinPipe() // open, and never written to
		if err != nil {
			t.Fatal(err)
		}
		defer stdin.Close()
		var stderr lines
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		stderr.wait(t, "waiting for the query")
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := exitCode(t, cmd.Wait()); code != 143 {
			t.Errorf("%v: exit code %d, want 143; %s", args, code, stderr.String())
		}
	}
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
	r.Close() // there is no reader any more
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
	if !strings.Contains(stderr.String(), "(the output was closed)") || !strings.Contains(stderr.String(), "everything is saved") {
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
	for r, err := range file.New(history.Of(t, dir), nil).Read(t.Context(), "job", 0) {
		if err != nil {
			t.Fatal(err)
		}
		last = r.Event
	}
	if got, _ := last.EndStatus(); got != want {
		t.Errorf("the journal ends with %s (%s), want %s", last.Type(), got, want)
	}
}
