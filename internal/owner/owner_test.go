package owner

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asked is a process that owns something; me asks about it.
var (
	me    = Identity{Machine: "m1", BootID: "b1", PIDNamespace: "n1", PID: 100, StartTime: "5000"}
	asked = Identity{Machine: "m1", BootID: "b1", PIDNamespace: "n1", PID: 42, StartTime: "700"}
)

func with(change func(*Identity)) Identity {
	id := asked
	change(&id)
	return id
}

func TestDead(t *testing.T) {
	lives := process{state: running, start: "700"}
	for _, c := range []struct {
		name string
		id   Identity
		me   Identity
		sees process
		want bool
	}{
		{"it runs", asked, me, lives, false},
		{"no such process", asked, me, process{state: gone}, true},
		{"the number was given out again", asked, me, process{state: running, start: "701"}, true},
		{"before the last boot", with(func(id *Identity) { id.BootID = "b0" }), me, lives, true},
		{"the system does not tell", asked, me, process{}, false},
		{"the start of what runs is not known", asked, me, process{state: running}, false},
		{"its start is not known", with(func(id *Identity) { id.StartTime = "" }), me, lives, false},
		{"its start is not known, and it is gone", with(func(id *Identity) { id.StartTime = "" }), me, process{state: gone}, true},
		{"its boot is not known", with(func(id *Identity) { id.BootID = "" }), me, lives, false},
		{"another machine", with(func(id *Identity) { id.Machine = "m2"; id.BootID = "b0" }), me, process{state: gone}, false},
		{"its machine is not known", with(func(id *Identity) { id.Machine = "" }), me, process{state: gone}, false},
		{"another container", with(func(id *Identity) { id.PIDNamespace = "n2"; id.BootID = "b0" }), me, process{state: gone}, false},
		{"its container is not known", with(func(id *Identity) { id.PIDNamespace = "" }), me, process{state: gone}, false},
		{"nothing is known of either", Identity{PID: 42}, Identity{PID: 100}, process{state: gone}, false},
		{"no number", Identity{Machine: "m1", PIDNamespace: "n1", BootID: "b0"}, me, process{state: gone}, false},
	} {
		look := func(pid int) process {
			if pid != c.id.PID {
				t.Errorf("%s: looks at %d", c.name, pid)
			}
			return c.sees
		}
		if got := c.id.dead(c.me, look); got != c.want {
			t.Errorf("%s: dead = %v", c.name, got)
		}
	}
}

func TestThisProcessLives(t *testing.T) {
	id := This()
	if id.Dead() {
		t.Errorf("%+v is dead", id)
	}
	if id.PID != os.Getpid() || id.Machine == "" || id.PIDNamespace == "" {
		t.Errorf("This() = %+v: something is not known", id)
	}
	again := id
	again.StartTime = "1"
	if id.StartTime != "" && !again.Dead() {
		t.Error("a process of the same number that started at another time is not dead")
	}
}

// A real process, alive, as a zombie that was not waited for, and gone.
func TestChild(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe, "-test.run=^TestBeAChild$")
	child.Env = append(os.Environ(), "PERSTACK_TEST_CHILD=1")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, maxText)
	n, err := stdout.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	id, err := Parse(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	if id.PID != child.Process.Pid {
		t.Errorf("the child says that it is %d, not %d", id.PID, child.Process.Pid)
	}
	if id.Dead() {
		t.Error("the child is dead while it runs")
	}
	stdin.Close()
	_ = child.Wait()
	if !id.Dead() {
		t.Error("the child is not dead after its end")
	}
}

// TestBeAChild is the other process of TestChild.
func TestBeAChild(t *testing.T) {
	if os.Getenv("PERSTACK_TEST_CHILD") == "" {
		return
	}
	os.Stdout.WriteString(This().String() + "\n")
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

func TestText(t *testing.T) {
	id := This()
	got, err := Parse(id.String())
	id.Host = ""
	if err != nil || got != id {
		t.Errorf("Parse(%q) = %+v, %v", id.String(), got, err)
	}
	if text := (Identity{PID: 7}).String(); text != "1____7_" {
		t.Errorf("an identity of which little is known is %q", text)
	}
	for _, bad := range []string{
		"", "1", "2_m_b_n_7_s", "1_m_b_n_7", "1_m_b_n_7_s_x", "1_m_b_n_0_s", "1_m_b_n_-7_s", "1_m_b_n_x_s",
		"1_m_b_n_7_s\n", "1_m b_b_n_7_s", "1_m_b_n_99999999999999999999_s", "1_m_b_n_7_" + strings.Repeat("s", maxText),
	} {
		if id, err := Parse(bad); err == nil {
			t.Errorf("Parse(%q) = %+v", bad, id)
		}
	}
}

func TestDigest(t *testing.T) {
	if digest("", "") != "" {
		t.Error("a machine of which nothing is known has a digest")
	}
	seen := map[string]string{}
	for _, c := range [][2]string{{"a", "h"}, {"b", "h"}, {"", "h"}, {"", "a"}} {
		d := digest(c[0], c[1])
		if other, ok := seen[d]; ok || len(d) != 16 {
			t.Errorf("digest(%q) = %q, also of %q", c, d, other)
		}
		seen[d] = c[0] + " " + c[1]
	}
	if digest("a", "h") != digest("a", "renamed") {
		t.Error("a machine with an id is another one when it is renamed")
	}
}
