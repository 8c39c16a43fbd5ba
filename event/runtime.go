package event

import "github.com/perstack-go/perstack/rawjson"

// This file holds the events about the runtime around a Run.

// InitializeRuntime comes before the skills of a Run start, also when the Run resumes.
type InitializeRuntime struct {
	RuntimeVersion      string      `json:"runtimeVersion"`
	Runtime             string      `json:"runtime,omitzero"`
	ExpertName          string      `json:"expertName"`
	Experts             []string    `json:"experts"` // keys
	Model               string      `json:"model"`
	MaxSteps            int         `json:"maxSteps,omitzero"`
	MaxRetries          int         `json:"maxRetries"`
	Timeout             int64       `json:"timeout"` // milliseconds a generation
	Query               string      `json:"query,omitzero"`
	InteractiveToolCall *ToolAnswer `json:"interactiveToolCall,omitzero"`
	Extra
}

// A ToolAnswer is the user's answer to an interactive tool call.
type ToolAnswer struct {
	ToolCallID string                   `json:"toolCallId"`
	ToolName   string                   `json:"toolName"`
	SkillName  string                   `json:"skillName"`
	Text       string                   `json:"text"`
	Unknown    map[string]rawjson.Value `json:",embed"`
}

// SkillStarting precedes the start of a skill's process.
type SkillStarting struct {
	SkillName string   `json:"skillName"`
	Command   string   `json:"command"`
	Args      []string `json:"args"`
	Extra
}

// ServerInfo is how an MCP server names itself.
type ServerInfo struct {
	Name    string                   `json:"name"`
	Version string                   `json:"version"`
	Unknown map[string]rawjson.Value `json:",embed"`
}

// SkillConnected says that a skill is ready, and what that took in milliseconds.
type SkillConnected struct {
	SkillName               string      `json:"skillName"`
	ServerInfo              *ServerInfo `json:"serverInfo,omitzero"`
	SpawnDurationMS         *int64      `json:"spawnDurationMs,omitzero"`
	HandshakeDurationMS     *int64      `json:"handshakeDurationMs,omitzero"`
	ToolDiscoveryDurationMS *int64      `json:"toolDiscoveryDurationMs,omitzero"`
	ConnectDurationMS       *int64      `json:"connectDurationMs,omitzero"` // spawn and handshake
	TotalDurationMS         *int64      `json:"totalDurationMs,omitzero"`
	Extra
}

// SkillStderr is something that a skill's process wrote to its standard error.
type SkillStderr struct {
	SkillName string `json:"skillName"`
	Message   string `json:"message"`
	Extra
}

// SkillDisconnected says that a skill was closed.
type SkillDisconnected struct {
	SkillName string `json:"skillName"`
	Extra
}

// ToolProgress is a note from a running tool.
type ToolProgress struct {
	ToolCallID string `json:"toolCallId"`
	Message    string `json:"message"`
	Extra
}

// DockerBuildProgress says how far an image is.
type DockerBuildProgress struct {
	Stage    string   `json:"stage"` // pulling, building, complete, error
	Service  string   `json:"service"`
	Message  string   `json:"message"`
	Progress *float64 `json:"progress,omitzero"`
	Extra
}

// DockerContainerStatus says how a container is.
type DockerContainerStatus struct {
	Status  string `json:"status"` // starting, running, healthy, unhealthy, stopped, error
	Service string `json:"service"`
	Message string `json:"message,omitzero"`
	Extra
}

// ProxyAccess is one decision of the egress proxy.
type ProxyAccess struct {
	Action   string `json:"action"` // allowed, blocked
	Domain   string `json:"domain"`
	Port     int    `json:"port"`
	Reason   string `json:"reason,omitzero"`
	Listener string `json:"listener,omitzero"` // "engine", or Expert and skill
	Command  string `json:"command,omitzero"`  // the name of the program, if only one can have asked
	Extra
}

// SandboxCheck is the outcome of a probe of the sandbox.
type SandboxCheck struct {
	Check   string `json:"check"`
	OK      bool   `json:"ok"`
	Message string `json:"message,omitzero"` // what was found
	Extra
}

// SandboxHint says why a program in a sandbox probably failed. It is a guess from what the program
// printed.
type SandboxHint struct {
	Kind      string `json:"kind"`               // network, outside, hidden, readonly, gitconfig
	Path      string `json:"path,omitzero"`      // relative to the workspace if it is in it
	Host      string `json:"host,omitzero"`      // empty if the program did not name it
	SkillName string `json:"skillName,omitzero"` // whose program it is
	Command   string `json:"command,omitzero"`   // the name of the program
	Message   string `json:"message"`            // what the model is told
	Extra
}
