//go:build unix

package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// KillAll ends what runs, with what it started, whether it listens or not, and keeps
// more from starting.
func TestTracker(t *testing.T) {
	var tracker Tracker
	const n = 3
	ready := make(chan string, n)
	outcomes := make(chan Outcome, n)
	for range n {
		c := shell(t, `trap "" TERM HUP INT; sleep 3600 & echo $!; sleep 3600`)
		c.Tracker = &tracker
		c.Watch = func(chunk []byte) { ready <- string(bytes.TrimSpace(chunk)) }
		go func() {
			o, err := Run(t.Context(), c)
			if err != nil {
				t.Error(err)
			}
			outcomes <- o
		}()
	}
	var pids []int
	for range n {
		pid, err := strconv.Atoi(<-ready)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	tracker.KillAll()
	tracker.KillAll() // again, when some are gone
	for range n {
		if o := <-outcomes; o.Signal != "SIGKILL" || o.TimedOut || o.Cancelled {
			t.Errorf("outcome %+v", o)
		}
	}
	for _, pid := range pids {
		for i := 0; alive(pid); i++ {
			if i > 1000 {
				t.Fatalf("process %d survived", pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	if len(tracker.live) != 0 {
		t.Errorf("%d commands are kept", len(tracker.live))
	}

	c := shell(t, "echo ran >ran")
	c.Tracker = &tracker
	if o := run(t, c); !o.Cancelled || o.ExitCode == 0 {
		t.Errorf("outcome %+v", o)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

// Commands that start and end while KillAll is called are ended or not started, and a
// nil Tracker is as good as none.
func TestTrackerRace(t *testing.T) {
	var tracker, none *Tracker = new(Tracker), nil
	none.KillAll()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				c := shell(t, fmt.Sprintf("sleep 0.0%d", i))
				c.Tracker = tracker
				if i == 0 {
					c.Tracker = none
				}
				if _, err := Run(t.Context(), c); err != nil {
					t.Error(err)
				}
			}
			tracker.KillAll()
		})
	}
	wg.Wait()
	if o := run(t, shell(t, "echo x")); strings.TrimSpace(o.Stdout.String()) != "x" {
		t.Errorf("outcome %+v", o)
	}
}
