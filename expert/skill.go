package expert

import (
	"slices"
	"strings"
)

// SkillType says what kind of thing a skill is, and which of its fields count.
type SkillType string

// The types of skills.
const (
	StdioSkill       SkillType = "mcpStdioSkill"    // an MCP server that is started as a process
	SSESkill         SkillType = "mcpSseSkill"      // an MCP server reached over HTTP with SSE
	HTTPSkill        SkillType = "mcpHttpSkill"     // an MCP server reached over streamable HTTP
	InteractiveSkill SkillType = "interactiveSkill" // tools that the user answers
)

// BaseSkill is the name of the skill that every Expert has.
const BaseSkill = "@perstack/base"

// Skill gives an Expert tools. Fields that do not belong to its Type are zero.
type Skill struct {
	Name        string
	Type        SkillType
	Description string
	Rule        string // guidance for the model

	Pick           []string // MCP: if not empty, only these tools
	Omit           []string // MCP: not these tools; stronger than Pick
	AllowedDomains []string // MCP: hosts it may reach

	Command     string   // stdio
	PackageName string   // stdio: instead of Args
	Args        []string // stdio: instead of PackageName
	RequiredEnv []string // stdio: variables handed to the process
	LazyInit    bool     // stdio: the run does not wait for it

	Endpoint             string // SSE, HTTP
	AllowPrivateEndpoint bool   // SSE, HTTP

	Tools []InteractiveTool // interactive, in file order

	Implicit bool // the base skill that the file does not mention
}

// InteractiveTool is a question that the model can put to the user.
type InteractiveTool struct {
	Name        string
	Description string
	InputSchema []byte // a JSON object, as written in the file
}

// implicitBase is the base skill of an Expert that does not declare it.
func implicitBase() *Skill {
	return &Skill{
		Name: BaseSkill, Type: StdioSkill, Description: "Base skill", Implicit: true,
		Command: "npx", Args: []string{"-y", BaseSkill},
	}
}

// IsBase reports whether this is the base skill of its Expert.
func (s *Skill) IsBase() bool { return s.Name == BaseSkill }

// BuiltIn reports whether the base skill that is part of this program serves s.
// It does unless the entry asks for a version of its own or a remote server, or
// the file names another program for all base skills.
func (c *Config) BuiltIn(s *Skill) bool {
	if !s.IsBase() || s.Type != StdioSkill || len(c.BaseSkillCommand) > 0 {
		return false
	}
	pinned := func(name string) bool { return isBasePackage(name) && name != BaseSkill }
	return !pinned(s.PackageName) && !slices.ContainsFunc(s.Args, pinned)
}

// isBasePackage recognises the package exactly, with or without a version, so
// that @perstack/base-tools is not taken for it.
func isBasePackage(s string) bool {
	version, ok := strings.CutPrefix(s, BaseSkill)
	return ok && (version == "" || version[0] == '@')
}

// looksLikeBase reports whether an entry would start the base skill, whatever
// it is called.
func (s *Skill) looksLikeBase() bool {
	return isBasePackage(s.Name) || isBasePackage(s.PackageName) || slices.ContainsFunc(s.Args, isBasePackage)
}
