package host

import (
	"slices"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/skills/base/prompt"
	"github.com/perstack-go/perstack/skill"
)

// Collisions returns the tools of an Expert that would keep it from starting, because their
// names collide. pinned returns what is known about a server; if nothing is known about one
// of them, Collisions returns nothing.
func Collisions(e *expert.Expert, pinned func(*expert.Skill) *lockfile.Skill) []error {
	// In the order in which a run puts them together: the base skill, servers, delegates, questions.
	var base, servers, questions []skill.Listed
	for _, k := range e.Skills {
		listed := skill.Listed{Name: k.Name, Filter: skill.Filter{Pick: k.Pick, Omit: k.Omit}, Prefix: k.ToolPrefix}
		switch {
		case k.BuiltIn:
			for _, name := range prompt.Names() {
				listed.Tools = append(listed.Tools, skill.Tool{Name: name})
			}
		case k.Type == expert.InteractiveSkill:
			for _, t := range k.Tools {
				listed.Tools = append(listed.Tools, skill.Tool{Name: t.Name, InputSchema: t.InputSchema, Kind: skill.Interactive})
			}
		default:
			known := pinned(k)
			if known == nil {
				return nil
			}
			listed.Tools = skills.LockedTools(known)
		}
		switch {
		case k.IsBase():
			base = append(base, listed)
		case k.Type == expert.InteractiveSkill:
			questions = append(questions, listed)
		default:
			servers = append(servers, listed)
		}
	}
	return skill.Collisions(slices.Concat(base, servers, delegates(e), questions))
}

// delegates lists the delegates of e, including those that are not installed: the key gives
// the name of the tool.
func delegates(e *expert.Expert) (listed []skill.Listed) {
	for i, tool := range expert.DelegateTools(e.Delegates) {
		key, err := expert.ParseReference(e.Delegates[i])
		if err != nil {
			continue // reported when the file was read
		}
		listed = append(listed, skill.Listed{Name: key.Name, Tools: []skill.Tool{{Name: tool, Kind: skill.Delegate}}})
	}
	return listed
}
