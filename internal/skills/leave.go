package skills

import (
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
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
		return s.req.Leave(ctx, skill, event.Effect{Kind: event.HostEffect, Host: net.JoinHostPort(host, strconv.Itoa(port))}).Allow
	}
}

// outside returns the function that asks about a path which a command named, for the base skill. What
// is asked about is a directory.
func (s *set) outside(k *expert.Skill, in *skillSandbox) func(ctx context.Context, path string, argv []string) (string, bool) {
	if s.req.Leave == nil || s.site.Parts.Container != nil { // which has nothing else to show
		return nil
	}
	return func(ctx context.Context, path string, argv []string) (string, bool) {
		dir, ok := in.sandboxes.openable(path)
		if !ok || s.site.Parts.Secrets.Redact(dir) != dir { // the journal could not name it
			return "", false
		}
		defer s.clocks.of(k.Name).Pause()()
		decided := s.req.Leave(ctx, k.Name, event.Effect{Kind: event.PathEffect, Path: dir, Named: path, Argv: argv})
		if !decided.Allow {
			return decided.Denied, false
		}
		message := dir + " can be read now, with all that is in it. Run the command again."
		if in.sandboxes.full != nil {
			message += " It will start with an empty home directory and an empty /tmp."
		}
		return message, true
	}
}

// opened returns the function that lists the directories which the user or a rule opened to the commands
// of a skill. One is left out if it is gone, if a link is in its place, or if it is private by now.
func (s *set) opened(k *expert.Skill, in *skillSandbox) func(context.Context) []string {
	return func(ctx context.Context) []string {
		if s.req.Opened == nil || s.site.Parts.Container != nil {
			return nil
		}
		return slices.DeleteFunc(s.req.Opened(ctx, k.Name), func(path string) bool {
			dir, ok := in.sandboxes.openable(path)
			return !ok || dir != path
		})
	}
}

// openable returns the directory that can be opened for a path, if there is one: see
// [policy.Places.Openable].
func (c *Sandboxes) openable(path string) (dir string, ok bool) {
	private := c.private
	private.Dirs = append(slices.Clip(private.Dirs), c.Tmp, c.Home)
	return c.places.Openable(path, private)
}
