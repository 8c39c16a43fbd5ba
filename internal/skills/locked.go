package skills

import (
	"fmt"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/skills/mcp"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// pinned finds what the lockfile says about a skill; nil when there is no lockfile. With
// one, a skill that is not in it, or was another when it was installed, does not start:
// nobody has looked at what it offers.
func (s *set) pinned(k *expert.Skill) (*lockfile.Skill, error) {
	if s.site.Lock == nil {
		return nil, nil
	}
	locked, ok := s.site.Lock.Expert(s.expert.Key)
	if !ok {
		return nil, fmt.Errorf("expert %q is not in the lockfile; run: perstack install", s.expert.Key)
	}
	pinned, ok := locked.Skill(k.Name)
	switch {
	case !ok:
		return nil, fmt.Errorf("skill %q is not in the lockfile; run: perstack install", k.Name)
	case !pinned.Holds(k):
		return nil, fmt.Errorf("skill %q has changed since it was installed; run: perstack install", k.Name)
	}
	return pinned, nil
}

// LockedTools are the tools that a server must offer. The list is not nil, even if it is
// empty: a server that offered nothing must still offer nothing.
func LockedTools(pinned *lockfile.Skill) []skill.Tool {
	tools := make([]skill.Tool, len(pinned.Tools))
	for i, t := range pinned.Tools {
		tools[i] = mcp.Tool(t)
	}
	return tools
}

// lockTools writes definitions down, word for word.
func lockTools(definitions []rawjson.Value) ([]lockfile.Tool, error) {
	locked := make([]lockfile.Tool, len(definitions))
	for i, d := range definitions {
		var err error
		if locked[i], err = lockfile.ParseTool(d); err != nil {
			return nil, err
		}
	}
	return locked, nil
}
