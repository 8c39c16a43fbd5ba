package sandbox

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"time"
)

// A link keeps the programs of this process. There is no other process: the system ends
// all that is in a job object when its last handle is closed, and those are ours.
type link struct {
	mu   sync.Mutex
	over bool
	live map[*child]struct{}
}

// A family is of processes that are not needed here.
type family struct{}

// A child is a program and the job object around it.
type child struct {
	group *group
	ended chan struct{}
	state *os.ProcessState // set before ended is closed
}

func newLink(context.Context, time.Duration, *family) (*link, error) {
	return &link{live: make(map[*child]struct{})}, nil
}

func (l *link) isLost() bool { return false }

func (l *link) start(p program) (*child, error) {
	l.mu.Lock() // so that nothing starts behind the back of close
	defer l.mu.Unlock()
	if l.over {
		return nil, errClosed
	}
	cmd := &exec.Cmd{
		Path: p.path, Args: p.argv, Env: p.env, Dir: p.dir,
		Stdin: p.stdin, Stdout: p.stdout, Stderr: p.stderr,
		SysProcAttr: attributes(),
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{group: new(group), ended: make(chan struct{})}
	if err := c.group.adopt(cmd.Process); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	l.live[c] = struct{}{}
	go func() {
		_ = cmd.Wait() // the status is in ProcessState; there is nothing else to fail
		c.group.kill() // what it left in the background
		l.mu.Lock()
		delete(l.live, c)
		c.group.release()
		l.mu.Unlock()
		c.state = cmd.ProcessState
		close(c.ended)
	}()
	return c, nil
}

// letGo kills everything and returns what is not gone yet.
func (l *link) letGo() (live []*child) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	for c := range l.live {
		c.group.kill()
		live = append(live, c)
	}
	return live
}

func (l *link) close() error {
	for _, c := range l.letGo() {
		<-c.ended
	}
	return nil
}

// terminate does nothing: a program without a console cannot be asked to end.
func (c *child) terminate() {}

func (c *child) kill() { c.group.kill() }

func (c *child) lost() error { return nil }

func (c *child) exceeded() string { return "" }

func (c *child) status() (exitCode int, signal string) { return c.state.ExitCode(), "" }
