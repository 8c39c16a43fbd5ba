package event

import "github.com/perstack-go/perstack/rawjson"

// This file holds the events that move a Run from one state to the next. A field
// marked "full" is absent from the journal and filled in for full output; a field
// marked "lean" is how the journal says the same.

// StartRun starts or resumes a Run.
type StartRun struct {
	InitialCheckpoint *Checkpoint   `json:"initialCheckpoint,omitzero"` // full
	InputMessages     []*Message    `json:"inputMessages"`
	Attachments       []Attachment  `json:"attachments,omitempty"`  // that the last of these messages holds
	CheckpointID      string        `json:"checkpointId,omitzero"`  // lean: the id of the checkpoint that this step will leave
	Expert            ExpertRef     `json:"expert,omitzero"`        // lean
	Definition        string        `json:"definition,omitzero"`    // digest of the Expert's definition
	From              *Origin       `json:"from,omitzero"`          // the checkpoint that this Run continues from
	Answers           []ToolResult  `json:"answers,omitempty"`      // results that came from outside: the user's, or those of delegates in call order
	Delegates         []DelegateRun `json:"delegates,omitempty"`    // on a new branch: the Runs for calls that are still open
	DelegatedBy       *Parent       `json:"delegatedBy,omitzero"`   // lean
	ContextWindow     int           `json:"contextWindow,omitzero"` // lean
	Provider          string        `json:"provider,omitzero"`
	Model             string        `json:"model,omitzero"`
	Runtime           string        `json:"runtime,omitzero"`
	// Spec is what the job runs, as job.Spec.Recorded writes it. The coordinator's Run has it
	// when the job starts or is continued.
	Spec rawjson.Value `json:"spec,omitzero"`
	// Imported says that the job was recorded by another program. The first record has it.
	Imported *Import `json:"imported,omitzero"`
	// TrustedHistory says that the user chose to believe what is before this record, whether or not
	// it is sealed.
	TrustedHistory bool `json:"trustedHistory,omitzero"`
	// Plan says that the Run only plans. For the coordinator, that ends with [PlanAccepted].
	Plan bool `json:"plan,omitzero"`
	Extra
}

// An Import says where a job came from that this program did not record.
type Import struct {
	Program string                   `json:"program"` // that recorded the job
	Path    string                   `json:"path"`    // of the directory that it was read from
	At      int64                    `json:"at"`      // milliseconds since the Unix epoch
	Unknown map[string]rawjson.Value `json:",embed"`
}

// parent returns the Run that delegated, in either form.
func (b StartRun) parent() *Parent {
	if b.DelegatedBy == nil && b.InitialCheckpoint != nil {
		return b.InitialCheckpoint.DelegatedBy
	}
	return b.DelegatedBy
}

// An Origin is the address of a checkpoint in the journal.
type Origin struct {
	RunID        string                   `json:"runId"`
	CheckpointID string                   `json:"checkpointId"`
	Seq          int64                    `json:"seq"` // the record after which the checkpoint stands
	Unknown      map[string]rawjson.Value `json:",embed"`
}

// StartGeneration says that the model is about to be asked.
type StartGeneration struct {
	Messages []*Message `json:"messages,omitzero"` // full
	Extra
}

// ResumeToolCalls says that a Run continues with calls that were still open.
type ResumeToolCalls struct {
	PendingToolCalls   []ToolCall   `json:"pendingToolCalls,omitzero"`   // full
	PartialToolResults []ToolResult `json:"partialToolResults,omitzero"` // full
	Extra
}

// ToolMessageRef is how the journal writes a tool message: its ids. The contents are
// the results, which were recorded when they came.
type ToolMessageRef struct {
	ID      string                   `json:"id"`
	PartIDs []string                 `json:"partIds"`
	Unknown map[string]rawjson.Value `json:",embed"`
}

// FinishAllToolCalls says that all calls which were open when the Run resumed have results.
type FinishAllToolCalls struct {
	NewMessages []*Message      `json:"newMessages,omitzero"` // full
	ToolMessage *ToolMessageRef `json:"toolMessage,omitzero"` // lean
	Extra
}

