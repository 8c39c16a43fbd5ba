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
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// playMore has the roles of processes that try to outlive us.
func playMore(role string, args []string) int {
	switch role {
	case "visit":
		return playVisit(args)
	case "vandal":
		return playVandal(args)
	case "move": // says by which call it could
		for _, flags := range []uint{0, unix.RENAME_EXCHANGE} {
			_ = os.Mkdir(args[1], 0o700)
			if unix.Renameat2(unix.AT_FDCWD, args[0], unix.AT_FDCWD, args[1], flags) == nil {
				fmt.Println("moved with flags", flags)
			}
		}
	case "family":
		return playFamily(args[0], args[1])
	case "fork": // leaves one in a session of its own and is gone
		return startOne(args[0], args[1], true)
	case "child":
		playChild(args[0], args[1])
	case "lost":
		return playLost(args[0], args[1])
	case "pair":
		return playPair()
	case "erase":
		before, _ := os.ReadFile("/proc/self/environ")
		err := eraseEnvironment()
		after, readErr := os.ReadFile("/proc/self/environ")
		fmt.Printf("before %t, after %q, os %q, %v %v\n", bytes.Contains(before, []byte(secretCanary)),
			bytes.Trim(after, "\x00"), os.Getenv("SECRET"), err, readErr)
	case "shieldAndServe":
		return playServe(args)
	case "serverLost":
		return playServerLost(args[0])
	case "threads":
		n, _ := strconv.Atoi(args[0])
		return playThreads(n)
	case "resources":
		return playResources()
	case "waste":
		return playWaste(args[0], args[1])
	case "probe":
		return playProbe(args[0] == "run")
	}
	return 0
}

// Ways to be where a group kill does not reach, or a polite one has no effect.
var familyKinds = []string{"plain", "stubborn", "session", "daemon", "closed", "hidden", "headless"}

// playFamily starts one of each kind. When all are up it leaves, or stays, or kills its
// supervisor.
func playFamily(dir, then string) int {
	for _, name := range familyKinds {
		own := name != "plain" && name != "stubborn"
		role := "child"
		if name == "daemon" || name == "closed" {
			role = "fork"
		}
		if err := spawn(role, name, dir, own); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	for len(pids(dir)) < len(familyKinds) {
		time.Sleep(time.Millisecond)
	}
	switch then {
	case "stay":
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "kill", "stop":
		_ = syscall.Kill(os.Getppid(), map[string]syscall.Signal{"kill": syscall.SIGKILL, "stop": syscall.SIGSTOP}[then])
		time.Sleep(time.Hour)
	}
	fmt.Println("ready")
	return 0
}

func startOne(name, dir string, own bool) int {
	if err := spawn("child", name, dir, own); err != nil {
		return 1
	}
	return 0
}

func spawn(role, name, dir string, own bool) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe, act+role, name, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: own}
	if name == "plain" || name == "session" { // these hold the pipe
		cmd.Stdout = os.Stdout
	}
	return cmd.Start()
}

func playChild(name, dir string) {
	switch name {
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	case "closed":
		for fd := range 3 {
			_ = unix.Close(fd)
		}
	case "hidden":
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	}
	if name == "headless" { // looks dead: its first thread has ended
		defer onFirstThread(func() { _, _, _ = unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0) })
	}
	file := filepath.Join(dir, name)
	if os.WriteFile(file+".tmp", []byte(strconv.Itoa(os.Getpid())), 0o644) == nil {
		_ = os.Rename(file+".tmp", file)
	}
	if name != "headless" {
		time.Sleep(time.Hour)
	}
}

// onFirstThread calls f on the thread that the process began with, and never returns. Each try
// keeps a thread, so that the first one is left at last.
func onFirstThread(f func()) {
	for range 200 {
		tried := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			if unix.Gettid() == os.Getpid() {
				f()
			}
			close(tried)
			time.Sleep(time.Hour)
		}()
		<-tried
	}
	time.Sleep(time.Hour)
}

