package expert

import (
	"strings"
	"time"
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

// Skill gives an Expert tools. Fields that do not belong to its Type are zero.
type Skill struct {
	Name        string    `json:"name,omitzero"`
	Type        SkillType `json:"type,omitzero"`
	Description string    `json:"description,omitzero"`
	Rule        string    `json:"rule,omitzero"` // guidance for the model

	Pick           []string `json:"pick,omitzero"`           // MCP: if not empty, only these tools
	Omit           []string `json:"omit,omitzero"`           // MCP: not these tools; stronger than Pick
	AllowedDomains []string `json:"allowedDomains,omitzero"` // MCP: hosts it may reach

	Command     string   `json:"command,omitzero"`     // stdio
	PackageName string   `json:"packageName,omitzero"` // stdio: instead of Args
	Args        []string `json:"args,omitzero"`        // stdio: instead of PackageName
	LazyInit    bool     `json:"lazyInit,omitzero"`    // stdio: the run does not wait for it

	Endpoint             string   `json:"endpoint,omitzero"`             // SSE, HTTP
	AllowPrivateEndpoint bool     `json:"allowPrivateEndpoint,omitzero"` // SSE, HTTP
	Headers              []Header `json:"headers,omitzero"`              // SSE, HTTP: sent with every request, in file order

	RequiredEnv []string `json:"requiredEnv,omitzero"` // MCP: variables handed to the process, or used in Headers
	ToolPrefix  bool     `json:"toolPrefix,omitzero"`  // MCP: tools are offered as <skill>__<tool>

	Sandbox   SandboxLevel   `json:"sandbox,omitzero"`   // stdio and base: the least level that its processes can have with the runtime local; a container always has sandboxes
	Workspace WorkspaceRight `json:"workspace,omitzero"` // stdio and base: what its sandbox may do with the workspace; empty means WorkspaceWrite

	StartTimeout time.Duration `json:"startTimeout,omitzero"` // MCP: until the server has listed its tools; 0 means the default
	CallTimeout  time.Duration `json:"callTimeout,omitzero"`  // MCP: of one call without news of it; 0 means the default

	Tools []InteractiveTool `json:"tools,omitzero"` // interactive, in file order

	Implicit bool `json:"implicit,omitzero"` // the base skill that the file does not mention
	BuiltIn  bool `json:"builtIn,omitzero"`  // the base skill that is part of this program serves it; set when the file is read
}

// InteractiveTool is a question that the model can put to the user.
type InteractiveTool struct {
	Name        string `json:"name,omitzero"`
	Description string `json:"description,omitzero"`
	InputSchema []byte `json:"inputSchema,omitzero"` // a JSON object, as written in the file
}

// BaseSkill is the name of the skill that every Expert has.
const BaseSkill = "@perstack/base"

// IsBase reports whether this is the base skill of its Expert.
func (s *Skill) IsBase() bool { return s.Name == BaseSkill }

// IsBasePackage recognises the package exactly, with or without a version, so
// that @perstack/base-tools is not taken for it.
func IsBasePackage(s string) bool {
	version, ok := strings.CutPrefix(s, BaseSkill)
	return ok && (version == "" || version[0] == '@')
}

// NamesBase reports whether an entry would start the base skill, whatever
// it is called.
func (s *Skill) NamesBase() bool {
	p, _ := s.Package()
	return IsBasePackage(s.Name) || IsBasePackage(s.PackageName) || p.Name == BaseSkill
}

// AsksForBuiltIn reports whether an entry names nothing but the base skill itself.
func (s *Skill) AsksForBuiltIn() bool {
	if !s.IsBase() || s.Type != StdioSkill {
		return false
	}
	if s.PackageName == "" && len(s.Args) == 0 {
		return s.Command == "" || PackageManager(s.Command) == "npx"
	}
	p, ok := s.Package()
	return ok && p.Manager == "npx" && p.Spec() == BaseSkill && p.Program == "" && len(p.Args) == 0
}

// A WorkspaceRight is what a skill in a sandbox may do with the workspace.
type WorkspaceRight string

// The rights.
const (
	WorkspaceWrite WorkspaceRight = "readWrite"
	WorkspaceRead  WorkspaceRight = "readOnly"
	WorkspaceNone  WorkspaceRight = "none"
)

// WorkspaceRights lists the values of the key workspace.
func WorkspaceRights() []string {
	return []string{string(WorkspaceWrite), string(WorkspaceRead), string(WorkspaceNone)}
}

// DockerRuntime is the runtime that runs in a container.
const DockerRuntime = "docker"