// CallTools says that the model answered with tool calls.
type CallTools struct {
	NewMessage *Message   `json:"newMessage,omitzero"`
	ToolCalls  []ToolCall `json:"toolCalls"` // the journal leaves out their args
	Usage      Usage      `json:"usage"`
	Extra
}

// StartToolCall is written before a tool runs. A call that has this record and no
// [EndToolCall] may or may not have had its effect.
type StartToolCall struct {
	ToolCallID string `json:"toolCallId"`
	AllowedBy  string `json:"allowedBy,omitzero"` // the rule, grant or answer that allows it; empty for what is always allowed
	Extra
}

// EndToolCall holds the result of one call, written as soon as it came.
type EndToolCall struct {
	ToolResult ToolResult    `json:"toolResult"`
	Denied     bool          `json:"denied,omitzero"` // a rule or the user refused the call, so its tool did not run
	Memory     rawjson.Value `json:"memory,omitzero"` // what the skill wants to find again when this conversation is resumed
	Extra
}

// CallDelegate says that the Run waits for other Experts. The calls themselves are in the
// [CallTools] of the same Run. A Run that resumes while delegates are unfinished records it
// again, with the same Runs.
type CallDelegate struct {
	NewMessage *Message      `json:"newMessage,omitzero"` // full: the message of [CallTools] again
	ToolCalls  []ToolCall    `json:"toolCalls,omitzero"`  // full: those of other Experts
	Delegates  []DelegateRun `json:"delegates,omitempty"` // lean
	Usage      *Usage        `json:"usage,omitzero"`      // full: the usage of [CallTools] again; never add it up
	Extra
}

// A DelegateRun says which Run works on a call of a delegate. It is recorded before that Run
// starts, so a resumed parent finds the same Run again.
type DelegateRun struct {
	ToolCallID string                   `json:"toolCallId"`
	RunID      string                   `json:"runId"`
	Expert     ExpertRef                `json:"expert"`
	From       *Origin                  `json:"from,omitzero"`       // on a new branch: the checkpoint that it continues from
	Query      string                   `json:"query,omitzero"`      // what the user adds there
	Delegates  []DelegateRun            `json:"delegates,omitempty"` // on a new branch: the Runs for calls that are open there
	Unknown    map[string]rawjson.Value `json:",embed"`
}

// CallInteractiveTool says that the Run waits for the user.
type CallInteractiveTool struct {
	NewMessage *Message  `json:"newMessage,omitzero"` // full: the message of [CallTools] again
	ToolCall   *ToolCall `json:"toolCall,omitzero"`   // full
	ToolCallID string    `json:"toolCallId,omitzero"` // lean
	Usage      *Usage    `json:"usage,omitzero"`      // full: the usage of [CallTools] again; never add it up
	Extra
}

// ResolveToolResults says that every call of the step has its result.
type ResolveToolResults struct {
	ToolResults []ToolResult `json:"toolResults,omitzero"` // full
	Extra
}

// AttemptCompletion says that the Expert is done, and is asked for its final answer next.
type AttemptCompletion struct {
	ToolResult *ToolResult `json:"toolResult,omitzero"` // full
	Extra
}

// FinishToolCall puts the step's results into the conversation.
type FinishToolCall struct {
	NewMessages []*Message      `json:"newMessages,omitzero"` // full
	ToolMessage *ToolMessageRef `json:"toolMessage,omitzero"` // lean
	Extra
}

// Retry says that a generation failed and is repeated. A transport retry (the provider was
// busy, the connection broke) stays within the step and does not change the conversation.
// Otherwise the model is told what was wrong with its answer.
type Retry struct {
	Reason      string       `json:"reason"` // JSON text {"error","message"}
	NewMessages []*Message   `json:"newMessages"`
	ToolCalls   []ToolCall   `json:"toolCalls,omitempty"`
	ToolResults []ToolResult `json:"toolResults,omitempty"`
	Usage       Usage        `json:"usage"`
	Transport   bool         `json:"transport,omitzero"`
	DelayMS     int64        `json:"delayMs,omitzero"` // how long the runtime waits before a transport retry
	Extra
}

