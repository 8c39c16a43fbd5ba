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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit"
)

// The test program plays the commands: with this variable as its first argument's
// prefix it acts instead of testing.
const act = "act:"

func TestMain(m *testing.M) {
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
	case "shielded": // row N8, in a process of its own
		if err := Shield(); err != nil {
			os.Stderr.WriteString(err.Error())
			return 1
		}
		o, err := Run(context.Background(), Command{
			Program: "/bin/sh", Args: []string{"-c", "cat /proc/$PPID/environ /proc/$PPID/cmdline"}, Dir: "/", Environ: os.Environ(),
		})
		if err != nil {
			os.Stderr.WriteString(err.Error())
			return 1
		}
		os.Stdout.WriteString(o.Stdout.String() + o.Stderr.String())
	case "run": // runs its arguments and says what came of it
		return playRun(args, func() error { return nil })
	case "shieldAndRun":
		return playRun(args, Shield)
	case "sealAndRun": // the way of kernels that cannot do it at once
		return playRun(args, func() error { sealEach(); return nil })
	}
	return 0
}

func playRun(args []string, prepare func() error) int {
	err := prepare()
	var o Outcome
	if err == nil {
		o, err = Run(context.Background(), Command{Program: args[0], Args: args[1:], Dir: "/", Environ: os.Environ()})
	}
	fmt.Printf("exit %d, error %v\n%s%s", o.ExitCode, err, o.Stdout, o.Stderr)
	return 0
}

// self is a Command that runs the test program in a role.
func self(t *testing.T, role string, args ...string) Command {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Program: exe, Args: append([]string{act + role}, args...), Dir: t.TempDir(), Environ: os.Environ()}
}

func shell(t *testing.T, script string) Command {
	t.Helper()
	return Command{Program: "sh", Args: []string{"-c", script}, Dir: t.TempDir(), Environ: os.Environ()}
}

func run(t *testing.T, c Command) Outcome {
	t.Helper()
	o, err := Run(t.Context(), c)
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

// A program that does as it is asked gets to say its last words.
func TestRunTerminate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := shell(t, "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.01; done")
	c.Grace = time.Minute
	c.Watch = func(chunk []byte) {
		if bytes.Contains(chunk, []byte("ready")) {
			cancel()
		}
	}
	o, err := Run(ctx, c)
	if err != nil || !o.Cancelled || o.TimedOut || o.ExitCode != 7 || o.Stdout.String() != "ready\nbye\n" {
		t.Errorf("outcome %+v, %v", o, err)
	}
}

func TestRunCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := shell(t, "echo ran >ran")
	o, err := Run(ctx, c)
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

// alive does not count a zombie that nobody collects.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// A process that leaves the group can hold the pipe, but not the call.
func TestRunEscapedHolder(t *testing.T) {
	testkit.Need(t, "setsid")
	o := run(t, shell(t, `setsid sleep 3600 & echo $!`))
	if o.ExitCode != 0 {
		t.Errorf("outcome %+v", o)
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(o.Stdout.String())); err == nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// X3: much output is cut in the middle and ends nothing.
func TestRunFlood(t *testing.T) {
	const n = 30 << 20
	c := self(t, "flood", strconv.Itoa(n))
	watched := 0
	c.Watch = func(chunk []byte) { watched += len(chunk) }
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
			o, err := Run(t.Context(), Command{Program: tt.program, Args: tt.args, Dir: dir, Environ: []string{"PATH=" + tt.path}})
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err == nil && o.Stdout.String() != "tool\n" {
				t.Errorf("outcome %+v", o)
			}
		})
	}
}

// Row N8: a child cannot read the environment of a shielded runtime. A child with the
// rights of root can, until it is started without capabilities; so as root the test
// becomes somebody else.
func TestShield(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		testkit.Missing(t, "/proc")
	}
	c := self(t, "shielded")
	cmd := exec.Command(c.Program, c.Args...)
	cmd.Env = append(os.Environ(), "SECRET=canary-of-the-runtime")
	if os.Getuid() == 0 {
		dir := t.TempDir()
		data, err := os.ReadFile(c.Program)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Path = filepath.Join(dir, "program")
		if err := os.WriteFile(cmd.Path, data, 0o755); err != nil {
			t.Fatal(err)
		}
		for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if strings.Contains(string(out), "canary-of-the-runtime") {
		t.Error("the child read the environment of the runtime")
	}
	if !strings.Contains(string(out), "shielded") { // its command line, which stays readable
		t.Errorf("the child did not look at its parent: %q", out)
	}
}
