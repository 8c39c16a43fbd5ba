package install

import (
	"fmt"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/skills/mcp"
)

// showDifferences prints how the tools and the package of a server differ from the old lockfile.
func (p *project) showDifferences(s *server) {
	if s.before == nil {
		return
	}
	lines := packageDifference(s.before.Package, s.found.Package)
	for _, d := range mcp.Compare(skills.LockedTools(s.before), skills.LockedTools(s.found)) {
		lines = append(lines, d.String())
	}
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