// ContinueToNextStep ends a step that is followed by another.
type ContinueToNextStep struct {
	End
	NextCheckpoint   *Checkpoint `json:"nextCheckpoint,omitzero"`   // full
	NextCheckpointID string      `json:"nextCheckpointId,omitzero"` // lean
	Extra
}

// End is what every event that finishes a step carries in full output.
type End struct {
	Checkpoint *Checkpoint `json:"checkpoint,omitzero"` // full
	Step       *Step       `json:"step,omitzero"`       // full
}

func (e End) checkpoint() *Checkpoint { return e.Checkpoint }

// CompleteRun ends a Run with an answer.
type CompleteRun struct {
	End
	Text        *string         `json:"text,omitzero"`        // full
	ToolMessage *ToolMessageRef `json:"toolMessage,omitzero"` // lean: stands before NewMessage
	NewMessage  *Message        `json:"newMessage,omitzero"`  // lean: the answer
	Usage       Usage           `json:"usage"`                // of the last generation only
	Extra
}

// StopRunByInteractiveTool stops a Run that waits for the user.
type StopRunByInteractiveTool struct {
	End
	Extra
}

// StopRunByDelegate stops a Run that waits for other Experts. The Run resumes under the same
// id when they have ended, with their results among the answers of its next [StartRun].
type StopRunByDelegate struct {
	End
	Extra
}

// StopRunByExceededMaxSteps ends a Run whose job used up its steps.
type StopRunByExceededMaxSteps struct {
	End
	Usage Usage `json:"usage,omitzero"` // of an answer that was cancelled
	Extra
}

// StopRunByError ends a Run by a failure that a retry cannot fix.
type StopRunByError struct {
	End
	Error Failure `json:"error"`
	Usage Usage   `json:"usage,omitzero"` // of the generation that failed
	Extra
}

// Limits that [StopRunByLimit] and [LimitWarning] name. The steps have an end of their
// own, [StopRunByExceededMaxSteps].
const (
	LimitSteps     = "steps"
	LimitToolCalls = "toolCalls"
	LimitTokens    = "tokens"
	LimitCost      = "cost"
	LimitDuration  = "duration"
	LimitDepth     = "depth"
	LimitLoop      = "loop"
	LimitWorkspace = "workspace"
	LimitDisk      = "disk"     // what programs in a sandbox added to the disk
	LimitMemory    = "memory"   // what programs in a sandbox used at once
	LimitDenials   = "denials"  // calls of one Run that were refused
	LimitSnapshot  = "snapshot" // the files of the workspace cannot be stored, and must be
)

// LimitContext is what [LimitWarning] calls the model's context window, in tokens.
const LimitContext = "context"

// LimitInput is what [LimitWarning] calls input that seems to have been cut: Used is what the
// provider counted, Max what was sent by our estimate, in tokens.
const LimitInput = "input"

// StopRunByLimit ends a Run by a limit other than the number of steps.
type StopRunByLimit struct {
	End
	Limit string `json:"limit"`
	Usage Usage  `json:"usage,omitzero"` // of an answer that was cancelled
	Extra
}

// StopRunByInterrupt stops a Run because of a signal, a closed output, a cancelled context, or
// (recorded when the job is opened again) the sudden end of the process.
type StopRunByInterrupt struct {
	End
	Reason string `json:"reason"`
	Usage  Usage  `json:"usage,omitzero"` // of an answer that was cancelled
	Extra
}

// LimitWarning says that most of a limit is used, or all of it: then the end follows.
type LimitWarning struct {
	Limit string  `json:"limit"`
	Used  float64 `json:"used"`
	Max   float64 `json:"max"`
	// NewMessage tells the model, in one sentence, and is part of the conversation from
	// here on. It is absent when the model is not told.
	NewMessage *Message `json:"newMessage,omitzero"`
	Extra
}

// DefinitionChanged says that the definition of the Expert has changed since the Run was
// last active. Before and After are digests.
type DefinitionChanged struct {
	Expert string `json:"expert"`
	Before string `json:"before"`
	After  string `json:"after"`
	Extra
}

// RuntimeNote tells the model something about its surroundings that the conversation does not say.
type RuntimeNote struct {
	NewMessage *Message `json:"newMessage,omitzero"`
	Extra
}
