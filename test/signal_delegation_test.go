//go:build unix

package test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/history"
	"github.com/perstack-go/perstack/store/file"
)

// halves is a project of an Expert and two others, of which each runs a command that does
// not end by itself.
func halves(command string) map[string]string {
	turns := `[[turn]]
expert = "writer"
[[turn.call]]
tool = "left"
args = { query = "the left half" }
[[turn.call]]
tool = "right"
args = { query = "the right half" }
[[turn]]
expert = "writer"
turn = 2
text = "Both have worked."
`
	for _, name := range []string{"left", "right"} {
		turns += fmt.Sprintf(`[[turn]]
expert = %q
[[turn.call]]
tool = "exec"
args = { command = "sh", args = ["-c", "echo $$ >> %s.pid; %s"], timeout = 0 }
[[turn]]
expert = %q
turn = 2
text = "Worked."
`, name, name, command, name)
	}
	return map[string]string{
		"perstack.toml": `[provider]
providerName = "replay"
[provider.setting]
cassette = "cassette.toml"
[experts.writer]
instruction = "Let others work."
delegates = ["left", "right"]
[experts.left]
description = "Does the left half."
instruction = "Work."
[experts.right]
description = "Does the right half."
instruction = "Work."
`,
		"cassette.toml": turns,
	}
}

// commands waits until both Experts have started their commands, and returns their ids.
func commands(t *testing.T, dir string) (pids []int) {
	t.Helper()
	for _, name := range []string{"left.pid", "right.pid"} {
		var pid int
		waitFor(t, func() bool {
			data, err := os.ReadFile(filepath.Join(dir, name))
			_, scanErr := fmt.Sscanln(string(data), &pid)
			return err == nil && scanErr == nil
		})
		pids = append(pids, pid)
	}
	return pids
}

// ends are the newest terminal records of all Runs, by Expert, and of the job.
func ends(t *testing.T, dir string) (byExpert map[string]event.Status, job event.JobStatus) {
	t.Helper()
	byExpert = map[string]event.Status{}
	var sum event.Job
	for r, err := range file.New(history.Of(t, dir), nil).Read(t.Context(), "job", 0) {
		if err != nil {
			t.Fatal(err)
		}
		sum = sum.Apply(r.Event)
		if _, ok := r.Event.Body.(event.StartRun); ok {
			byExpert[r.Event.ExpertKey] = event.StatusProceeding
		}
		if status, ok := r.Event.EndStatus(); ok {
			byExpert[r.Event.ExpertKey] = status
		}
	}
	return byExpert, sum.Status
}

// checkEnds checks that the Runs of all three Experts ended with that status.
func checkEnds(t *testing.T, dir string, want event.Status, wantJob event.JobStatus) {
	t.Helper()
	all, job := ends(t, dir)
	for _, name := range []string{"writer", "left", "right"} {
		if all[name] != want {
			t.Errorf("%s is %s, want %s", name, all[name], want)
		}
	}
	if job != wantJob {
		t.Errorf("the job is %s, want %s", job, wantJob)
	}
}

// checkOnce checks that each command ran once.
func checkOnce(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"left.pid", "right.pid"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Count(string(data), "\n") != 1 {
			t.Errorf("%s: %q, %v; the command did not run once", name, data, err)
		}
	}
}

// A signal in the middle of delegation stops the commands of all children, saves every
// Run up to the coordinator, and ends with the signal's exit code. The job resumes where
// it was.
func TestSignalsWhileDelegatesWork(t *testing.T) {
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
			t.Parallel()
			cmd, stderr := startAndAwait(t, halves("exec sleep 1000"), "startToolCall", 2)
			pids := commands(t, cmd.Dir)
			if err := cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			if code := exitCode(t, cmd.Wait()); code != tt.code {
				t.Errorf("exit code %d, want %d; %s", code, tt.code, stderr)
			}
			if want := "perstack run --continue-job job"; !strings.Contains(stderr.String(), want) {
				t.Errorf("stderr %q does not say %q", stderr, want)
			}
			for _, pid := range pids {
				waitFor(t, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
			}
			checkEnd(t, cmd.Dir, event.StatusStoppedByInterrupt)
			checkEnds(t, cmd.Dir, event.StatusStoppedByInterrupt, event.JobStoppedByInterrupt)
			perstack(t, cmd.Dir, "log", "job", "--verify")
			perstack(t, cmd.Dir, "run", "--continue-job", "job")
			checkEnd(t, cmd.Dir, event.StatusCompleted)
			checkEnds(t, cmd.Dir, event.StatusCompleted, event.JobCompleted)
			checkOnce(t, cmd.Dir)
		})
	}
}

// A second signal ends perstack at once, in the middle of delegation too. No command is
// left, the journal is valid, and the children resume where they were.
func TestSecondInterruptWhileDelegatesWork(t *testing.T) {
	cmd, stderr := startAndAwait(t, halves("trap '' TERM; while :; do sleep 1; done"), "startToolCall", 2)
	pids := commands(t, cmd.Dir)
	interruptTwice(t, cmd, stderr)
	if code := exitCode(t, cmd.Wait()); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	for _, pid := range pids {
		waitFor(t, func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	}
	all, job := ends(t, cmd.Dir)
	if all["writer"] != event.StatusStoppedByDelegate || all["left"] != event.StatusProceeding || all["right"] != event.StatusProceeding {
		t.Errorf("the Runs are %v; they were not left in the middle", all)
	}
	if job != event.JobRunning {
		t.Errorf("the job is %s", job)
	}
	perstack(t, cmd.Dir, "log", "job", "--verify")
	perstack(t, cmd.Dir, "run", "--continue-job", "job")
	checkEnds(t, cmd.Dir, event.StatusCompleted, event.JobCompleted)
	checkOnce(t, cmd.Dir)
}
