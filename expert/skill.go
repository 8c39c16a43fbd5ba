package expert

import "time"

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
	LazyInit    bool     // stdio: the run does not wait for it

	Endpoint             string   // SSE, HTTP
	AllowPrivateEndpoint bool     // SSE, HTTP
	Headers              []Header // SSE, HTTP: sent with every request, in file order

	RequiredEnv []string // MCP: variables handed to the process, or used in Headers
	ToolPrefix  bool     // MCP: tools are offered as <skill>__<tool>

	Sandbox   SkillSandbox   // stdio and base: what its processes are locked into with the runtime local; behind a wall always a cell
	Workspace WorkspaceRight // stdio and base: what its cell may do with the workspace; empty means WorkspaceWrite

	StartTimeout time.Duration // MCP: until the server has listed its tools; 0 means the default
	CallTimeout  time.Duration // MCP: of one call without news of it; 0 means the default

	Tools []InteractiveTool // interactive, in file order

	Implicit bool // the base skill that the file does not mention
	BuiltIn  bool // the base skill that is part of this program serves it; set when the file is read
}

// InteractiveTool is a question that the model can put to the user.
type InteractiveTool struct {
	Name        string
	Description string
	InputSchema []byte // a JSON object, as written in the file
}
