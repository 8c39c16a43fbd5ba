package skills

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/skill"
)

// start starts all servers at once and waits for those that a run needs to begin. The
// first failure is the one that is told: it stops the others, whose own errors say
// nothing but that.
func (s *set) start(ctx context.Context) error {
	if s.builtIn {
		s.req.Report(connected(expert.BaseSkill, s.site.Parts.Source.Now().Sub(s.began)))
	}
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	ends := make(chan error, len(s.servers))
	for _, server := range s.servers {
		go func() { ends <- server.Start(starting) }()
	}
	var first error
	for range s.servers {
		if err := <-ends; err != nil && first == nil {
			first = err
			cancel()
		}
	}
	if ctx.Err() != nil && first != nil {
		return context.Cause(ctx) // the run was told to stop; no server is to blame
	}
	return first
}

// close ends all servers, side by side: each may need its time. Then their rooms go.
func (s *set) close() error {
	errs := make([]error, len(s.servers))
	var group sync.WaitGroup
	for i, server := range s.servers {
		group.Go(func() { errs[i] = server.Close() })
	}
	group.Wait()
	return errors.Join(errors.Join(errs...), s.house.clear())
}

// connected announces a skill that is part of this program: nothing was spawned.
func connected(name string, took time.Duration) event.SkillConnected {
	spawn, total := int64(0), took.Milliseconds()
	return event.SkillConnected{SkillName: name, SpawnDurationMS: &spawn, ConnectDurationMS: &spawn, TotalDurationMS: &total}
}

// changes carries the news that a list of tools is another to the box. A server may
// bring it before there is one.
type changes struct {
	mu    sync.Mutex
	box   *skill.Toolbox
	early []string
}

func (c *changes) of(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.box == nil {
		c.early = append(c.early, name)
		return
	}
	c.box.Changed(name)
}

func (c *changes) attach(box *skill.Toolbox) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.box = box
	for _, name := range c.early {
		box.Changed(name)
	}
	c.early = nil
}
