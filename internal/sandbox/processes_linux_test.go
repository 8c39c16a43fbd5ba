package sandbox

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// The name of a process is chosen by it, and must not be taken for fields.
func TestParseStat(t *testing.T) {
	tail := " 10 20 30 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987 0 0 0"
	for _, name := range []string{"sh", "a b", ") Z 1 1 1 1", "((", "x) S 1 2 3"} {
		got, err := parseStat(7, []byte("7 ("+name+") S"+tail))
		want := proc{pid: 7, parent: 10, group: 20, session: 30, begun: 987}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(proc{})); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", name, err, diff)
		}
	}
	for _, bad := range []string{"", "7", "7 (sh)", "7 (sh) S 1 2", "7 (sh) S" + strings.Replace(tail, "10", "x", 1)} {
		if p, err := parseStat(7, []byte(bad)); err == nil {
			t.Errorf("%q is %+v", bad, p)
		}
	}
	if p, err := readProc(os.Getpid()); err != nil || p.parent != os.Getppid() || p.begun == 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestLineage(t *testing.T) {
	all := map[int]proc{
		1: {pid: 1}, 10: {pid: 10, parent: 1}, 11: {pid: 11, parent: 10}, 12: {pid: 12, parent: 11},
		20: {pid: 20, parent: 1}, 30: {pid: 30, parent: 99}, 41: {pid: 41, parent: 42}, 42: {pid: 42, parent: 41},
	}
	for pid, want := range map[int]int{11: 1, 12: 2, 10: 0, 1: 0, 20: 0, 30: 0, 41: 0, 77: 0} {
		if got := lineage(all, pid, 10); len(got) != want {
			t.Errorf("%d: %v", pid, got)
		}
	}
}

// Which strays do not belong to a running program.
func TestStrays(t *testing.T) {
	all := map[int]proc{
		10: {pid: 10, parent: 1, session: 10},                                                                  // the supervisor
		20: {pid: 20, parent: 10, session: 20, begun: 100}, 21: {pid: 21, parent: 20, session: 21, begun: 105}, // runs, and its child
		22: {pid: 22, parent: 10, session: 20, begun: 110}, // orphan of it, in its session
		30: {pid: 30, parent: 10, session: 30, begun: 90},  // older
		31: {pid: 31, parent: 30, session: 31, begun: 200}, // its child
		40: {pid: 40, parent: 10, session: 40, begun: 120}, // younger: whose?
		50: {pid: 50, parent: 10, session: 33, begun: 130}, // of the session that ended
		70: {pid: 70, parent: 1, session: 70, begun: 50},   // not ours
		80: {pid: 80, parent: 10, session: 80, begun: 100},
	}
	find := func(running map[int]*runningProgram, ended int) map[int]bool {
		found := map[int]bool{}
		for _, p := range (&supervisorLoop{self: 10, running: running}).strays(all, ended) {
			found[p.pid] = true
		}
		return found
	}
	one := map[int]*runningProgram{20: {pid: 20, begun: 100}}
	if diff := cmp.Diff(map[int]bool{30: true, 31: true, 50: true}, find(one, 33)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[int]bool{30: true, 31: true}, find(one, 0)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[int]bool{20: true, 21: true, 22: true, 30: true, 31: true, 40: true, 50: true, 80: true}, find(nil, 0)); diff != "" {
		t.Error(diff)
	}
}

// Both ways to find descendants find the same.
func TestSnapshot(t *testing.T) {
	c := shell(t, "(setsid sleep 3600 & sleep 3600 & wait) & wait")
	cmd := exec.Command(c.Program, c.Args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	below := func(all map[int]proc, _ bool, err error) map[int]proc {
		if err != nil {
			t.Fatal(err)
		}
		found := make(map[int]proc)
		for pid, p := range all {
			if line := lineage(all, pid, os.Getpid()); len(line) > 0 && line[len(line)-1].pid == cmd.Process.Pid {
				found[pid] = p
			}
		}
		return found
	}
	eventually(t, "four processes and one session more are up", func() bool {
		all := below(allProcesses())
		sessions := map[int]bool{}
		for _, p := range all {
			sessions[p.session] = true
		}
		return len(all) == 4 && len(sessions) == 2
	})
	all := below(allProcesses())
	if diff := cmp.Diff(all, below(snapshot()), cmp.AllowUnexported(proc{})); diff != "" {
		t.Error(diff)
	}
	for _, p := range all {
		p.end(unix.SIGKILL)
	}
	_ = cmd.Wait() // killed
}
