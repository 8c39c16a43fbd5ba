package skills

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// maxHints is how many hints about sandboxes a Run has.
const maxHints = 20

// maxRefused is how many refused hosts a command is told of.
const maxRefused = 5

// blocked remembers what the sandboxes of one Run kept programs from.
type blocked struct {
	mu      sync.Mutex
	told    map[hintKey]bool
	running map[*command]bool
}

// A hintKey is what makes two hints the same. The program that met it is no part of it.
type hintKey struct{ kind, path, host string }

// A command is one that runs now.
type command struct {
	name    string
	refused []string // hosts that were refused while it ran
}

// isNew reports whether a hint is worth an event: the same is said once, and not too much is said.
func (b *blocked) isNew(h event.SandboxHint) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := hintKey{h.Kind, h.Path, h.Host}
	if b.told[key] || len(b.told) == maxHints {
		return false
	}
	if b.told == nil {
		b.told = make(map[hintKey]bool)
	}
	b.told[key] = true
	return true
}

// start notes that a command runs. The function that it returns is for its end, and returns the
// hosts that were refused meanwhile.
func (b *blocked) start(program string) (end func() []string) {
	c := &command{name: policy.CommandName(program)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running == nil {
		b.running = make(map[*command]bool)
	}
	b.running[c] = true
	return func() []string {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.running, c)
		return c.refused
	}
}

// refuse notes that the proxy refused a connection of a command. It returns the name of the command,
// if only one runs: all commands of an Expert share a listener, and nothing of a command outlives
// it.
func (b *blocked) refuse(a *egress.Access) (name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.running {
		if a.Reason == egress.ReasonDomain && len(c.refused) < maxRefused && !slices.Contains(c.refused, a.Host) {
			c.refused = append(c.refused, a.Host)
		}
		if name = c.name; len(b.running) > 1 {
			name = ""
		}
	}
	return name
}

// reportHint tells the Run why a program probably failed. An engine in a container records no
// events of its own accord, so it has none.
func (s *set) reportHint(h event.SandboxHint) {
	if s.site.Parts.Container == nil && s.blocked.isNew(h) {
		s.req.Report(h)
	}
}

// reportServer returns the function that is told what happens to a server. What a sandboxed server
// prints before it is connected is searched for traces of the sandbox.
func (s *set) reportServer(k *expert.Skill) func(event.Body) {
	in := s.sandboxOf(k)
	if in == nil {
		return s.req.Report
	}
	var program atomic.Value // the name; empty when the server is connected
	program.Store("")
	return func(body event.Body) {
		s.req.Report(body)
		switch b := body.(type) {
		case event.SkillStarting:
			program.Store(b.Command)
		case event.SkillConnected:
			program.Store("")
		case event.SkillStderr:
			name, reach := program.Load().(string), in.current.Load()
			if name == "" || reach == nil || strings.Contains(b.Message, "[redacted: ") {
				return // what is left of a path with a secret in it is another path
			}
			for _, h := range policy.Explain(b.Message, reach, name) {
				if h.ByProxy {
					continue
				}
				s.reportHint(event.SandboxHint{Kind: string(h.Kind), Path: h.Path, Host: h.Host, SkillName: k.Name, Command: h.Command, Message: h.Message})
			}
		}
	}
}
