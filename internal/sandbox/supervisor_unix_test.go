//go:build unix

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// Close ends what runs, with what it started, whether it listens or not, and keeps more
// from starting.
func TestSupervisorClose(t *testing.T) {
	s := supervisor(t)
	const n = 3
	ready := make(chan string, n)
	outcomes := make(chan Outcome, n)
	for range n {
		c := shell(t, `trap "" TERM HUP INT; sleep 3600 & echo $!; sleep 3600`)
		c.Watch = func(_ Stream, chunk []byte) { ready <- string(bytes.TrimSpace(chunk)) }
		go func() {
			o, err := s.Run(t.Context(), c)
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
	closed := make(chan error, 2) // twice, since what is gone may be closed again
	for range cap(closed) {
		go func() { closed <- s.Close() }()
	}
	for range n {
		if o := <-outcomes; o.Signal != "SIGKILL" || o.TimedOut || o.Cancelled {
			t.Errorf("outcome %+v", o)
		}
	}
	for range cap(closed) {
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d survived", pid)
		}
	}
	c := shell(t, "echo ran >ran")
	if o, err := s.Run(t.Context(), c); err != nil || !o.Cancelled || o.ExitCode == 0 {
		t.Errorf("outcome %+v, %v", o, err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

// Commands that start and end while the supervisor is closed are ended or not started.
func TestSupervisorRace(t *testing.T) {
	s := supervisor(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				o, err := s.Run(t.Context(), shell(t, fmt.Sprintf("sleep 0.0%d", i)))
				if err != nil || !o.Cancelled && o.ExitCode != 0 && o.Signal != "SIGKILL" {
					t.Errorf("outcome %+v, %v", o, err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// A command that comes too late must not keep the supervisor from ending the others
// well: it is killing them at that moment, and only the supervisor knows how they end.
func TestSupervisorLateStart(t *testing.T) {
	s := supervisor(t)
	begun := make(chan struct{})
	ended := make(chan Outcome, 1)
	go func() {
		c := shell(t, "echo up; sleep 60")
		c.Watch = func(Stream, []byte) { close(begun) }
		o, err := s.Run(t.Context(), c)
		if err != nil {
			t.Errorf("the first: %v", err)
		}
		ended <- o
	}()
	<-begun
	l, _ := s.current("")
	l.release()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	late := program{path: "/bin/true", argv: []string{"true"}, dir: t.TempDir(), stdin: null, stdout: null, stderr: null}
	if _, err := l.start(late); !errors.Is(err, ErrLost) {
		t.Errorf("the late one: %v", err)
	}
	if o := <-ended; o.Signal != "SIGKILL" {
		t.Errorf("the first: %+v", o)
	}
}

// Many at once each get their own answer.
func TestSupervisorParallel(t *testing.T) {
	s := supervisor(t)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			o, err := s.Run(t.Context(), shell(t, fmt.Sprintf("echo %d; exit %d", i, i)))
			if err != nil || o.ExitCode != i || o.Stdout.String() != fmt.Sprintln(i) {
				t.Errorf("%d: outcome %+v, %v", i, o, err)
			}
		})
	}
	wg.Wait()
}
