//go:build unix

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/stopwatch"
	"github.com/perstack-go/perstack/internal/testkit"
)

// The test program plays the commands: with this variable as its first argument's
// prefix it acts instead of testing.
const act = "act:"

// withoutInit is set in the environment of a program that forgot to call Init.
const withoutInit = "PERSTACK_TEST_WITHOUT_INIT"

// byHand is set where a user starts the program under one of its internal names.
const byHand = "PERSTACK_TEST_BY_HAND"

func TestMain(m *testing.M) {
	if os.Getenv(withoutInit) == "" {
		Init()
	}
	if os.Getenv(byHand) != "" {
		fmt.Println("main continues")
		os.Exit(0)
	}
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], act) {
		os.Exit(play(strings.TrimPrefix(os.Args[1], act), os.Args[2:]))
	}
	os.Exit(m.Run())
}

func play(role string, args []string) int {
	switch role {
	case "args":
		os.Stdout.WriteString(strings.Join(args, "|"))
	case "env":
		os.Stdout.WriteString(strings.Join(os.Environ(), "\n"))
	case "stubborn": // says that it is ready, then ignores every request to end
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		os.Stdout.WriteString("ready\n")
		time.Sleep(time.Hour)
	case "flood":
		n, _ := strconv.Atoi(args[0])
		chunk := bytes.Repeat([]byte("x"), 1<<16)
		for ; n > 0; n -= len(chunk) {
			os.Stdout.Write(chunk[:min(n, len(chunk))])
		}
	case "run": // runs its arguments and says what came of it
		return playRun(args, func() error { return nil })
	case "shieldAndRun":
		return playRun(args, Harden)
	case "exec": // starts its arguments without a supervisor
		return playExec(args, func() error { return nil })
	case "shieldAndExec":
		return playExec(args, Harden)
	case "sealAndExec": // the way of kernels that cannot do it at once
		return playExec(args, func() error { closeEachOnExec(); return nil })
	default:
		return playMore(role, args)
	}
	return 0
}

func playRun(args []string, prepare func() error) int {
	err := prepare()
	var o Outcome
	s := NewSupervisor()
	if err == nil {
		o, err = s.Run(context.Background(), Command{Program: args[0], Args: args[1:], Dir: "/", Environ: os.Environ(), Policy: off()})
	}
	fmt.Printf("exit %d, error %v\n%s%s", o.ExitCode, err, o.Stdout, o.Stderr)
	if err := s.Close(); err != nil {
		fmt.Println("close:", err)
	}
	return 0
}

func playExec(args []string, prepare func() error) int {
	err := prepare()
	cmd := exec.Command(args[0], args[1:]...)
	var out []byte
	if err == nil {
		out, err = cmd.CombinedOutput()
	}
	fmt.Printf("exit %d, error %v\n%s", cmd.ProcessState.ExitCode(), err, out)
	return 0
}

// off is the policy of a command without a sandbox.
func off() *policy.Policy { return policy.Off(policy.JobOff) }

// self is a Command that runs the test program in a role.
func self(t *testing.T, role string, args ...string) Command {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Program: exe, Args: append([]string{act + role}, args...), Dir: t.TempDir(), Environ: os.Environ(), Policy: off()}
}

func shell(t *testing.T, script string) Command {
	t.Helper()
	return Command{Program: "sh", Args: []string{"-c", script}, Dir: t.TempDir(), Environ: os.Environ(), Policy: off()}
}

