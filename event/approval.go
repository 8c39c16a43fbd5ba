package event

import "github.com/perstack-go/perstack/rawjson"

// This file holds what a job asks its user: questions of an Expert, and the approval of tool calls.

// A Request is something that a job asks its user while it runs.
type Request struct {
	JobID     string
	RunID     string
	ExpertKey string
	// Question is the interactive tool call that waits for an answer.
	Question ToolCall
	// Approval is the tool call that waits for the user's permission; nil for a question.
	Approval *Approval
}

// An Answer is what the user says to a [Request].
type Answer struct {
	Text string // to a question
	// Allow, Scope and Reason answer an approval.
	Allow bool
	Scope string // how long it holds: one of the scopes; empty for once
	// Wide says that an answer for the project, or for always, is about the program and its
	// subcommand, whatever the other words of the command are.
	Wide   bool
	Reason string // why it is denied, for the model
}

// Scopes of an answer.
const (
	ScopeOnce    = "once" // of a path outside of the sandbox: until the Run ends
	ScopeJob     = "job"
	ScopeProject = "project"
	ScopeAlways  = "always"
)

// An Approval is a tool call that a rule says to ask about.
type Approval struct {
	Call    ToolCall
	Experts []string // keys, from the coordinator to the one that calls
	// Said is what the model wrote beside the call. It can be wrong, or meant to deceive.
	Said string
	// Number of Of says which one it is of those that are asked together; 0 for a single one.
	Number, Of int
	ApprovalRequested
}

// An Effect says what a tool call would do.
type Effect struct {
	Kind    EffectKind `json:"kind"`
	Program string     `json:"program,omitzero"` // of a command: the file that is run
	Argv    []string   `json:"argv,omitempty"`
	Dir     string     `json:"dir,omitzero"`  // that the command runs in
	Env     []string   `json:"env,omitempty"` // NAME=value, that the call sets
	Path    string     `json:"path,omitzero"`
	// Named is the path by which a program asked for Path, a directory outside of its sandbox. It is
	// what the program printed.
	Named string `json:"named,omitzero"`
	Diff  string `json:"diff,omitzero"` // of a file tool
	Host  string `json:"host,omitzero"` // host:port
	// Opaque says that what the command does cannot be seen in its words: it runs other programs, or a
	// file of the workspace.
	Opaque  bool                     `json:"opaque,omitzero"`
	Plan    string                   `json:"plan,omitzero"`
	Unknown map[string]rawjson.Value `json:",embed"`
}

// LeavesSandbox reports whether the effect is the use of something outside of the sandbox. A question
// about it comes while the call runs.
func (e Effect) LeavesSandbox() bool { return e.Kind == HostEffect || e.Kind == PathEffect }

// An EffectKind is the kind of an [Effect].
type EffectKind string

// The kinds of effects.
const (
	CommandEffect EffectKind = "command"
	FileEffect    EffectKind = "file"
	ToolEffect    EffectKind = "tool" // of a skill, described by the arguments of the call
	HostEffect    EffectKind = "host"
	PathEffect    EffectKind = "path" // outside of the sandbox
	PlanEffect    EffectKind = "plan"
)

// ApprovalRequested says that a tool call waits for the user's permission.
type ApprovalRequested struct {
	ToolCallID string    `json:"toolCallId"`
	ToolCall   *ToolCall `json:"toolCall,omitzero"` // shown; the journal leaves it out
	Effect     Effect    `json:"effect"`
	Sandbox    string    `json:"sandbox,omitzero"` // what holds the effects: a level of sandbox, docker, or empty for nothing
	Digest     string    `json:"digest"`           // of everything that the answer is about
	Rule       string    `json:"rule"`             // what decided to ask
	Why        string    `json:"why,omitzero"`     // of the rule
	Once       bool      `json:"once,omitzero"`    // the answer holds for this call only
	Expires    int64     `json:"expires"`          // when it counts as denied, in milliseconds since the Unix epoch
	Extra
}

// Who answers an [ApprovalRequested].
const (
	ByUser    = "user"
	ByTimeout = "timeout" // no answer came in time, so the call is denied
)

// ApprovalAnswered is the answer to [ApprovalRequested] with the same digest.
type ApprovalAnswered struct {
	ToolCallID string `json:"toolCallId"`
	Digest     string `json:"digest"`
	Allow      bool   `json:"allow"`
	By         string `json:"by"` // [ByUser] or [ByTimeout]
	Scope      string `json:"scope,omitzero"`
	Reason     string `json:"reason,omitzero"`
	Extra
}

// StopRunByApproval stops a Run that waits for the permission of the user.
type StopRunByApproval struct {
	End
	Extra
}

// PlanAccepted says that the user accepted the plan that a call proposes: the job no longer only
// plans.
type PlanAccepted struct {
	ToolCallID string `json:"toolCallId"`
	Extra
}
