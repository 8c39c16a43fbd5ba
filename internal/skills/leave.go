package skills

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/stopwatch"
	"github.com/perstack-go/perstack/job"
)

// clocks are those of the time limits of calls, one for each skill. The clock of a skill is paused
// while the user is asked about a host that its programs want to reach.
type clocks struct {
	mu      sync.Mutex
	bySkill map[string]*stopwatch.Clock
}

func (c *clocks) of(skill string) *stopwatch.Clock {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bySkill[skill] == nil {
		if c.bySkill == nil {
			c.bySkill = make(map[string]*stopwatch.Clock)
		}
		c.bySkill[skill] = &stopwatch.Clock{}
	}
	return c.bySkill[skill]
}

// leaving returns the function that decides about hosts which a listener does not list; nil if they
// are refused in any case. A user who wants no network is not asked.
func (s *set) leaving() func(ctx context.Context, listener, host string, port int) bool {
	if s.req.Leave == nil || s.site.Sandboxes.Reach.Network == job.NetworkNone {
		return nil
	}
	return func(ctx context.Context, listener, host string, port int) bool {
		skill := strings.TrimPrefix(listener, engine.ProxyName(s.expert.Key, ""))
		defer s.clocks.of(skill).Pause()()
		return s.req.Leave(ctx, skill, event.Effect{Kind: event.HostEffect, Host: net.JoinHostPort(host, strconv.Itoa(port))})
	}
}