// supervisor is one of the test's own, which must come to a good end.
func supervisor(t *testing.T) *Supervisor {
	t.Helper()
	s := NewSupervisor()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func run(t *testing.T, c Command) Outcome {
	t.Helper()
	o, err := supervisor(t).Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestRunEnds(t *testing.T) {
	tests := []struct {
		script   string
		code     int
		signal   string
		out, err string
	}{
		{"echo hi; echo oops >&2", 0, "", "hi\n", "oops\n"},
		{"exit 3", 3, "", "", ""},
		{"kill -SEGV $$", -1, "SIGSEGV", "", ""},
		{"kill -TERM $$", -1, "SIGTERM", "", ""}, // not a timeout
		{"echo timeout >&2; exit 1", 1, "", "", "timeout\n"},
		{"cat; echo end", 0, "", "end\n", ""}, // stdin is empty
	}
	for _, tt := range tests {
		t.Run(tt.script, func(t *testing.T) {
			o := run(t, shell(t, tt.script))
			if o.ExitCode != tt.code || o.Signal != tt.signal || o.TimedOut || o.Cancelled ||
				o.Stdout.String() != tt.out || o.Stderr.String() != tt.err {
				t.Errorf("outcome %+v", o)
			}
		})
	}
}

// Row B23, X1: nothing is expanded.
func TestRunArgumentsAreLiteral(t *testing.T) {
	args := []string{"$HOME", "*", "a b", "; rm -rf /", "`id`", "$(id)", "|", "", "--", "\n", "'\""}
	o := run(t, self(t, "args", args...))
	if got := o.Stdout.String(); got != strings.Join(args, "|") {
		t.Errorf("arguments arrived as %q", got)
	}
}

// X2: nothing of our environment but the safe variables.
func TestRunEnvironment(t *testing.T) {
	t.Setenv("PERSTACK_TEST_SECRET", "canary")
	c := self(t, "env")
	c.Environ = append(os.Environ(), "OPENAI_API_KEY=canary")
	c.Env = map[string]string{"FOO": "bar", "Ld_Preload": "canary"}
	o := run(t, c)
	if got := o.Stdout.String(); strings.Contains(got, "canary") || !strings.Contains(got, "FOO=bar") {
		t.Errorf("environment:\n%s", got)
	}
	if len(o.DroppedEnv) != 1 || o.DroppedEnv[0] != "Ld_Preload" {
		t.Errorf("dropped %q", o.DroppedEnv)
	}
}

// Row N12, X3: a program that ignores SIGTERM is killed, and so is what it started.
func TestRunTimeout(t *testing.T) {
	c := self(t, "stubborn")
	c.Timeout, c.Grace = 50*time.Millisecond, 50*time.Millisecond
	// Wait for "ready" by starting the clock late: the timeout is retried larger if
	// the program was not even up.
	for range 8 {
		o := run(t, c)
		if !o.TimedOut || o.Cancelled {
			t.Fatalf("outcome %+v", o)
		}
		if o.Stdout.String() == "ready\n" {
			if o.Signal != "SIGKILL" || o.ExitCode != -1 {
				t.Errorf("outcome %+v", o)
			}
			return
		}
		c.Timeout *= 2
	}
	t.Fatal("the program never became ready")
}

// While the user is asked about something that the program wants, its time stands still.
func TestRunTimeoutStandsStill(t *testing.T) {
	c := shell(t, "sleep 0.1; echo done")
	c.Timeout, c.Clock = time.Millisecond, &stopwatch.Clock{}
	resume := c.Clock.Pause()
	if o := run(t, c); o.TimedOut || o.Stdout.String() != "done\n" {
		t.Errorf("outcome %+v", o)
	}
	resume()
	c.Args = []string{"-c", "sleep 1000"}
	if o := run(t, c); !o.TimedOut {
		t.Errorf("after the pause: %+v", o)
	}
}

// A program that does as it is asked gets to say its last words.
func TestRunTerminate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := shell(t, "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.01; done")
	c.Grace = time.Minute
	c.Watch = func(_ Stream, chunk []byte) {
		if bytes.Contains(chunk, []byte("ready")) {
			cancel()
		}
	}
	o, err := supervisor(t).Run(ctx, c)
	if err != nil || !o.Cancelled || o.TimedOut || o.ExitCode != 7 || o.Stdout.String() != "ready\nbye\n" {
		t.Errorf("outcome %+v, %v", o, err)
	}
}

func TestRunCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := shell(t, "echo ran >ran")
	o, err := supervisor(t).Run(ctx, c)
	if err != nil || !o.Cancelled {
		t.Errorf("outcome %+v, %v", o, err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

// Row N12: a background process that holds the pipe does not keep the call open, and
// does not survive it. It writes its number and would sleep for an hour.
func TestRunBackground(t *testing.T) {
	for _, script := range []string{
		`sleep 3600 & echo $!`,
		`(trap "" TERM HUP; sleep 3600) & echo $!; exit 0`,
	} {
		o := run(t, shell(t, script))
		pid, err := strconv.Atoi(strings.TrimSpace(o.Stdout.String()))
		if err != nil || o.ExitCode != 0 || o.TimedOut {
			t.Fatalf("outcome %+v", o)
		}
		for i := 0; alive(pid); i++ { // the signal was sent; the kernel acts on it soon
			if i > 1000 {
				t.Fatalf("process %d survived", pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// alive does not count a zombie that is not reaped, unless it has living threads.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	threads, _ := os.ReadDir(dir + "/task")
	return err != nil || !strings.Contains(string(stat), ") Z ") || len(threads) > 1
}

// A process that leaves the group can hold the pipe, but not the call.
func TestRunEscapedHolder(t *testing.T) {
	testkit.Need(t, "setsid")
	o := run(t, shell(t, `setsid sh -c 'echo $$; exec sleep 3600' & while ! [ -s pid ]; do sleep 0.01; echo >pid; done`))
	pid, err := strconv.Atoi(strings.TrimSpace(o.Stdout.String()))
	if err != nil || o.ExitCode != 0 {
		t.Errorf("outcome %+v", o)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL) // where it cannot be found, the test has to end it
}

// What the system would refuse is refused with its words, and the next command runs.
func TestRunTooLong(t *testing.T) {
	s := supervisor(t)
	for _, args := range [][]string{
		{strings.Repeat("x", 9<<20)},                             // more than a message may have
		slices.Repeat([]string{strings.Repeat("x", 1<<16)}, 120), // more than the kernel takes
	} {
		_, err := s.Run(t.Context(), Command{Program: "true", Args: args, Dir: "/", Environ: os.Environ(), Policy: off()})
		if !errors.Is(err, syscall.E2BIG) {
			t.Errorf("error %v", err)
		}
		if o, err := s.Run(t.Context(), shell(t, "echo fine")); err != nil || o.Stdout.String() != "fine\n" {
			t.Errorf("outcome %+v, %v", o, err)
		}
	}
}

// Bytes that are no text arrive as they are.
func TestRunBytes(t *testing.T) {
	arg := "\xff\xfe\x80 \u202e"
	c := self(t, "args", arg)
	c.Env = map[string]string{"RAW": arg}
	if o := run(t, c); o.Stdout.String() != arg {
		t.Errorf("the argument arrived as %q", o.Stdout)
	}
}

// A command starts in the directory that was opened, wherever its name leads by now.
func TestRunOpenDir(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"mine", "theirs"} {
		if err := os.Mkdir(filepath.Join(top, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, name, "whose"), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.Open(filepath.Join(top, "mine"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := os.Rename(filepath.Join(top, "mine"), filepath.Join(top, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("theirs", filepath.Join(top, "mine")); err != nil {
		t.Fatal(err)
	}
	c := Command{Program: "cat", Args: []string{"whose"}, Dir: filepath.Join(top, "mine"), OpenDir: dir, Environ: os.Environ(), Policy: off()}
	if o := run(t, c); o.Stdout.String() != "mine" {
		t.Errorf("outcome %+v", o)
	}
	c.OpenDir = nil
	if o := run(t, c); o.Stdout.String() != "theirs" { // so the test can fail
		t.Errorf("outcome %+v", o)
	}
}

// A program that did not call Init says what is missing, and starts nothing.
func TestRunWithoutInit(t *testing.T) {
	c := self(t, "run", "echo", "ran")
	cmd := exec.Command(c.Program, c.Args...)
	cmd.Env = append(os.Environ(), withoutInit+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "must call perstack.Init") || strings.Contains(string(out), "ran") {
		t.Errorf("%v: %s", err, out)
	}
}

// X3: much output is cut in the middle and ends nothing.
func TestRunFlood(t *testing.T) {
	const n = 30 << 20
	c := self(t, "flood", strconv.Itoa(n))
	watched := 0
	c.Watch = func(_ Stream, chunk []byte) { watched += len(chunk) }
	o := run(t, c)
	kept := len(o.Stdout.Head) + len(o.Stdout.Tail)
	if o.ExitCode != 0 || kept != DefaultMaxOutput || o.Stdout.LeftOut != n-DefaultMaxOutput || watched != n+len(o.Stderr.Head) {
		t.Errorf("exit %d, kept %d, left out %d, watched %d", o.ExitCode, kept, o.Stdout.LeftOut, watched)
	}
}

func TestRunClock(t *testing.T) {
	now := time.Unix(0, 0)
	c := shell(t, ":")
	c.Now = func() time.Time { now = now.Add(5 * time.Millisecond); return now }
	if o := run(t, c); o.DurationMs != 5 {
		t.Errorf("duration %d", o.DurationMs)
	}
}

func TestRunCannotStart(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"plain": 0o644, "tool": 0o755} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho tool\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name, program, path string
		args                []string
		want                error
	}{
		{"empty", "", "/bin", nil, ErrInvalid},
		{"NUL in the program", "sh\x00", "/bin", nil, ErrInvalid},
		{"NUL in an argument", "sh", "/bin", []string{"\x00"}, ErrInvalid},
		{"unknown", "no-such-program", "/bin", nil, ErrNotFound},
		{"unknown in the directory", "./none", "/bin", nil, ErrNotFound},
		{"not executable", "./plain", "/bin", nil, ErrPermission},
		{"not executable in PATH", "plain", dir, nil, ErrPermission},
		{"relative PATH entry", "tool", ".", nil, ErrNotFound},
		{"empty PATH entry", "tool", ":", nil, ErrNotFound},
		{"no PATH", "tool", "", nil, ErrNotFound},
		{"a directory", filepath.Base(dir), filepath.Dir(dir), nil, ErrNotFound},
		{"in the directory", "./tool", "/bin", nil, nil},
		{"in PATH", "tool", "/nowhere:" + dir, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o, err := supervisor(t).Run(t.Context(), Command{Program: tt.program, Args: tt.args, Dir: dir, Environ: []string{"PATH=" + tt.path}, Policy: off()})
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err == nil && o.Stdout.String() != "tool\n" {
				t.Errorf("outcome %+v", o)
			}
		})
	}
}
