package landlock_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
)

// A call in a sandbox has its files and ports and no others; its caller has them all,
// at the same time and afterwards.
func TestDo(t *testing.T) {
	needLandlock(t)
	inside, outside := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	port, other := bothPort(t), bothPort(t)
	c := &landlock.Policy{Write: []string{inside}, Ports: []uint16{uint16(port)}}
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			var own, foreign, to, toOther, beside error
			err := c.Do(func() {
				own = os.WriteFile(filepath.Join(inside, "own"), nil, 0o600)
				_, foreign = os.ReadFile(secret)
				to = socket(unix.AF_INET, unix.SOCK_STREAM, 0, connect(four(port)))
				toOther = socket(unix.AF_INET, unix.SOCK_STREAM, 0, connect(four(other)))
				done := make(chan struct{})
				go func() { // another goroutine is not confined
					defer close(done)
					_, beside = os.ReadFile(secret)
				}()
				<-done
			})
			if err := errors.Join(err, own, to, beside); err != nil {
				t.Error(err)
			}
			if !errors.Is(foreign, fs.ErrPermission) || !errors.Is(toOther, unix.EACCES) {
				t.Errorf("outside of the policy: %v, %v", foreign, toOther)
			}
			if _, err := os.ReadFile(secret); err != nil {
				t.Errorf("after the call: %v", err)
			}
		})
	}
	calls.Wait()
}

// How a call ends is how Do ends.
func TestDoEnds(t *testing.T) {
	needLandlock(t)
	c := &landlock.Policy{}
	func() {
		defer func() {
			if got := recover(); got != "lost" {
				t.Errorf("recovered %v", got)
			}
		}()
		_ = c.Do(func() { panic("lost") })
	}()
	done := make(chan bool)
	go func() {
		returned := false
		defer func() { done <- returned }()
		_ = c.Do(runtime.Goexit)
		returned = true
	}()
	if <-done {
		t.Error("it continued after the call gave up")
	}
	called := false
	if err := (&landlock.Policy{Write: []string{"/no/such/place"}}).Do(func() { called = true }); err == nil || called {
		t.Errorf("%v, called %t", err, called)
	}
}

// Many calls leave no thread and no descriptor behind that would be in a sandbox.
func TestDoLeavesNothing(t *testing.T) {
	needLandlock(t)
	inside := t.TempDir()
	c := &landlock.Policy{Write: []string{inside}}
	count := func(what string) int {
		list, err := os.ReadDir("/proc/self/" + what)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if err := c.Do(func() {}); err != nil {
		t.Fatal(err)
	}
	fds, threads := count("fd"), count("task")
	for range 200 {
		if err := c.Do(func() {}); err != nil {
			t.Fatal(err)
		}
	}
	if now := count("fd"); now > fds {
		t.Errorf("%d descriptors before, %d after", fds, now)
	}
	// The last threads may be on their way out still.
	for now, round := count("task"), 0; now > threads+8; now, round = count("task"), round+1 {
		if round > 100_000 {
			t.Fatalf("%d threads before, %d after", threads, now)
		}
		runtime.Gosched()
	}
}

// Landlock alone does not enforce a policy: this is why there is a filter. When one of these
// fails, the kernel has learned something, and a rule may be one too many.
func TestLandlockAlone(t *testing.T) {
	needLandlock(t)
	s := &scene{Own: t.TempDir(), ReadOnly: t.TempDir(), Outside: t.TempDir()}
	s.setUp(t)
	around := map[string]bool{ // whether the kernel may be without it
		"net: MPTCP": true, "net: Fast Open by sendto": true, "net: listen without bind": false, "net: UDP": false, "net: named socket": false,
		"net: named datagrams by a pair": false, "file: watch": false, "read-only: attribute": true,
	}
	c := &landlock.Policy{Read: []string{s.ReadOnly}, Write: []string{s.Own}, Ports: []uint16{uint16(s.OwnPort)}}
	for _, a := range attacks() {
		optional, ok := around[a.name]
		if !ok {
			continue
		}
		delete(around, a.name)
		t.Run(a.name, func(t *testing.T) {
			var result error
			if err := c.Do(func() { result = a.try(s) }); err != nil {
				t.Fatal(err)
			}
			if result != nil && !optional {
				t.Errorf("Landlock alone: %v", result)
			}
			t.Logf("Landlock alone: %s", verdict(result))
		})
	}
	if len(around) > 0 {
		t.Errorf("no such attacks: %v", around)
	}
}

// What is said to be available can be made, and what is not cannot.
func TestAvailable(t *testing.T) {
	err := landlock.Available()
	if err != nil && !errors.Is(err, landlock.ErrUnavailable) {
		t.Error(err)
	}
	if apart := landlock.KeepsApart(); err != nil && apart == nil || apart != nil && !errors.Is(apart, landlock.ErrUnavailable) {
		t.Errorf("available: %v; keeps apart: %v", err, apart)
	}
	if doErr := (&landlock.Policy{}).Do(func() {}); (doErr == nil) != (err == nil) {
		t.Errorf("available: %v; a policy: %v", err, doErr)
	}
}

// A threads needs no new thread for a call, however many there were; after its end it makes
// none.
func TestThreads(t *testing.T) {
	needLandlock(t)
	dir := t.TempDir()
	threads := landlock.NewThreads(&landlock.Policy{Write: []string{dir}}, 2)
	seen := map[int]bool{}
	var mu sync.Mutex
	var calls sync.WaitGroup
	for range 50 {
		calls.Go(func() {
			var own, foreign error
			if err := threads.Do(func() {
				mu.Lock()
				seen[unix.Gettid()] = true
				mu.Unlock()
				own = os.WriteFile(filepath.Join(dir, "own"), nil, 0o600)
				_, foreign = os.ReadDir("/")
			}); err != nil || own != nil || !errors.Is(foreign, fs.ErrPermission) {
				t.Errorf("%v, %v, %v", err, own, foreign)
			}
		})
	}
	calls.Wait()
	if len(seen) > 2 {
		t.Errorf("%d threads, want at most 2", len(seen))
	}
	// A call that takes its thread with it is replaced.
	for range 3 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = threads.Do(runtime.Goexit)
		}()
		<-ended
	}
	if err := threads.Do(func() {}); err != nil {
		t.Error(err)
	}
	threads.Close()
	threads.Close()
	if err := threads.Do(func() { t.Error("a call after the end") }); err == nil {
		t.Error("no error after the end")
	}
}

// Threads that no call needs are not started; the first call starts all of them. After Close there
// are none.
func TestThreadsStart(t *testing.T) {
	const n = 40
	before := runtime.NumGoroutine()
	threads := landlock.NewThreads(&landlock.Policy{}, n)
	defer threads.Close()
	if got := runtime.NumGoroutine() - before; got >= n {
		t.Errorf("%d threads before the first call", got)
	}
	during := 0
	if err := threads.Do(func() { during = runtime.NumGoroutine() - before }); err != nil || during < n {
		t.Errorf("%d threads in the first call, want %d; %v", during, n, err)
	}
	closed := landlock.NewThreads(&landlock.Policy{}, n)
	closed.Close()
	if err := closed.Do(func() { t.Error("a call after Close was made") }); err == nil {
		t.Error("no error after Close")
	}
}
