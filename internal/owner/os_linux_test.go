package owner

import (
	"os/exec"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	rest := " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 3 18 4711 20 21"
	for in, want := range map[string]stat{
		"7 (sh)" + rest:                {pid: 7, state: "S", threads: 3, start: "4711"},
		"7 (a) Z 1 (b) R)" + rest:      {pid: 7, state: "S", threads: 3, start: "4711"},
		"7 (new\nline)" + rest + " \n": {pid: 7, state: "S", threads: 3, start: "4711"},
	} {
		if got, ok := parseStat([]byte(in)); !ok || got != want {
			t.Errorf("parseStat(%q) = %+v, %v", in, got, ok)
		}
	}
	for _, bad := range []string{"", "7", "7 (sh) S 1", "x (sh)" + rest, "7 sh" + rest} {
		if got, ok := parseStat([]byte(bad)); ok {
			t.Errorf("parseStat(%q) = %+v", bad, got)
		}
	}
}

// A process that has ended counts as dead before anybody has waited for it.
func TestZombie(t *testing.T) {
	child := exec.Command("/proc/self/exe", "-test.run=^$")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Wait() }()
	var info unix.Siginfo
	// WNOWAIT leaves the zombie where it is.
	if err := unix.Waitid(unix.P_PID, child.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	s, ok := parseStat(head("/proc/" + strconv.Itoa(child.Process.Pid) + "/stat"))
	if !ok || s.state != "Z" {
		t.Fatalf("the child is %+v", s)
	}
	id := This()
	id.PID, id.StartTime = child.Process.Pid, s.start
	if !id.Dead() {
		t.Errorf("%+v is not dead", id)
	}
}
