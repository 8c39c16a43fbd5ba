//go:build unix

package sandbox

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A child is a program that the supervisor started for us.
type child struct {
	link    *link
	id      uint64
	started chan error    // told once
	ended   chan struct{} // closed when it is over
	err     error         // set before ended is closed: nobody knows how it ended
	code    int
	signal  syscall.Signal
	limit   string // what it was ended for, if the supervisor did
}

// tell says how the start went, if that was not said before.
func (c *child) tell(err error) {
	select {
	case c.started <- err:
	default:
	}
}

// terminate asks all of the group to end.
func (c *child) terminate() { c.send(unix.SIGTERM) }

// send has the group signalled. One that cannot be told is given up, unless we ended its
// lease: then it kills the group at this moment, and needs no telling.
func (c *child) send(s unix.Signal) {
	err := c.link.say(&message{kind: kindSignal, id: c.id, signal: uint64(s)})
	if err != nil && !c.link.released.Load() {
		c.link.abandon()
	}
}

// kill ends all of the group, and returns when the supervisor said so or was given up.
func (c *child) kill() {
	c.send(unix.SIGKILL)
	patience := time.NewTimer(c.link.patience)
	defer patience.Stop()
	select {
	case <-c.ended:
	case <-patience.C:
		c.link.abandon()
	}
}

// lost says, after the end, that nobody knows what it was like.
func (c *child) lost() error { return c.err }

// exceeded says, after the end, which limit it was ended for.
func (c *child) exceeded() string { return c.limit }

func (c *child) status() (exitCode int, signal string) {
	if c.signal == 0 {
		return c.code, ""
	}
	if name := unix.SignalName(c.signal); name != "" {
		return -1, name
	}
	return -1, c.signal.String()
}
