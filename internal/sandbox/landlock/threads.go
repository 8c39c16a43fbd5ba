package landlock

import (
	"errors"
	"runtime"
	"sync"
)

// Threads are threads of this process that are confined by a policy, for calls that run
// one after the other and in parallel. All of them are started by the first call: when another
// program has used up the processes of the user, a later call that needed a new thread would crash
// this process. A job can have thousands of Experts, most of which make no call.
type Threads struct {
	policy Policy
	start  func()
	jobs   chan *job
	over   chan struct{}
	end    func()
}

// A job is one call.
type job struct {
	call     func()
	done     chan struct{}
	err      error
	panicked any
	finished bool
}

var errOver = errors.New("the confined threads were closed")

// NewThreads returns so many threads, which [Threads.Start] or the first call starts.
// [Threads.Close] ends them.
func NewThreads(p *Policy, threads int) *Threads {
	t := &Threads{policy: *p, jobs: make(chan *job), over: make(chan struct{})}
	t.end = sync.OnceFunc(func() { close(t.over) })
	t.start = sync.OnceFunc(func() {
		for range threads {
			go t.work()
		}
	})
	return t
}

// Start starts the threads before the first call, for a caller that is about to start programs.
func (t *Threads) Start() { t.start() }

// Do calls f under the policy, like [Policy.Do]. It waits if all threads are busy.
func (t *Threads) Do(f func()) error {
	select {
	case <-t.over:
		return errOver
	default:
		t.start()
	}
	j := &job{call: f, done: make(chan struct{})}
	select {
	case t.jobs <- j:
	case <-t.over:
		return errOver
	}
	<-j.done
	return j.result()
}

// Close ends the threads. A busy thread ends after its call.
func (t *Threads) Close() { t.end() }

// work runs calls on a confined thread until Close.
func (t *Threads) work() {
	runtime.LockOSThread() // and never unlocked
	err := t.policy.restrictAccess()
	for {
		select {
		case <-t.over:
			return
		case j := <-t.jobs:
			if err != nil {
				j.err, j.finished = err, true
				close(j.done)
				continue
			}
			t.make(j)
		}
	}
}

// make makes a call. A call that ends its goroutine ends the thread too; then another
// thread is started.
func (t *Threads) make(j *job) {
	defer func() {
		j.panicked = recover()
		if j.panicked == nil && !j.finished {
			go t.work()
		}
		close(j.done)
	}()
	j.call()
	j.finished = true
}

// result ends the caller in the way the call ended.
func (j *job) result() error {
	switch {
	case j.panicked != nil:
		panic(j.panicked) // where the caller can deal with it
	case !j.finished:
		runtime.Goexit()
	}
	return j.err
}
