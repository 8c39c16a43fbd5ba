package event

import "github.com/perstack-go/perstack/rawjson"

// Status says how far a Run is.
type Status string

// The statuses of a [Checkpoint].
const (
	StatusInit                      Status = "init"
	StatusProceeding                Status = "proceeding"
	StatusCompleted                 Status = "completed"
	StatusStoppedByInteractiveTool  Status = "stoppedByInteractiveTool"
	StatusStoppedByDelegate         Status = "stoppedByDelegate"
	StatusStoppedByExceededMaxSteps Status = "stoppedByExceededMaxSteps"
	StatusStoppedByError            Status = "stoppedByError"
	StatusStoppedByLimit            Status = "stoppedByLimit"
	StatusStoppedByInterrupt        Status = "stoppedByInterrupt"
	StatusStoppedByApproval         Status = "stoppedByApproval"
)

// ExpertRef names an Expert as it was when it ran.
type ExpertRef struct {
	Key     string                   `json:"key"`
	Name    string                   `json:"name"`
	Version string                   `json:"version"`
	Unknown map[string]rawjson.Value `json:",embed"`
}

// A Delegation is one call that hands work to another Expert. [Checkpoint.DelegateTo] lists
// those that the Run waits for, in call order; its PendingToolCalls are the other open ones.
type Delegation struct {
	Expert     ExpertRef                `json:"expert"`
	ToolCallID string                   `json:"toolCallId"`
	ToolName   string                   `json:"toolName"`
	Query      string                   `json:"query"`
	Unknown    map[string]rawjson.Value `json:",embed"`
}

// A Parent links a delegated Run to the call that started it.
type Parent struct {
	Expert       ExpertRef                `json:"expert"`
	ToolCallID   string                   `json:"toolCallId"`
	ToolName     string                   `json:"toolName"`
	CheckpointID string                   `json:"checkpointId"`
	RunID        string                   `json:"runId,omitzero"` // missing in older data
	Unknown      map[string]rawjson.Value `json:",embed"`
}

// A Failure is an error that ended a Run or a generation, without secrets.
type Failure struct {
	Name        string                   `json:"name"`
	Message     string                   `json:"message"`
	StatusCode  int                      `json:"statusCode,omitzero"`
	IsRetryable bool                     `json:"isRetryable"`
	Unknown     map[string]rawjson.Value `json:",embed"`
}

// ProviderFailure is the name of a failure of a provider. Users of the original know it from
// events; for people, [Failure.Title] has another.
const ProviderFailure = "AI_APICallError"

// Title is the name of the failure for people.
func (f Failure) Title() string {
	switch f.Name {
	case "":
		return "Error"
	case ProviderFailure:
		return "Provider Error"
	}
	return f.Name
}

// A Checkpoint is the state of a Run after a step, complete enough to resume from.
// It is derived: the journal keeps the events it is folded from.
type Checkpoint struct {
	ID                 string                   `json:"id"`
	JobID              string                   `json:"jobId"`
	RunID              string                   `json:"runId"`
	Status             Status                   `json:"status"`
	StepNumber         int                      `json:"stepNumber"`
	Messages           []*Message               `json:"messages"`
	Expert             ExpertRef                `json:"expert"`
	DelegateTo         []Delegation             `json:"delegateTo,omitempty"` // what the Run waits for, a call each
	DelegatedBy        *Parent                  `json:"delegatedBy,omitzero"`
	Usage              Usage                    `json:"usage"`
	ContextWindow      int                      `json:"contextWindow,omitzero"`
	ContextWindowUsage *float64                 `json:"contextWindowUsage,omitzero"` // absent when the window is unknown
	PendingToolCalls   []ToolCall               `json:"pendingToolCalls,omitempty"`
	PartialToolResults []ToolResult             `json:"partialToolResults,omitzero"`
	Metadata           map[string]rawjson.Value `json:"metadata,omitempty"`
	Error              *Failure                 `json:"error,omitzero"`
	RetryCount         int                      `json:"retryCount"`
	Unknown            map[string]rawjson.Value `json:",embed"`
}

// A Step is one turn of the loop.
type Step struct {
	StepNumber         int                      `json:"stepNumber"`
	InputMessages      []*Message               `json:"inputMessages,omitzero"`
	NewMessages        []*Message               `json:"newMessages"`
	ToolCalls          []ToolCall               `json:"toolCalls,omitempty"`
	ToolResults        []ToolResult             `json:"toolResults,omitempty"`
	PendingToolCalls   []ToolCall               `json:"pendingToolCalls,omitempty"`
	PartialToolResults []ToolResult             `json:"partialToolResults,omitempty"`
	Usage              Usage                    `json:"usage"` // of this step only
	StartedAt          int64                    `json:"startedAt"`
	FinishedAt         int64                    `json:"finishedAt,omitzero"`
	Unknown            map[string]rawjson.Value `json:",embed"`
}
