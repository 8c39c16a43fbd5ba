package manifest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/skills/base/prompt"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

const (
	maxTools   = 255       // of a skill, and those that pick and omit name
	maxTimeout = time.Hour // a server that is silent for longer is not slow
)

// The types of skills, and those that have a key.
var (
	skillKinds  = []string{string(expert.StdioSkill), string(expert.SSESkill), string(expert.HTTPSkill), string(expert.InteractiveSkill)}
	mcpKinds    = skillKinds[:3]
	remoteKinds = skillKinds[1:3]
	stdioKind   = string(expert.StdioSkill)
)

// skillKeys are the keys of [experts.<name>.skills.<skill>], each with the types that have
// it.
func skillKeys() []key[expert.Skill] {
	type S = expert.Skill
	tool := list(maxTools, "Name of a tool.", text(1, 255))
	return []key[S]{
		row("type", "Type of the skill; it decides which other keys there are.", word(skillKinds...), func(s *S, kind string) { s.Type = expert.SkillType(kind) }).
			required("use " + wording.Or(skillKinds)),
		row("description", "What the skill is for, for people.", text(0, 2048), func(s *S, text string) { s.Description = text }),
		row("rule", "Guidance for the model.", text(0, 2048), func(s *S, text string) { s.Rule = text }),
		row("pick", "Offer only these tools, if not empty.", tool, func(s *S, all []string) { s.Pick = all }).of(mcpKinds...).without("all tools"),
		row("omit", "Do not offer these tools, even if picked.", tool, func(s *S, all []string) { s.Omit = all }).of(mcpKinds...),
		custom("requiredEnv", "Environment variables that the program gets or that headers use.", "list of at most 255",
			fixed(list(255, "Name of a variable.", matching(expert.VariablePattern, expert.MaxVariable, "")).schema), func(r *reader, t *toml.Table, s *S) {
				s.RequiredEnv = t.Strs("requiredEnv", 255, func(name string) (string, string) { return checkVariable(name, r.providers) })
			}).of(mcpKinds...).without("none"),
		row("allowedDomains", "Hosts that the skill can reach.", list(0, "A host name, or *. and a host name for its subdomains, unless that is a public suffix such as com or github.io.", matching(netaddr.HostPattern, 253, "", netaddr.DomainPattern)), func(s *S, all []string) { s.AllowedDomains = all }).of(mcpKinds...),
		row("toolPrefix", "Prefix tool names with the name of the skill and __.", flag(), func(s *S, yes bool) { s.ToolPrefix = yes }).of(mcpKinds...),
		row("startTimeout", "Time limit until the server has listed its tools.", milliseconds(maxTimeout), func(s *S, d time.Duration) { s.StartTimeout = d }).of(mcpKinds...).without("see [skills](skills.md)"),
		row("callTimeout", "Time limit of one call without progress.", milliseconds(maxTimeout), func(s *S, d time.Duration) { s.CallTimeout = d }).of(mcpKinds...).without("see [skills](skills.md)"),
		row("command", "The program to start, without a shell.", matching(program, 4096, "text", toml.Length(1, 4096), command, expert.DisguisedManager), func(s *S, text string) { s.Command = text }).of(stdioKind).
			required(`name the program to start, like "npx"`),
		row("packageName", "Package for npx or uvx; either this or args.", matching(expert.KeyPattern, expert.MaxKey, "text", expert.PackageName), func(s *S, text string) { s.PackageName = text }).of(stdioKind),
		row("args", "Arguments of the program; either these or packageName.", list(0, "An argument.", matching("", 0, "", toml.NoNUL)), func(s *S, all []string) { s.Args = all }).of(stdioKind),
		row("sandbox", "Minimum level of the sandbox of its processes with the runtime local.", word(expert.SkillSandboxes()...), func(s *S, w string) { s.Sandbox = expert.SandboxLevel(w) }).of(stdioKind).
			without("none with `local`; always a [sandbox](sandbox.md) with `docker`"),
		row("workspace", "What its processes may do with the workspace; needs a sandbox.", word(expert.WorkspaceRights()...), func(s *S, w string) { s.Workspace = expert.WorkspaceRight(w) }).of(stdioKind).or(string(expert.WorkspaceWrite)),
		row("lazyInit", "Start the run without waiting for the skill.", flag(), func(s *S, yes bool) { s.LazyInit = yes }).of(stdioKind).
			more("without a lockfile the first request to the model waits"),
		row("allowPrivateEndpoint", "Allow a private address as endpoint.", flag(), func(s *S, yes bool) { s.AllowPrivateEndpoint = yes }).of(remoteKinds...),
		custom("endpoint", "Address of the server; https, or plain http on this machine.", "address", fixed(&jsonSchema{Type: "string", MinLength: 1, MaxLength: 2048, Pattern: anyURL}), func(_ *reader, t *toml.Table, s *S) {
			s.Endpoint = t.Str("endpoint", toml.Length(1, 2048), func(url string) (string, string) { return netaddr.EndpointURL(url, s.AllowPrivateEndpoint) })
		}).of(remoteKinds...).required("give the URL of the server"),
		custom("headers", "Headers of every request to the server.", fmt.Sprintf("table of at most %d", maxHeaders), skillHeadersSchema, (*reader).skillHeaders).of(remoteKinds...).without("none"),
		custom("tools", "Questions that the model can ask, by name.", "table", toolsSchema, (*reader).questions).of(string(expert.InteractiveSkill)).
			required("declare a tool as [{path}.<name>]"),
	}
}

