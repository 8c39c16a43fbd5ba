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

	Sandbox   SkillSandbox   `json:"sandbox,omitzero"`   // stdio and base: what its processes are locked into with the runtime local; behind a wall always a cell
	Workspace WorkspaceRight `json:"workspace,omitzero"` // stdio and base: what its cell may do with the workspace; empty means WorkspaceWrite

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
