package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit"
)

// X3, S4: nothing that was started survives the death of perstack, kill -9 included.
func TestNothingSurvivesKill(t *testing.T) {
	for _, how := range []string{"run", "shieldAndRun", "shieldAndRun, supervisor stopped"} {
		t.Run(how, func(t *testing.T) {
			role, _, stopped := strings.Cut(how, ",")
			command, dir := family(t, "stay")
			c := self(t, role, append([]string{command.Program}, command.Args...)...)
			perstack := exec.Command(c.Program, c.Args...)
			if err := perstack.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = perstack.Process.Kill() }() // also when the test ends before
			up := allUp(t, dir)
			guard := parentOf(t, up["plain"], 2) // family, supervisor
			if got := parentOf(t, guard, 1); got != perstack.Process.Pid {
				t.Fatalf("the supervisor %d belongs to %d", guard, got)
			}
			if stopped { // as a command of the same user can
				if err := syscall.Kill(guard, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
			}
			if err := perstack.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = perstack.Wait() // killed
			allGone(t, up)
			eventually(t, "the supervisor is gone", func() bool { return !alive(guard) })
		})
	}
}

func parentOf(t *testing.T, pid, generations int) int {
	t.Helper()
	for range generations {
		p, err := readProc(pid)
		if err != nil {
			t.Fatal(err)
		}
		pid = p.parent
	}
	return pid
}

// N12: nothing survives the end of its call, whatever ends it.
func TestNothingSurvivesCall(t *testing.T) {
	t.Run("a good end", func(t *testing.T) {
		c, dir := family(t, "leave")
		o := run(t, c)
		if o.ExitCode != 0 || o.Stdout.String() != "ready\n" {
			t.Fatalf("outcome %+v", o)
		}
		allGone(t, pids(dir))
	})
	t.Run("timeout", func(t *testing.T) {
		c, dir := family(t, "stay")
		c.Timeout, c.Grace = 100*time.Millisecond, time.Millisecond
		for len(pids(dir)) < len(familyKinds) { // a slow machine gets more time
			c.Timeout *= 2
			if o := run(t, c); !o.TimedOut || o.Cancelled {
				t.Fatalf("outcome %+v", o)
			}
		}
		allGone(t, pids(dir))
	})
	t.Run("cancel", func(t *testing.T) {
		c, dir := family(t, "stay")
		c.Grace = time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := begin(ctx, t, supervisor(t), c)
		up := allUp(t, dir)
		cancel()
		if o := <-done; !o.Cancelled || o.TimedOut {
			t.Errorf("outcome %+v", o)
		}
		allGone(t, up)
	})
	t.Run("close", func(t *testing.T) {
		c, dir := family(t, "stay")
		s := supervisor(t)
		done := begin(t.Context(), t, s, c)
		up := allUp(t, dir)
		guard := s.commands[""].process.Pid
		for range 2 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			for name, pid := range up { // without waiting: Close did
				if alive(pid) {
					t.Errorf("%s outlived Close", name)
				}
			}
			if alive(guard) {
				t.Error("the supervisor outlived Close")
			}
		}
		if o := <-done; o.Signal != "SIGKILL" || o.TimedOut || o.Cancelled {
			t.Errorf("outcome %+v", o)
		}
	})
}

