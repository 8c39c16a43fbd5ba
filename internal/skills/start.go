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

// start starts all servers in parallel and waits for those that a run needs to begin. It returns
// the first failure, which stops the others.
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
		return context.Cause(ctx) // the run was stopped; no server failed
	}
	return first
}

// close ends all servers in parallel, then removes their sandboxes.
func (s *set) close() error {
	errs := make([]error, len(s.servers))
	var group sync.WaitGroup
	for i, server := range s.servers {
		group.Go(func() { errs[i] = server.Close() })
	}
	group.Wait()
	return errors.Join(errors.Join(errs...), s.sandboxes.removeAll())
}

// connected is the event of a skill that is part of this program: no process was started.
func connected(name string, took time.Duration) event.SkillConnected {
	spawn, total := int64(0), took.Milliseconds()
	return event.SkillConnected{SkillName: name, SpawnDurationMS: &spawn, ConnectDurationMS: &spawn, TotalDurationMS: &total}
}

// changes tells the toolbox which lists of tools have changed. A list can change before there is
// a toolbox.
type changes struct {
	mu    sync.Mutex
	box   *skill.Toolbox
	early []string
}

func (c *changes) report(name string) {
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
