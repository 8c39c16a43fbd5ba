package local

import (
	"slices"
	"sync"

	"github.com/perstack-go/perstack/internal/sandbox"
)

// commands are the supervisors of the jobs that run now, one each: the end of a job is
// the end of all that it started, and of nothing else.
type commands struct {
	mu    sync.Mutex
	live  []*sandbox.Supervisor
	hurry bool // nothing shall start any more
}

func (c *commands) open() *sandbox.Supervisor {
	s := sandbox.NewSupervisor()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hurry {
		s.Kill()
	}
	c.live = append(c.live, s)
	return s
}

func (c *commands) close(s *sandbox.Supervisor) error {
	c.mu.Lock()
	c.live = slices.DeleteFunc(c.live, func(other *sandbox.Supervisor) bool { return other == s })
	c.mu.Unlock()
	return s.Close()
}

// kill ends them all, and does not wait for that.
func (c *commands) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hurry = true
	for _, s := range c.live {
		s.Kill()
	}
}