// Strays of one command are told from those of another. One that no other command
// can have started is killed with its command; others are killed when that is certain.
func TestStraysAreAttributed(t *testing.T) {
	t.Run("younger than a running command", func(t *testing.T) {
		s := supervisor(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		other := shell(t, "echo ready; exec sleep 3600")
		running := begin(ctx, t, s, other)
		c, dir := family(t, "leave")
		if o, err := s.Run(t.Context(), c); err != nil || o.ExitCode != 0 {
			t.Fatalf("outcome %+v, %v", o, err)
		}
		up := pids(dir)
		for _, name := range []string{"plain", "stubborn"} { // these are in the group
			eventually(t, name+" is gone", func() bool { return !alive(up[name]) })
		}
		cancel()
		if o := <-running; !o.Cancelled {
			t.Errorf("outcome %+v", o)
		}
		allGone(t, up)
	})
	t.Run("older than a running command", func(t *testing.T) {
		s := supervisor(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c, dir := family(t, "stay")
		breeding := begin(ctx, t, s, c)
		up := allUp(t, dir)
		youngest := uint64(0)
		for _, pid := range up {
			youngest = max(youngest, startTime(pid))
		}
		eventually(t, "the clock runs", func() bool {
			return fleeting(t) > youngest
		})
		later, stop := context.WithCancel(t.Context())
		defer stop()
		other := begin(later, t, s, shell(t, "setsid sh -c 'echo $$ >stray; exec sleep 3600' & echo ready; wait"))
		cancel()
		<-breeding
		allGone(t, up)
		select {
		case o := <-other:
			t.Errorf("the other command ended: %+v", o)
		default:
		}
		stop()
		<-other
	})
}

// fleeting returns when a process began that was started now.
func fleeting(t *testing.T) uint64 {
	t.Helper()
	cmd := exec.Command("sleep", "3600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	begun := startTime(cmd.Process.Pid)
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // killed
	return begun
}

// A command kills or stops the supervisor: the call is answered, what it started is
// gone, and the next command has a new supervisor.
func TestSupervisorLost(t *testing.T) {
	for _, how := range []string{"kill", "stop"} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			c := self(t, "lost", dir, how)
			out, err := exec.Command(c.Program, c.Args...).CombinedOutput()
			if want := "lost: true\nnext: again\n <nil>\nclose: <nil>\n"; err != nil || string(out) != want {
				t.Errorf("%v\n%s", err, out)
			}
			allGone(t, pids(dir))
		})
	}
}

// Two supervisors of one process do not know of each other.
func TestSupervisorPair(t *testing.T) {
	c := self(t, "pair")
	out, err := exec.Command(c.Program, c.Args...).CombinedOutput()
	if want := "ran\n <nil>\nran\n <nil>\n<nil> true <nil> false\n"; err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
}

// A command that multiplies in sessions of its own is gone after its time.
func TestForkBomb(t *testing.T) {
	testkit.Need(t, "setsid")
	const many = 200
	c := shell(t, `cat >bomb <<'END'
echo $$ >>pids
if [ $(wc -l <pids) -lt `+strconv.Itoa(many)+` ]; then
	setsid sh bomb & sh bomb &
fi
trap '' TERM
while :; do sleep 3600; done
END
sh bomb`)
	c.Grace = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := supervisor(t)
	done := make(chan Outcome, 1)
	go func() {
		o, err := s.Run(ctx, c)
		if err != nil {
			t.Error(err)
		}
		done <- o
	}()
	file := filepath.Join(c.Dir, "pids")
	count := func() []string {
		data, _ := os.ReadFile(file)
		return strings.Fields(string(data))
	}
	eventually(t, "the bomb is going off", func() bool { return len(count()) > many/4 })
	cancel()
	if o := <-done; !o.Cancelled {
		t.Errorf("outcome %+v", o)
	}
	eventually(t, "all are gone", func() bool {
		for _, field := range count() {
			if pid, err := strconv.Atoi(field); err != nil || alive(pid) {
				return false
			}
		}
		return true
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, field := range count() {
		if pid, err := strconv.Atoi(field); err == nil && syscall.Kill(pid, 0) == nil && alive(pid) {
			t.Errorf("%d came back", pid)
		}
	}
}

// Orphans that end while the supervisor lives are collected: no zombie stays.
func TestOrphansAreReaped(t *testing.T) {
	s := supervisor(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := shell(t, "for i in 1 2 3 4 5 6 7 8 9; do (true & echo $! >>pids); done; echo ready; exec sleep 3600")
	done := begin(ctx, t, s, c)
	data, err := os.ReadFile(filepath.Join(c.Dir, "pids"))
	if err != nil || len(strings.Fields(string(data))) != 9 {
		t.Fatalf("%q, %v", data, err)
	}
	for _, field := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the orphan is buried", func() bool { return syscall.Kill(pid, 0) != nil })
	}
	cancel()
	<-done
}
