//go:build unix

package test

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// followJob runs perstack log --follow in a project, and returns when the query is on the screen.
func followJob(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	cmd = exec.Command(watched, append([]string{"log", "job", "--follow"}, args...)...)
	cmd.Dir = dir
	stdout := &lines{}
	stderr = &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		return strings.Contains(stdout.String(), "startRun") || strings.Contains(stdout.String(), "● Query\n")
	})
	return cmd, stderr
}

// A job that another process runs is followed to its end, with the exit code of that process. If
// that one was killed, nothing more comes, and the command says so instead of waiting.
func TestFollowAnotherProcess(t *testing.T) {
	for name, tt := range map[string]struct {
		signal syscall.Signal
		args   []string
		code   int
		said   string
	}{
		"interrupted":    {syscall.SIGINT, nil, 130, ""},
		"terminated":     {syscall.SIGTERM, []string{"--events"}, 143, ""},
		"killed":         {syscall.SIGKILL, nil, 1, "perstack: the process of job job ended without saving its state; resume the job with: perstack run --continue-job job\n"},
		"killed, events": {syscall.SIGKILL, []string{"--events"}, 1, "perstack: the process of job job ended without saving its state; resume the job with: perstack run --continue-job job\n"},
		"killed, json":   {syscall.SIGKILL, []string{"--json"}, 1, "perstack: the process of job job ended without saving its state; resume the job with: perstack run --continue-job job\n"},
	} {
		t.Run(name, func(t *testing.T) {
			run, _ := start(t, slow, "startToolCall")
			follower, stderr := followJob(t, run.Dir, tt.args...)
			if err := run.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			_ = run.Wait() // it was stopped
			if code := exitCode(t, follower.Wait()); code != tt.code || stderr.String() != tt.said {
				t.Errorf("exit code %d, want %d; %s", code, tt.code, stderr)
			}
		})
	}
}

// Ctrl-C stops following, and not the job.
func TestFollowStops(t *testing.T) {
	run, _ := start(t, slow, "startToolCall")
	follower, stderr := followJob(t, run.Dir)
	if err := follower.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, follower.Wait()); code != 130 {
		t.Errorf("exit code %d; %s", code, stderr)
	}
	if err := run.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the job has ended: %v", err)
	}
	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, run.Wait()); code != 143 {
		t.Errorf("the job ended with %d", code)
	}
}
