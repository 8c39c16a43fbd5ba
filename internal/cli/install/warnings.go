package install

import (
	"fmt"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/programs"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/skills/mcp"
)

// showPublished prints what the keys of published Experts mean, and what they meant before.
func (p *project) showPublished(old *lockfile.Lock) {
	for _, r := range p.published.Roots {
		line := fmt.Sprintf("%s: %s", r.Key, r.Pin.Exact)
		if before, ok := old.Published(r.Key); ok && before.Key != r.Pin.Exact {
			line += ", was " + before.Key
		}
		p.say("  %s", line)
	}
}

// noteMissing names the delegates that are not in the file and cannot be pinned.
func (p *project) noteMissing() {
	for _, e := range p.config.Experts {
		for _, key := range e.Delegates {
			if _, ok := p.config.Lookup(key); !ok {
				p.warn(fmt.Sprintf("%q delegates to %q, which is not in the file", e.Key, key))
			}
		}
	}
}

// warnKeys names the servers that will be started with the key of a provider.
func (p *project) warnKeys(plan *plan) {
	for _, s := range plan.servers {
		if s.kept {
			continue
		}
		for _, line := range host.HandedKeys(s.alone()) {
			p.warn(fmt.Sprintf("%s, as %s says", line, p.config.Path))
		}
	}
}

// warnUnknown names unknown tools in pick and omit of the skills of a server.
func (p *project) warnUnknown(s *server) {
	for _, u := range s.users {
		for _, line := range s.found.UnknownTools(u.skill) {
			p.warn(fmt.Sprintf("warning: %s: %s", u, line))
		}
	}
}

// warnCollisions names the tools because of which an Expert will not start.
func (p *project) warnCollisions(lock *lockfile.Lock) {
	for _, e := range p.config.All() {
		locked, _ := lock.Expert(e.Key)
		for _, err := range host.Collisions(e, func(k *expert.Skill) *lockfile.Skill {
			pinned, _ := locked.Skill(k.Name)
			return pinned
		}) {
			p.warn(fmt.Sprintf("warning: expert %q will not start: %v", e.Key, err))
		}
	}
}

// maxChanges bounds the files of a program that are named: more than a user reads.
const maxChanges = 20

// showDifferences prints how the tools, the package and the program of a server differ from the old
// lockfile.
func (p *project) showDifferences(s *server) {
	if s.before == nil {
		return
	}
	lines := packageDifference(s.before.Package, s.found.Package)
	for _, change := range programs.Differences(s.before.Program, s.found.Program, maxChanges) {
		lines = append(lines, "~ program: "+change)
	}
	lines = append(lines, mcp.Compare(skills.LockedTools(s.before), skills.LockedTools(s.found))...)
	if len(lines) == 0 {
		lines = []string{"no difference to what was installed before"}
	}
	for _, line := range lines {
		p.say("  %s: %s", s.users[0], line)
	}
}

// packageDifference compares the package of a skill with the one before. Other content of the
// same version gets a louder warning: registries promise that this cannot happen.
func packageDifference(before, now *lockfile.Package) []string {
	name := func(p *lockfile.Package) string {
		if p == nil {
			return "no package"
		}
		return expert.Package{Name: p.Name, Version: p.Version}.Spec()
	}
	switch {
	case name(before) != name(now):
		return []string{fmt.Sprintf("~ package: was %s, is %s", name(before), name(now))}
	case before == nil:
		return nil
	case before.Integrity != now.Integrity:
		return []string{fmt.Sprintf("~ package: %s has OTHER CONTENT than before: was %s, is %s", name(now), before.Integrity, now.Integrity)}
	case before.Tree != now.Tree:
		return []string{fmt.Sprintf("~ package: %s needs other packages, or other versions of them, than before", name(now))}
	}
	return nil
}