// pids reads which processes of a family are up.
func pids(dir string) map[string]int {
	up := make(map[string]int)
	for _, name := range familyKinds {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if pid, convErr := strconv.Atoi(string(data)); err == nil && convErr == nil {
			up[name] = pid
		}
	}
	return up
}

// allUp waits for the whole family, and fails if one of it is dead already: then its
// later death would prove nothing.
func allUp(t *testing.T, dir string) map[string]int {
	t.Helper()
	eventually(t, "the family is up", func() bool { return len(pids(dir)) == len(familyKinds) })
	for name, pid := range pids(dir) {
		if !alive(pid) {
			t.Fatalf("%s was dead before its time", name)
		}
	}
	return pids(dir)
}

func allGone(t *testing.T, family map[string]int) {
	t.Helper()
	if len(family) != len(familyKinds) {
		t.Fatalf("only %v were up", family)
	}
	for name, pid := range family {
		eventually(t, name+" is gone", func() bool { return !alive(pid) })
	}
}

// eventually asks again and again. The deadline only keeps a broken test from waiting
// for ever.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// playLost runs a command that kills or stops the supervisor, then one that does not.
func playLost(dir, how string) int {
	if err := Harden(); err != nil {
		fmt.Println(err)
		return 1
	}
	exe, _ := os.Executable()
	s := NewSupervisor()
	c := Command{Program: exe, Args: []string{act + "family", dir, how}, Dir: "/", Environ: os.Environ(), Policy: off(), Grace: time.Millisecond}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if how == "stop" {
		s.patience = 100 * time.Millisecond
		go func() {
			for !isStopped(s) {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
	}
	_, err := s.Run(ctx, c)
	s.patience = defaultPatience
	fmt.Println("lost:", errors.Is(err, ErrLost))
	for name, pid := range pids(dir) {
		if alive(pid) {
			fmt.Println("survived:", name)
		}
	}
	left, _, _ := snapshot()
	for pid := range left {
		if len(lineage(left, pid, os.Getpid())) > 0 && alive(pid) {
			fmt.Println("left behind:", left[pid])
		}
	}
	o, err := s.Run(context.Background(), Command{Program: "echo", Args: []string{"again"}, Dir: "/", Environ: os.Environ(), Policy: off()})
	fmt.Print("next: ", o.Stdout, err, "\n")
	fmt.Println("close:", s.Close())
	return 0
}

// isStopped reports whether the process of s was stopped.
func isStopped(s *Supervisor) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.commands[""] == nil {
		return false
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.commands[""].process.Pid))
	return strings.Contains(string(stat), ") T ")
}

// playPair has two supervisors, and closes one.
func playPair() int {
	if err := Harden(); err != nil {
		fmt.Println(err)
		return 1
	}
	one, other := NewSupervisor(), NewSupervisor()
	c := Command{Program: "echo", Args: []string{"ran"}, Dir: "/", Environ: os.Environ(), Policy: off()}
	for _, s := range []*Supervisor{one, other} {
		o, err := s.Run(context.Background(), c)
		fmt.Print(o.Stdout, err, "\n")
	}
	guard := other.commands[""].process.Pid
	fmt.Println(one.Close(), alive(guard), other.Close(), alive(guard))
	return 0
}

// family is a command that starts the whole family below dir.
func family(t *testing.T, then string) (c Command, dir string) {
	t.Helper()
	dir = t.TempDir()
	return self(t, "family", dir, then), dir
}

// begin runs a command in the background and returns when it says so.
func begin(ctx context.Context, t *testing.T, s *Supervisor, c Command) <-chan Outcome {
	t.Helper()
	ready := make(chan struct{}, 1)
	c.Watch = func(_ Stream, chunk []byte) {
		if bytes.Contains(chunk, []byte("ready")) {
			ready <- struct{}{}
		}
	}
	done := make(chan Outcome, 1)
	go func() {
		o, err := s.Run(ctx, c)
		if err != nil && !strings.Contains(err.Error(), "unknown") {
			t.Error(err)
		}
		done <- o
	}()
	select {
	case <-ready:
	case o := <-done:
		t.Fatalf("it ended before it was ready: %+v", o)
	}
	return done
}
