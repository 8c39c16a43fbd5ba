package expert

import (
	"fmt"
	"slices"
	"time"
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
	kind SkillType
	keys []string
}{
	{StdioSkill, append([]string{"command", "packageName", "args", "lazyInit", "sandbox", "workspace"}, mcpKeys...)},
	{SSESkill, append([]string{"endpoint", "allowPrivateEndpoint", "headers"}, mcpKeys...)},
	{HTTPSkill, append([]string{"endpoint", "allowPrivateEndpoint", "headers"}, mcpKeys...)},
	{InteractiveSkill, []string{"tools"}},
}

// anySkillKeys are the keys that only skills have.
var anySkillKeys = []string{
	"rule", "pick", "omit", "command", "packageName", "args", "requiredEnv", "allowedDomains", "lazyInit", "endpoint", "tools",
	"toolPrefix", "startTimeout", "callTimeout", "sandbox", "workspace",
}

func (r *reader) skills(t *table, c *Config) []*Skill {
	var out []*Skill
	r.atMost(t.n, t.path, len(t.n.keys), 255, "skills")
	t.each(func(name string, entry *table) {
		for _, ok := range []rule{length(1, 255), printable} {
			if message, hint := ok(name); message != "" {
				r.fault(entry.n.keyAt, entry.path, "the name "+message, hint)
				break
			}
		}
		out = append(out, r.skill(name, entry, c))
	})
	r.oneBase(t, out)
	return out
}

func (r *reader) skill(name string, t *table, c *Config) *Skill {
	kinds := make([]string, len(skillKeys))
	for i, k := range skillKeys {
		kinds[i] = string(k.kind)
	}
	r.mark(t.path, t.n)
	s := &Skill{Name: name}
	s.Type = SkillType(t.require("type", "use "+orList(kinds), oneOf(kinds...)))
	s.Description = t.str("description", length(0, 2048))
	s.Rule = t.str("rule", length(0, 2048))
	switch s.Type {
	case StdioSkill:
		r.mcpSkill(t, s, c.Provider.Name)
		r.stdioSkill(t, s)
	case SSESkill, HTTPSkill:
		r.mcpSkill(t, s, c.Provider.Name)
		r.remoteSkill(t, s)
	case InteractiveSkill:
		r.interactiveSkill(t, s)
	default:
		for _, k := range skillKeys {
			t.knows(k.keys...)
		}
	}
	t.finish(skillKeyOwner)
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
		return "no process runs here for such a skill; only an " + string(StdioSkill) + " has a cell"
	case len(owners) > 0:
		return "it is a key of " + orList(owners)
	}
	return misplaced(key)
}

// mcpSkill reads what all MCP skills have.
func (r *reader) mcpSkill(t *table, s *Skill, provider string) {
	s.Pick = t.strs("pick", maxTools, length(1, 255))
	s.Omit = t.strs("omit", maxTools, length(1, 255))
	s.AllowedDomains = t.strs("allowedDomains", 0, domainPattern)
	if n := t.n.fields["allowedDomains"]; n != nil {
		r.mark(t.at("allowedDomains"), n)
	}
	s.RequiredEnv = t.strs("requiredEnv", 255, requiredEnv(provider))
	s.ToolPrefix = t.boolean("toolPrefix")
	s.StartTimeout = t.milliseconds("startTimeout", maxTimeout)
	s.CallTimeout = t.milliseconds("callTimeout", maxTimeout)
}

// oneBase allows one entry for the base skill, under its own name: a second one
// would offer the same tools again.
func (r *reader) oneBase(t *table, skills []*Skill) {
	declared := t.n.fields[BaseSkill]
	for _, s := range skills {
		n := t.n.fields[s.Name]
		switch {
		case s.IsBase() && s.Type == InteractiveSkill:
			r.fault(n.keyAt, t.at(s.Name), "the base skill cannot be an interactiveSkill", "give this skill another name")
		case s.IsBase() || !s.looksLikeBase():
		case declared != nil:
			r.fault(n.keyAt, t.at(s.Name), "is a second entry for the base skill",
				fmt.Sprintf("the first is on line %d", r.doc.position(declared.keyAt).Line))
		default:
			r.fault(n.keyAt, t.at(s.Name), "is the base skill under another name", "call it "+quote(BaseSkill))
		}
	}
}
