package manifest

import (
	"fmt"
	"slices"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// maxTools bounds the tools of a skill, and those that pick and omit name.
const maxTools = 255

// maxTimeout bounds what startTimeout and callTimeout may say. A server that is silent
// for an hour is not slow.
const maxTimeout = time.Hour

// mcpKeys are the keys of all MCP skills.
var mcpKeys = []string{"pick", "omit", "requiredEnv", "allowedDomains", "toolPrefix", "startTimeout", "callTimeout"}

// skillKeys lists the types of skills, each with its keys beside type,
// description and rule.
var skillKeys = []struct {
	kind expert.SkillType
	keys []string
}{
	{expert.StdioSkill, append([]string{"command", "packageName", "args", "lazyInit", "sandbox", "workspace"}, mcpKeys...)},
	{expert.SSESkill, append([]string{"endpoint", "allowPrivateEndpoint", "headers"}, mcpKeys...)},
	{expert.HTTPSkill, append([]string{"endpoint", "allowPrivateEndpoint", "headers"}, mcpKeys...)},
	{expert.InteractiveSkill, []string{"tools"}},
}

// anySkillKeys are the keys that only skills have.
var anySkillKeys = []string{
	"rule", "pick", "omit", "command", "packageName", "args", "requiredEnv", "allowedDomains", "lazyInit", "endpoint", "tools",
	"toolPrefix", "startTimeout", "callTimeout", "sandbox", "workspace",
}

func (r *reader) skills(t *toml.Table, c *Config) []*expert.Skill {
	var out []*expert.Skill
	r.AtMost(t.Node, t.Path, len(t.Node.Keys), 255, "skills")
	t.Each(func(name string, entry *toml.Table) {
		for _, ok := range []toml.Rule{toml.Length(1, 255), toml.Printable} {
			if message, hint := ok(name); message != "" {
				r.Fault(entry.Node.KeyAt, entry.Path, "the name "+message, hint)
				break
			}
		}
		out = append(out, r.skill(name, entry, c))
	})
	r.oneBase(t, out)
	return out
}

func (r *reader) skill(name string, t *toml.Table, c *Config) *expert.Skill {
	kinds := make([]string, len(skillKeys))
	for i, k := range skillKeys {
		kinds[i] = string(k.kind)
	}
	r.Mark(t.Path, t.Node)
	s := &expert.Skill{Name: name}
	s.Type = expert.SkillType(t.Require("type", "use "+wording.Or(kinds), toml.OneOf(kinds...)))
	s.Description = t.Str("description", toml.Length(0, 2048))
	s.Rule = t.Str("rule", toml.Length(0, 2048))
	switch s.Type {
	case expert.StdioSkill:
		r.mcpSkill(t, s, c.Provider.Name)
		r.stdioSkill(t, s)
	case expert.SSESkill, expert.HTTPSkill:
		r.mcpSkill(t, s, c.Provider.Name)
		r.remoteSkill(t, s)
	case expert.InteractiveSkill:
		r.interactiveSkill(t, s)
	default:
		for _, k := range skillKeys {
			t.Knows(k.keys...)
		}
	}
	t.Finish(skillKeyOwner)
	if s.IsBase() {
		settleBase(s, c.BaseSkillCommand)
		r.baseEntry(t, s)
	}
	return s
}

// skillKeyOwner says to which types a key belongs that this type does not have.
func skillKeyOwner(key string) string {
	var owners []string
	for _, k := range skillKeys {
		if slices.Contains(k.keys, key) {
			owners = append(owners, string(k.kind))
		}
	}
	switch {
	case key == "sandbox" || key == "workspace":
		return "no process runs here for such a skill; only an " + string(expert.StdioSkill) + " has a cell"
	case len(owners) > 0:
		return "it is a key of " + wording.Or(owners)
	}
	return misplaced(key)
}

// mcpSkill reads what all MCP skills have.
func (r *reader) mcpSkill(t *toml.Table, s *expert.Skill, provider string) {
	s.Pick = t.Strs("pick", maxTools, toml.Length(1, 255))
	s.Omit = t.Strs("omit", maxTools, toml.Length(1, 255))
	s.AllowedDomains = t.Strs("allowedDomains", 0, netaddr.DomainPattern)
	if n := t.Node.Fields["allowedDomains"]; n != nil {
		r.Mark(t.At("allowedDomains"), n)
	}
	s.RequiredEnv = t.Strs("requiredEnv", 255, func(name string) (string, string) { return checkVariable(name, provider) })
	s.ToolPrefix = t.Bool("toolPrefix")
	s.StartTimeout = t.Milliseconds("startTimeout", maxTimeout)
	s.CallTimeout = t.Milliseconds("callTimeout", maxTimeout)
}

// oneBase allows one entry for the base skill, under its own name: a second one
// would offer the same tools again.
func (r *reader) oneBase(t *toml.Table, skills []*expert.Skill) {
	declared := t.Node.Fields[expert.BaseSkill]
	for _, s := range skills {
		n := t.Node.Fields[s.Name]
		switch {
		case s.IsBase() && s.Type == expert.InteractiveSkill:
			r.Fault(n.KeyAt, t.At(s.Name), "the base skill cannot be an interactiveSkill", "give this skill another name")
		case s.IsBase() || !s.NamesBase():
		case declared != nil:
			r.Fault(n.KeyAt, t.At(s.Name), "is a second entry for the base skill",
				fmt.Sprintf("the first is on line %d", r.Line(declared.KeyAt)))
		default:
			r.Fault(n.KeyAt, t.At(s.Name), "is the base skill under another name", "call it "+wording.Quote(expert.BaseSkill))
		}
	}
}