// skills reads the skills of an Expert.
func (r *reader) skills(parent *toml.Table, e *expert.Expert) {
	t := parent.Sub("skills")
	if t == nil {
		return
	}
	r.AtMost(t.Node, len(t.Node.Keys), maxSkills, "skills")
	t.Each(func(name string, entry *toml.Table) {
		for _, ok := range []toml.Rule{toml.Length(1, 255), toml.Printable} {
			if message, hint := ok(name); message != "" {
				r.Fault(entry.Node.KeyAt, entry.Node.Path(), "the name "+message, hint)
				break
			}
		}
		e.Skills = append(e.Skills, r.skill(name, entry))
	})
	r.oneBase(t, e.Skills)
}

func (r *reader) skill(name string, t *toml.Table) *expert.Skill {
	s, keys := &expert.Skill{Name: name}, r.tables.skill()
	if s.IsBase() {
		// The built-in base skill needs no command, so an entry that only
		// picks tools need not invent one.
		keys = optional(keys, "command")
		if !hasAny(t.Node, baseProgram...) {
			// It only changes the built-in one.
			keys, s.Type = optional(keys, "type"), expert.StdioSkill
			readKeys(r, t, ofKind(keys, stdioKind), s)
			return r.finishSkill(t, s)
		}
	}
	switch expert.SkillType(readVariant(r, t, keys, skillKinds, s)) {
	case expert.StdioSkill:
		r.startedBy(t, s)
	case expert.SSESkill, expert.HTTPSkill:
		r.unusedEnv(t, s)
	case expert.InteractiveSkill:
	}
	return r.finishSkill(t, s)
}

func (r *reader) finishSkill(t *toml.Table, s *expert.Skill) *expert.Skill {
	t.Finish(foreignKey(t.Node), r.skillKeyOwner)
	if s.IsBase() {
		settleBase(s, r.file.BaseSkillCommand)
		r.baseEntry(t, s)
	}
	return s
}

// hasAny reports whether a table has one of the keys.
func hasAny(n *toml.Node, keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return n.Fields[key] != nil })
}

// skillKeyOwner says to which types a key belongs that this type does not have.
func (r *reader) skillKeyOwner(key string) string {
	if key == "sandbox" || key == "workspace" {
		return "no process runs here for such a skill; only an " + stdioKind + " has a sandbox"
	}
	for _, k := range r.tables.skill() {
		if k.name == key {
			return "it is a key of " + wording.Or(k.kinds)
		}
	}
	return r.tables.misplaced(key)
}

// startedBy checks that there is one way to start the program.
func (r *reader) startedBy(t *toml.Table, s *expert.Skill) {
	manager := expert.PackageManager(s.Command)
	args := t.Node.Fields["args"]
	hasPackage, hasArgs := t.Node.Fields["packageName"] != nil, len(s.Args) > 0
	wrongArgs := args != nil && (args.Kind != toml.KindArray || len(args.Items) > 0) // then they were reported already
	switch {
	case hasPackage && hasArgs:
		r.Fault(args.KeyAt, t.Node.Path(), "has both packageName and args", "keep one of them")
	case s.IsBase() && t.Node.Fields["command"] == nil && (hasArgs || s.PackageName != ""):
		// Only of the package of the base skill it is known how to start it.
		if expert.IsBasePackage(s.PackageName) {
			s.Command = "npx"
			return
		}
		r.Missing(t.Node.KeyAt, t.At("command"), "is required", "name the program to start instead of the built-in base skill")
	case manager != "" && !hasPackage && !hasArgs && !s.AsksForBuiltIn() && !wrongArgs:
		r.Missing(t.Node.KeyAt, t.Node.Path(), "has no packageName or args", `write packageName = "name" or args = ["…"]`)
	case manager != "" && hasArgs && len(s.Args) == len(args.Items):
		r.packageArgs(manager, s.Args, args)
	}
}

