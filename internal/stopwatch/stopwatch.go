// Package stopwatch has time limits that stand still while a program waits for the user.
//
// A Clock belongs to the programs of one skill. It is paused while the user is asked about one of them,
// and the limits of all calls that use the clock stand still until the answer is there.
package stopwatch

import (
	"sync"
	"time"
)

// A Clock is the time of the limits that are set with it. Nil is a clock that is never paused.
type Clock struct {
	mu     sync.Mutex
	pauses int
	timers map[*Timer]struct{} // that have not ended
}

// Pause stops the clock until resume is called. Several pauses can overlap.
func (c *Clock) Pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses++; c.pauses == 1 {
		for t := range c.timers {
			t.halt()
		}
	}
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.pauses--; c.pauses == 0 {
			for t := range c.timers {
				t.run()
			}
		}
	})
}

// A Timer is one limit.
type Timer struct {
	clock *Clock
	timer *time.Timer
	left  time.Duration // when it began to run last, or was halted
	since time.Time     // when it began to run last
}

// AfterFunc calls f on a goroutine of its own when d has passed, without pauses.
func (c *Clock) AfterFunc(d time.Duration, f func()) *Timer {
	if c == nil {
		return &Timer{timer: time.AfterFunc(d, f)}
	}
	t := &Timer{clock: c, left: d}
	c.mu.Lock()
	defer c.mu.Unlock()
	t.timer = time.AfterFunc(d, func() {
		t.Stop()
		f()
	})
	t.since = time.Now()
	if c.timers == nil {
		c.timers = make(map[*Timer]struct{})
	}
	c.timers[t] = struct{}{}
	if c.pauses > 0 {
		t.halt()
	}
	return t
}

// Reset gives a timer that has not ended d from now on.
func (t *Timer) Reset(d time.Duration) {
	if t.clock == nil {
		t.timer.Reset(d)
		return
	}
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	if _, runs := t.clock.timers[t]; !runs {
		return
	}
	t.timer.Stop()
	t.left = d
	if t.clock.pauses == 0 {
		t.run()
	}
}

// Stop ends a timer.
func (t *Timer) Stop() {
	if t.clock == nil {
		t.timer.Stop()
		return
	}
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.timer.Stop()
	delete(t.clock.timers, t)
}

func (t *Timer) halt() {
	if t.timer.Stop() {
		t.left = max(0, t.left-time.Since(t.since))
	}
}

func (t *Timer) run() {
	t.since = time.Now()
	t.timer.Reset(t.left)
}
