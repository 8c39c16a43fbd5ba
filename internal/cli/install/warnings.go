package install

import (
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/job"
)

// noteMissing names the delegates that nobody can pin: those that the file does not have.
func (p *project) noteMissing() {
	for _, e := range p.config.Experts {
		for _, key := range e.Delegates {
			if _, ok := p.config.Lookup(key); !ok {
				p.warn(fmt.Sprintf("%q delegates to %q, which is not in the file; this version cannot lock it yet", e.Key, key))
			}
		}
	}
}

// tellWalls says that programs are going to be started without the walls that the file
// asks for: who reads runtime = "docker" would not expect it.
func (p *project) tellWalls(plan *plan) {
	starts := slices.ContainsFunc(plan.servers, func(s *server) bool { return !s.kept && s.skill.Type == expert.StdioSkill })
	switch {
	case !starts || p.config.Runtime != job.Docker:
	case p.opts.Sandbox:
		p.warn("to list their tools, skills are started on this machine, in sandboxes but not in a container")
	default:
		p.warn("to list their tools, skills are started on this machine, not in a container")
	}
}

// tellKeys says which of the servers that are going to be started get the key of a
// provider, before they do.
func (p *project) tellKeys(plan *plan) {
	for _, s := range plan.servers {
		if s.kept {
			continue
		}
		for _, line := range host.HandedKeys(s.alone()) {
			p.warn(fmt.Sprintf("%s, as %s says", line, p.config.Path))
		}
	}
}

// warnUnknown names slips in pick and omit of all skills that a server is used for.
func (p *project) warnUnknown(s *server) {
	for i, u := range s.users {
		for _, line := range s.found.UnknownTools(s.declared[i]) {
			p.warn(fmt.Sprintf("warning: %s: %s", u, line))
		}
	}
}

// warnCollisions names the tools that would keep an Expert from starting.
func (p *project) warnCollisions(lock *lockfile.Lock) {
	for _, e := range p.config.Experts {
		locked, _ := lock.Expert(e.Key)
		for _, err := range host.Collisions(e, func(k *expert.Skill) *lockfile.Skill {
			pinned, _ := locked.Skill(k.Name)
			return pinned
		}) {
			p.warn(fmt.Sprintf("warning: expert %q will not start: %v", e.Key, err))
		}
	}
}
