package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// playThreads has so many threads, says so, and waits.
func playThreads(n int) int {
	var up sync.WaitGroup
	for range n {
		up.Add(1)
		go func() {
			runtime.LockOSThread()
			up.Done()
			select {}
		}()
	}
	up.Wait()
	fmt.Println("ready")
	time.Sleep(time.Hour)
	return 0
}

// A program with too many processes or threads is ended with all of them, the outcome says
// so, and others continue.
func TestPolicyTooMany(t *testing.T) {
	const tooMany = "more than 60 processes and threads"
	s := supervisor(t)
	for name, c := range map[string]Command{
		"processes": shell(t, `i=0; while [ $i -lt 100 ]; do sleep 3600 & i=$((i+1)); done; wait`),
		"bomb":      shell(t, `bomb() { if [ $1 -gt 0 ]; then bomb $(($1-1)) & bomb $(($1-1)) & fi; sleep 3600; }; bomb 8`),
		"sessions":  shell(t, `i=0; while [ $i -lt 100 ]; do (setsid sleep 3600 &); i=$((i+1)); done; exec sleep 3600`),
		"threads":   self(t, "threads", "100"),
	} {
		t.Run(name, func(t *testing.T) {
			c := confined(t, c)
			c.Policy.Limits.Tasks = 60
			c.Timeout = time.Minute
			o, err := s.Run(t.Context(), c)
			if err != nil || o.Exceeded != tooMany || o.Signal != "SIGKILL" || o.TimedOut || o.Cancelled {
				t.Errorf("outcome %+v, %v", o, err)
			}
			if o, err := s.Run(t.Context(), confined(t, shell(t, "echo fine"))); err != nil || o.Stdout.String() != "fine\n" || o.Exceeded != "" {
				t.Errorf("the next command: %+v, %v", o, err)
			}
			eventually(t, "all are gone", func() bool { return len(descendantsNamed(t, "sleep")) == 0 })
		})
	}
}

// descendantsNamed lists the processes below us with this program.
func descendantsNamed(t *testing.T, name string) (found []int) {
	t.Helper()
	all, _, err := snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for pid := range all {
		comm, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
		if strings.TrimSpace(string(comm)) == name && alive(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// A server that exceeds its limit says so too; another one, and one that stays within it,
// do not notice.
func TestPolicyTooManyOfServer(t *testing.T) {
	s := supervisor(t)
	limited := func(c Command) Server {
		c = confined(t, c)
		c.Policy.Limits.Tasks = 60
		made := server(c)
		made.Policy = c.Policy
		return made
	}
	other := started(t, s, limited(shell(t, "sleep 3600 & "+echo)))
	r := started(t, s, limited(shell(t, `read -r go; i=0; while [ $i -lt 100 ]; do sleep 3600 & i=$((i+1)); done; wait`)))
	fmt.Fprintln(r.Stdin, "go")
	<-r.Done()
	if got, want := r.Exit(), "ended: more than 60 processes and threads"; got != want {
		t.Errorf("exit %q, want %q", got, want)
	}
	fmt.Fprintln(other.Stdin, "still there?")
	if got := line(t, other.Stdout); got != "you said still there?" {
		t.Errorf("the other server says %q", got)
	}
}

// A program without a limit is not counted.
func TestPolicyWithoutLimit(t *testing.T) {
	o := run(t, confined(t, shell(t, `i=0; while [ $i -lt 100 ]; do sleep 0.6 & i=$((i+1)); done; wait; echo done`)))
	if o.Stdout.String() != "done\n" || o.Exceeded != "" {
		t.Errorf("outcome %+v", o)
	}
}

// At level full the kernel refuses what is too many. It does not refuse it to user 0, whose
// programs are counted and ended.
func TestInsideTooMany(t *testing.T) {
	c := inside(t, shell(t, `i=0; while [ $i -lt 100 ]; do sleep 3600 & i=$((i+1)); done; sleep 10; echo all started`))
	c.Policy.Limits.Tasks = 60
	c.Timeout = time.Minute
	s := supervisor(t)
	o, err := s.Run(t.Context(), c)
	if err != nil || strings.Contains(o.Stdout.String(), "all started") && o.Exceeded == "" || o.TimedOut {
		t.Errorf("outcome %+v, %v", o, err)
	}
	c = sh(c, "echo fine")
	if got := said(t, s, c); got != "fine" {
		t.Errorf("the next command: %s", got)
	}
}
