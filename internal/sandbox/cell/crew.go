package cell

import (
	"errors"
	"runtime"
	"sync"
)

// A Crew makes calls in a cell, one after the other and side by side, on threads that stay
// in it. They are born with the crew: when a program has taken all processes that this one
// may have, a call that needed a new thread would end it.
type Crew struct {
	cell Cell
	jobs chan *job
	over chan struct{}
	end  func()
}

// A job is one call.
type job struct {
	call     func()
	done     chan struct{}
	err      error
	panicked any
	finished bool
}

var errOver = errors.New("the cell is closed")

// NewCrew returns a crew of so many threads. [Crew.Close] ends them.
func NewCrew(c *Cell, threads int) *Crew {
	crew := &Crew{cell: *c, jobs: make(chan *job), over: make(chan struct{})}
	crew.end = sync.OnceFunc(func() { close(crew.over) })
	for range threads {
		go crew.work()
	}
	return crew
}

// Do calls f in the cell, like [Cell.Do]; it waits if all threads are at work.
func (c *Crew) Do(f func()) error {
	j := &job{call: f, done: make(chan struct{})}
	select {
	case c.jobs <- j:
	case <-c.over:
		return errOver
	}
	<-j.done
	return j.result()
}

// Close ends the threads, those at work when they are done.
func (c *Crew) Close() { c.end() }

// work is the life of a thread.
func (c *Crew) work() {
	runtime.LockOSThread() // and never unlocked
	err := c.cell.confine()
	for {
		select {
		case <-c.over:
			return
		case j := <-c.jobs:
			if err != nil {
				j.err, j.finished = err, true
				close(j.done)
				continue
			}
			c.make(j)
		}
	}
}

// make makes a call. One that ends its goroutine ends the thread too, and another takes
// its place.
func (c *Crew) make(j *job) {
	defer func() {
		j.panicked = recover()
		if j.panicked == nil && !j.finished {
			go c.work()
		}
		close(j.done)
	}()
	j.call()
	j.finished = true
}

// result ends the caller as the call has ended.
func (j *job) result() error {
	switch {
	case j.panicked != nil:
		panic(j.panicked) // where the caller can deal with it
	case !j.finished:
		runtime.Goexit()
	}
	return j.err
}
