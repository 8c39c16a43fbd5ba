package manifest

import (
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/netaddr"
)

// This file describes skills.

// skillSchema knows the keys of all types of skills, and takes away those of the
// others once the type is named. The base skill needs no program and asks no
// questions; of its tools the names are known.
func skillSchema(base bool) *jsonSchema {
	common := []string{"type", "description", "rule"}
	all := [][]string{common}
	var kinds []string
	var conditions []*jsonSchema
	for _, k := range skillKeys {
		if base && k.kind == expert.InteractiveSkill {
			continue
		}
		all = append(all, k.keys)
		kinds = append(kinds, string(k.kind))
		conditions = append(conditions, when("type", string(k.kind), skillConditions(k.kind, only(k.keys, common...), base)))
	}
	as := skillDescriptions()
	as["type"] = words("What kind of skill it is, which decides what other keys it has.", kinds...)
	about := "A skill: tools for the Expert."
	if base {
		about = "The base skill, which every Expert has; declare it to choose from its tools."
		as["pick"].Items = baseToolSchema(as["pick"].Items)
		as["omit"].Items = baseToolSchema(as["omit"].Items)
	}
	s := closed(about, describe(union(all...), as), "type")
	s.AllOf = conditions
	return s
}

// baseToolSchema offers the names of the tools for completion. It does not insist
// on them: a base skill of another version may have others.
func baseToolSchema(tool *jsonSchema) *jsonSchema {
	return &jsonSchema{AnyOf: []*jsonSchema{words("A tool of the built-in base skill.", expert.BaseTools()...), tool}}
}

// skillConditions adds what a type of skill cannot do without.
func skillConditions(kind expert.SkillType, s *jsonSchema, base bool) *jsonSchema {
	switch kind {
	case expert.StdioSkill:
		some := properties{{"args", &jsonSchema{MinItems: 1}}}
		s.Not = &jsonSchema{Properties: some, Required: []string{"packageName", "args"}}
		without := "" // npx alone means nothing but the base skill on its entry
		if base {
			without = "npx"
		}
		other := properties{{"command", &jsonSchema{Not: &jsonSchema{Enum: expert.ManagerCommands(without)}}}}
		started := []*jsonSchema{
			{Properties: other, Required: []string{"command"}},
			{Required: []string{"command", "packageName"}},
			{Properties: some, Required: []string{"command", "args"}},
		}
		if base {
			// Without a command, only the package of the base skill itself is understood.
			itself := properties{{"packageName", &jsonSchema{Pattern: `^` + expert.BaseSkill + `(?:@|$)`}}}
			told := []*jsonSchema{{Required: []string{"command"}}, {Properties: some, Required: []string{"args"}}}
			started = append(started, &jsonSchema{Properties: itself, Not: &jsonSchema{AnyOf: told}})
		} else {
			s.and("command")
		}
		s.AnyOf = started
	case expert.SSESkill, expert.HTTPSkill:
		s.and("endpoint")
	case expert.InteractiveSkill:
		s.and("tools")
	}
	return s
}

func skillDescriptions() map[string]*jsonSchema {
	command := text("The program to start, without a shell.", 1, 4096)
	command.Pattern = program // a blank one does not match either
	endpoint := text("Address of the server; https, or plain http on this machine.", 1, 2048)
	endpoint.Pattern = anyURL
	tools := tablesOf("The questions that the model can ask, by name.", grammar("", toolGrammar(), 0), interactiveToolSchema())
	tools.MaxProperties = maxTools
	return map[string]*jsonSchema{
		"description":          text("What the skill is for, for people.", 0, 2048),
		"rule":                 text("Guidance for the model.", 0, 2048),
		"pick":                 array("If not empty, only these tools are offered.", maxTools, text("Name of a tool.", 1, 255)),
		"omit":                 array("Tools that are not offered, even if picked.", maxTools, text("Name of a tool.", 1, 255)),
		"command":              command,
		"packageName":          pattern("Package for npx or uvx; either this or args.", expert.PackagePattern, expert.MaxKey),
		"args":                 array("Arguments of the program; either these or packageName.", 0, anyText("An argument.")),
		"requiredEnv":          array("Variables that the program gets from the environment, or that headers use.", 255, pattern("Name of a variable.", expert.VariablePattern, expert.MaxVariable)),
		"allowedDomains":       array("Hosts that the skill may reach.", 0, pattern("A host name, or *. and a host name for its subdomains.", netaddr.HostPattern, 253)),
		"lazyInit":             flag("Lets the run start without waiting for the skill."),
		"sandbox":              words("What its processes are locked into with the runtime local.", string(expert.SandboxLandlock)),
		"workspace":            words("What its cell may do with the workspace.", expert.WorkspaceRights()...).or(string(expert.WorkspaceWrite)),
		"endpoint":             endpoint,
		"allowPrivateEndpoint": flag("Lets the server have an address of a private network."),
		"headers":              skillHeadersSchema(),
		"toolPrefix":           flag("Offers the tools as name of the skill, __ and name of the tool."),
		"startTimeout":         milliseconds("Milliseconds until the server has to have listed its tools."),
		"callTimeout":          milliseconds("Milliseconds that one call may take without news of it."),
		"tools":                tools,
	}
}

func milliseconds(about string) *jsonSchema {
	s := number(about, 1)
	s.Maximum = maxTimeout.Milliseconds()
	return s
}

func skillHeadersSchema() *jsonSchema {
	names := &jsonSchema{Pattern: headerName, MaxLength: maxHeaderName, Not: &jsonSchema{Pattern: ownHeader()}}
	value := pattern("Value of the header; ${NAME} is the value of a variable in requiredEnv.", headerValue, maxHeaderValue)
	return &jsonSchema{
		Description:          "Headers that every request to the server carries.",
		Type:                 "object",
		PropertyNames:        names,
		AdditionalProperties: value,
		MaxProperties:        maxHeaders,
	}
}

// ownHeader matches, in any letter case, the names of headers that perstack sets itself.
func ownHeader() string {
	var b strings.Builder
	for _, c := range "^(?:(?:" + strings.Join(ownHeaders, "|") + ")$|" + strings.Join(ownHeaderFamilies, "|") + ")" {
		if c >= 'a' && c <= 'z' {
			b.WriteString("[" + string(c) + strings.ToUpper(string(c)) + "]")
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

func interactiveToolSchema() *jsonSchema {
	return closed("A question that the model can put to the user.", properties{
		{"description", text("What the model reads about it.", 0, 2048)},
		{"inputJsonSchema", text("JSON Schema of what the model passes, as text.", 1, 20480)},
		{"name", (&jsonSchema{Description: "Ignored: the key of the table is the name."}).hidden()},
	}, "inputJsonSchema")
}
