package expert

import (
	"fmt"
	"slices"
)

// maxTools bounds the tools of a skill, and those that pick and omit name.
const maxTools = 255

// skillKeys lists the types of skills, each with its keys beside type,
// description and rule.
var skillKeys = []struct {
	kind SkillType
	keys []string
}{
	{StdioSkill, []string{"pick", "omit", "command", "packageName", "args", "requiredEnv", "allowedDomains", "lazyInit"}},
	{SSESkill, []string{"pick", "omit", "endpoint", "allowedDomains", "allowPrivateEndpoint"}},
	{HTTPSkill, []string{"pick", "omit", "endpoint", "allowedDomains", "allowPrivateEndpoint"}},
	{InteractiveSkill, []string{"tools"}},
}

// anySkillKeys are the keys that only skills have.
var anySkillKeys = []string{
	"rule", "pick", "omit", "command", "packageName", "args", "requiredEnv", "allowedDomains", "lazyInit", "endpoint", "tools",
}

func (r *reader) skills(t *table, provider string) []*Skill {
	var out []*Skill
	r.atMost(t.n, t.path, len(t.n.keys), 255, "skills")
	t.each(func(name string, entry *table) {
		for _, ok := range []rule{length(1, 255), printable} {
			if message, hint := ok(name); message != "" {
				r.fault(entry.n.keyAt, entry.path, "the name "+message, hint)
				break
			}
		}
		out = append(out, r.skill(name, entry, provider))
	})
	r.oneBase(t, out)
	return out
}

func (r *reader) skill(name string, t *table, provider string) *Skill {
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
		r.mcpSkill(t, s)
		r.stdioSkill(t, s, provider)
	case SSESkill, HTTPSkill:
		r.mcpSkill(t, s)
		s.AllowPrivateEndpoint = t.boolean("allowPrivateEndpoint")
		s.Endpoint = t.require("endpoint", "give the URL of the server", length(1, 2048), endpointURL(s.AllowPrivateEndpoint))
	case InteractiveSkill:
		r.interactiveSkill(t, s)
	default:
		for _, k := range skillKeys {
			t.knows(k.keys...)
		}
	}
	t.finish(skillKeyOwner)
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
	if len(owners) > 0 {
		return "it is a key of " + orList(owners)
	}
	return misplaced(key)
}

// mcpSkill reads what all MCP skills have.
func (r *reader) mcpSkill(t *table, s *Skill) {
	s.Pick = t.strs("pick", maxTools, length(1, 255))
	s.Omit = t.strs("omit", maxTools, length(1, 255))
	s.AllowedDomains = t.strs("allowedDomains", 0, domainPattern)
	if n := t.n.fields["allowedDomains"]; n != nil {
		r.mark(t.at("allowedDomains"), n)
	}
}

func (r *reader) stdioSkill(t *table, s *Skill, provider string) {
	if s.IsBase() {
		// The built-in base skill needs no command, so an entry that only
		// picks tools need not invent one.
		s.Command = t.str("command", length(1, 4096), command)
	} else {
		s.Command = t.require("command", `name the program to start, like "npx"`, length(1, 4096), command)
	}
	s.PackageName = t.str("packageName", packageName)
	s.Args = t.strs("args", 0, noNUL)
	s.RequiredEnv = t.strs("requiredEnv", 255, requiredEnv(provider))
	s.LazyInit = t.boolean("lazyInit")

	hasPackage, hasArgs := t.n.fields["packageName"] != nil, len(s.Args) > 0
	switch {
	case hasPackage && hasArgs:
		r.fault(t.n.fields["args"].keyAt, t.path, "has both packageName and args", "keep one of them")
	case !hasPackage && !hasArgs && !s.IsBase() && !wrongArgs(t.n.fields["args"]):
		r.missing(t.n.keyAt, t.path, "has no packageName or args", `write packageName = "name" or args = ["…"]`)
	}
	if s.IsBase() {
		r.baseEntry(t, s)
	}
}

// wrongArgs reports whether args has a problem of its own; then "has no args"
// would be a second report of the same mistake.
func wrongArgs(n *node) bool {
	return n != nil && (n.kind != kindArray || len(n.items) > 0)
}

// baseEntry warns about keys that do nothing on the base skill.
func (r *reader) baseEntry(t *table, s *Skill) {
	ignored := func(key, hint string) {
		r.warn(t.n.fields[key].keyAt, t.at(key), "has no effect on the base skill", hint)
	}
	if s.LazyInit {
		ignored("lazyInit", "it always starts first; remove it")
	}
	if len(s.RequiredEnv) > 0 {
		ignored("requiredEnv", "the built-in one reads no variables; remove it")
	}
	custom := s.Command != "" && s.Command != "npx" ||
		s.PackageName != "" && !isBasePackage(s.PackageName) ||
		len(s.Args) > 0 && !slices.ContainsFunc(s.Args, isBasePackage)
	if custom {
		r.warn(t.n.keyAt, t.path, "the built-in base skill runs, not this command",
			"set perstackBaseSkillCommand to run another program, or give the skill another name")
	}
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

func (r *reader) interactiveSkill(t *table, s *Skill) {
	tools := t.sub("tools")
	if tools == nil {
		if t.n.fields["tools"] == nil {
			r.missing(t.n.keyAt, t.at("tools"), "is required", "declare a tool as ["+t.at("tools")+".<name>]")
		}
		return
	}
	r.atMost(tools.n, tools.path, len(tools.n.keys), maxTools, "tools")
	tools.each(func(name string, entry *table) {
		if !toolGrammar.MatchString(name) {
			r.fault(entry.n.keyAt, entry.path, "is not a tool name that providers accept", "use letters, digits, _ and -, at most 64 of them")
		}
		entry.older = []string{"name"} // the table key counts
		s.Tools = append(s.Tools, InteractiveTool{
			Name:        name,
			Description: entry.str("description", length(0, 2048)),
			InputSchema: []byte(entry.require("inputJsonSchema", "give a JSON Schema as text", length(1, 20480), jsonObject, argumentSchema)),
		})
		entry.finish()
	})
}
