package engine

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
)

// Phase is the place of a Run in the circle. Each phase is left by an event.
type Phase int

// The phases, with the events that lead out of each.
const (
	Init                   Phase = iota // startRun
	PreparingForStep                    // startGeneration, resumeToolCalls, finishAllToolCalls
	GeneratingToolCall                  // callTools, completeRun, retry, stopRunByError
	CallingTool                         // resolveToolResults, attemptCompletion, callDelegate, callInteractiveTool, completeRun
	ResolvingToolResult                 // finishToolCall
	GeneratingRunResult                 // completeRun, retry (transport), stopRunByError
	CallingDelegate                     // stopRunByDelegate
	CallingInteractiveTool              // stopRunByInteractiveTool
	FinishingStep                       // continueToNextStep, stopRunByExceededMaxSteps, stopRunByLimit
	Stopped                             // startRun, when the Run goes on
)

// A State is where a Run stands: the fold of its events. States are values that share
// what they have in common; none is changed after it was made.
type State struct {
	Phase        Phase
	Status       event.Status
	JobID        string
	RunID        string
	CheckpointID string // of the checkpoint that the current step will leave
	StepNumber   int
	Expert       event.ExpertRef
	Definition   string // digest of the Expert's definition
	Task         string // what the Run, or the one before it, was asked
	DelegatedBy  *event.Parent
	Provider     string
	Model        string
	Runtime      string
	Workspace    string

	Instruction *event.Message
	Thread      Thread

	Step          Step
	Usage         event.Usage // of the conversation
	Spent         Spent       // by this Run
	LastUsage     event.Usage // of the newest generation
	Unmeasured    int         // bytes of conversation that no usage has counted yet
	ContextWindow int
	Warned        []string   // limits of which it was said that most is used
	Repeated      repetition // the newest call, and how often it was made in a row
	Turn          int        // generations so far in this conversation
	RetryCount    int        // consecutive generations that failed, for whatever reason
	Attempt       int        // how often the current generation failed in transport
	RetryDelayMS  int64
	Failure       *event.Failure
	StopReason    string                    // why it was interrupted, or which limit it met
	Memory        map[string]jsontext.Value // what skills want to find again, by skill name
}

// A Step is the turn that a Run is in.
type Step struct {
	Input      []*event.Message // what the Run started with, in its first step
	Messages   []*event.Message // produced in this step
	Calls      []Call           // of the generation, in the order in which they are answered
	Answered   bool             // the results of Calls are in the conversation
	Usage      event.Usage
	StartedAt  int64
	FinishedAt int64
}

// A Call is a tool call and how far it is.
type Call struct {
	event.ToolCall
	Started bool               // its tool may have had an effect
	Child   *event.DelegateRun // who works on it, if that is another Expert
	Result  *event.ToolResult
}

// Spent is what a Run has used up of what is limited.
type Spent struct {
	Steps int
	Usage event.Usage
}

// open returns the calls of the current step that the conversation has no results
// for yet; nil when there are none.
func (s State) open() []Call {
	if s.Step.Answered {
		return nil
	}
	return s.Step.Calls
}

// Pending returns the calls that have no result yet.
func (s State) Pending() []event.ToolCall {
	var pending []event.ToolCall
	for _, c := range s.open() {
		if c.Result == nil {
			pending = append(pending, c.ToolCall)
		}
	}
	return pending
}

// results returns the results so far, in call order.
func results(calls []Call) []event.ToolResult {
	done := []event.ToolResult{}
	for _, c := range calls {
		if c.Result != nil {
			done = append(done, *c.Result)
		}
	}
	return done
}

func toolCalls(calls []Call) []event.ToolCall {
	var all []event.ToolCall
	for _, c := range calls {
		all = append(all, c.ToolCall)
	}
	return all
}

// Messages returns the whole conversation, instruction first.
func (s State) Messages() []*event.Message {
	if s.Instruction == nil {
		return s.Thread.messagesAfter()
	}
	return s.Thread.messagesAfter(s.Instruction)
}

// lastExpertMessage returns the message that the current step's generation produced.
func (s State) lastExpertMessage() *event.Message {
	for l := s.Thread.last; l != nil; l = l.prev {
		if l.message.Type == event.ExpertMessage {
			return l.message
		}
	}
	return nil
}

// Checkpoint returns s in the shape that programs outside read.
func (s State) Checkpoint() *event.Checkpoint {
	cp := &event.Checkpoint{
		ID:          s.CheckpointID,
		JobID:       s.JobID,
		RunID:       s.RunID,
		Status:      s.Status,
		StepNumber:  s.StepNumber,
		Messages:    s.Messages(),
		Expert:      s.Expert,
		DelegatedBy: s.DelegatedBy,
		Usage:       s.Usage,
		Metadata:    s.metadata(),
		Error:       s.Failure,
		RetryCount:  s.RetryCount,
	}
	if s.ContextWindow > 0 {
		// The size of the last prompt and its answer. Accumulated usage would
		// pass the window after a few steps and mean nothing.
		share := float64(s.LastUsage.InputTokens+s.LastUsage.OutputTokens) / float64(s.ContextWindow)
		cp.ContextWindow, cp.ContextWindowUsage = s.ContextWindow, &share
	}
	if calls := s.open(); len(calls) > 0 {
		cp.PendingToolCalls, cp.PartialToolResults = s.Pending(), results(calls)
		if s.Status == event.StatusStoppedByDelegate {
			cp.DelegateTo, cp.PendingToolCalls = delegations(calls)
		}
	}
	return cp
}

// delegations returns what is handed to other Experts, and the other calls that are open.
func delegations(calls []Call) (to []event.Delegation, others []event.ToolCall) {
	for _, c := range calls {
		switch {
		case c.Result != nil:
		case c.Child == nil:
			others = append(others, c.ToolCall)
		default:
			to = append(to, event.Delegation{Expert: c.Child.Expert, ToolCallID: c.ID, ToolName: c.ToolName, Query: query(c.Args)})
		}
	}
	return to, others
}

// metadata is what a checkpoint says beyond the fields that all runtimes have.
func (s State) metadata() map[string]jsontext.Value {
	all := make(map[string]jsontext.Value)
	if s.Runtime != "" {
		all["runtime"] = mustEncode(s.Runtime)
	}
	if len(s.Memory) > 0 {
		all["skills"] = mustEncode(s.Memory)
	}
	return all
}

// mustEncode encodes a value of strings and valid JSON, which cannot fail.
func mustEncode(v any) jsontext.Value {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("engine: " + err.Error())
	}
	return data
}

// stepView returns the current step in the shape that programs outside read.
func (s State) stepView() *event.Step {
	step := &event.Step{
		StepNumber:    s.StepNumber,
		InputMessages: append([]*event.Message{}, s.Step.Input...),
		NewMessages:   append([]*event.Message{}, s.Step.Messages...),
		ToolCalls:     toolCalls(s.Step.Calls),
		ToolResults:   results(s.Step.Calls),
		Usage:         s.Step.Usage,
		StartedAt:     s.Step.StartedAt,
		FinishedAt:    s.Step.FinishedAt,
	}
	if calls := s.open(); len(calls) > 0 {
		step.PendingToolCalls, step.PartialToolResults = s.Pending(), results(calls)
	}
	return step
}