// packageArgs reports what is wrong with the arguments of a package manager. The first of
// them is the argument at index 0 of args, whose list in the file may begin earlier.
func (r *reader) packageArgs(manager string, args []string, list *toml.Node) {
	_, fault := expert.ParsePackage(manager, args)
	if fault == nil {
		return
	}
	if fault.At < 0 {
		r.Fault(list.KeyAt, list.Path(), fault.Message, fault.Hint)
		return
	}
	item := list.Items[len(list.Items)-len(args)+fault.At]
	r.Fault(item.At, item.Path(), fault.Message, fault.Hint)
}

// command refuses what is no program: nothing splits a command at blanks, since there is no
// shell.
func command(s string) (string, string) {
	switch {
	case strings.HasPrefix(s, "-"):
		return wording.Quote(s) + " is not a program", "name the program to start, like npx"
	case strings.ContainsAny(s, " \t") && !strings.ContainsAny(s, `/\`):
		return wording.Quote(s) + " has blanks in it", "put the arguments into args"
	}
	return toml.NoNUL(s)
}

// skillsSchema is the table of all skills of an Expert.
func skillsSchema() *jsonSchema {
	s := tablesOf(text(1, 255).schema, skillSchema(false))
	s.Properties = properties{{expert.BaseSkill, skillSchema(true)}}
	s.MaxProperties = maxSkills
	return s
}

// skillSchema knows the keys of all types of skills, and takes away those of the
// others once the type is named. The base skill needs no program and asks no
// questions; of its tools the names are known.
func skillSchema(base bool) *jsonSchema {
	about, kinds, keys := "A skill: tools for the Expert.", skillKinds, skillKeys()
	if base {
		about, kinds = "The base skill, which every Expert has; declare it to restrict its tools.", mcpKinds
		keys = optional(keys, "command", "type")
		for i := range keys {
			switch k := &keys[i]; k.name {
			case "type":
				k.schema = fixed(word(kinds...).schema)
			case "pick", "omit":
				// The names are offered for completion, but not insisted on: a base skill of
				// another version may have others.
				s := *k.schema()
				s.Items = &jsonSchema{AnyOf: []*jsonSchema{described(word(prompt.Names()...).schema, "A tool of the built-in base skill."), s.Items}}
				k.schema = fixed(&s)
			}
		}
	}
	s := schemaOf(about, those(keys, func(k key[expert.Skill]) bool { return slices.ContainsFunc(kinds, k.belongsTo) }))
	for _, kind := range kinds {
		then := ofKindOnly(keys, kind)
		if kind == stdioKind {
			startedBySchema(then, base)
		}
		s.AllOf = append(s.AllOf, when("type", kind, then))
	}
	if base {
		// Without a type, it only changes the built-in one.
		names := slices.DeleteFunc(keyNames(ofKind(keys, stdioKind)), func(name string) bool { return slices.Contains(baseProgram, name) })
		s.AllOf = append(s.AllOf, &jsonSchema{AnyOf: []*jsonSchema{{Required: []string{"type"}}, {PropertyNames: &jsonSchema{Enum: names}}}})
	}
	return s
}

// baseProgram are the keys that say what serves the base tools. Without one of them, it is perstack.
var baseProgram = []string{"type", "command", "packageName", "args", "endpoint", "tools"}

// startedBySchema says what a program needs to be started.
func startedBySchema(s *jsonSchema, base bool) {
	some := properties{{"args", &jsonSchema{MinItems: 1}}}
	s.Not = &jsonSchema{Properties: some, Required: []string{"packageName", "args"}}
	without := "" // npx alone means nothing but the base skill on its entry
	if base {
		without = "npx"
	}
	other := properties{{"command", &jsonSchema{Not: &jsonSchema{Enum: expert.ManagerCommands(without)}}}}
	s.AnyOf = []*jsonSchema{
		{Properties: other, Required: []string{"command"}},
		{Required: []string{"command", "packageName"}},
		{Properties: some, Required: []string{"command", "args"}},
	}
	if base {
		// Without a command, only the package of the base skill itself is understood.
		itself := properties{{"packageName", &jsonSchema{Pattern: `^` + expert.BaseSkill + `(?:@|$)`}}}
		told := []*jsonSchema{{Required: []string{"command"}}, {Properties: some, Required: []string{"args"}}}
		s.AnyOf = append(s.AnyOf, &jsonSchema{Properties: itself, Not: &jsonSchema{AnyOf: told}})
	}
}
