// Package definition has the published form of an Expert: what a registry stores, what a digest is made
// of, and what a client runs.
//
// A [Definition] has exactly one canonical text ([Definition.Encode]), and the [Digest] of that text
// names it for ever. What can change later, such as status, tags and owner, is no part of it. [FromExpert]
// makes one of an Expert of a perstack.toml, and [Definition.Expert] returns the Expert, checked by the
// same rules as a file.
package definition

import "github.com/perstack-go/perstack/expert"

// Schema names the form. A definition of another one is refused: it can ask for what this version does
// not know.
const Schema = "perstack.expert/1"

// runtimeVersion is what the original clients accept as minRuntimeVersion, and nothing else.
const runtimeVersion = "v1.0"

// A Definition is an Expert as it is published. Its JSON is that of the original registry, and Extensions
// has what that cannot say. Numbers are integers.
type Definition struct {
	Schema            string           `json:"schema"`
	Name              string           `json:"name"`
	Version           string           `json:"version"`
	MinRuntimeVersion string           `json:"minRuntimeVersion"`
	Description       string           `json:"description"`
	Instruction       string           `json:"instruction"`
	Skills            map[string]Skill `json:"skills"`
	Delegates         []string         `json:"delegates,omitempty"`
	Extensions        Extensions       `json:"extensions,omitzero"`
}

// A Skill has the fields of its type.
type Skill struct {
	Type        expert.SkillType `json:"type"`
	Description string           `json:"description,omitzero"`
	Rule        string           `json:"rule,omitzero"`

	Pick        []string `json:"pick,omitempty"`        // MCP
	Omit        []string `json:"omit,omitempty"`        // MCP
	RequiredEnv []string `json:"requiredEnv,omitempty"` // MCP
	Command     string   `json:"command,omitzero"`      // stdio: npx or uvx
	PackageName string   `json:"packageName,omitzero"`  // stdio
	Endpoint    string   `json:"endpoint,omitzero"`     // SSE, HTTP

	Tools map[string]Tool `json:"tools,omitempty"` // interactive
}

// IsBuiltIn reports whether a skill is the base skill that is part of perstack, and nothing else that has its
// name.
func (s *Skill) IsBuiltIn(name string) bool {
	return name == expert.BaseSkill && s.Type == expert.StdioSkill && s.Command == "npx" && s.PackageName == expert.BaseSkill && s.Endpoint == "" && len(s.Tools) == 0
}

// A Tool is a question that a model can ask the user.
type Tool struct {
	Description     string `json:"description,omitzero"`
	InputJSONSchema string `json:"inputJsonSchema"` // JSON as text
}

// Extensions are what the original registry does not have.
type Extensions struct {
	Skills map[string]SkillExtensions `json:"skills,omitempty"`

	ProviderTools       []string                    `json:"providerTools,omitempty"`
	ProviderSkills      []expert.ProviderSkill      `json:"providerSkills,omitempty"`
	ProviderToolOptions *expert.ProviderToolOptions `json:"providerToolOptions,omitzero"`

	Model    string `json:"model,omitzero"`
	Provider string `json:"provider,omitzero"`
	Limits   Limits `json:"limits,omitzero"`

	RuntimeRange string   `json:"runtimeRange,omitzero"` // >= and the oldest release that can run it
	License      string   `json:"license,omitzero"`
	Repository   string   `json:"repository,omitzero"`
	Readme       string   `json:"readme,omitzero"`
	Keywords     []string `json:"keywords,omitempty"`
}

// SkillExtensions are the same for a skill.
type SkillExtensions struct {
	AllowedDomains []string          `json:"allowedDomains,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
	LazyInit       bool              `json:"lazyInit,omitzero"`
	ToolPrefix     bool              `json:"toolPrefix,omitzero"`
	StartTimeoutMS int64             `json:"startTimeoutMs,omitzero"`
	CallTimeoutMS  int64             `json:"callTimeoutMs,omitzero"`

	Sandbox   expert.SandboxLevel   `json:"sandbox,omitzero"`
	Workspace expert.WorkspaceRight `json:"workspace,omitzero"`
}

// Limits are those of one Run. Money is in millionths of a US dollar.
type Limits struct {
	MaxSteps      int   `json:"maxSteps,omitzero"`
	MaxTokens     int64 `json:"maxTokens,omitzero"`
	MaxCostMicros int64 `json:"maxCostMicros,omitzero"`
	MaxDurationMS int64 `json:"maxDurationMs,omitzero"`
}

// Key is the name and the exact version.
func (d *Definition) Key() string { return d.Name + "@" + d.Version }
