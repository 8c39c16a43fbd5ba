package engine

import (
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
	Walls        *event.Walls // what was chosen for the container; nil for nothing
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
