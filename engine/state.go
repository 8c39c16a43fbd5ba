package engine

import (
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
)

// A phase is what a Run does next. An event leads from one phase to another.
type phase int

// The phases, with the events that lead out of each.
const (
	notStarted             phase = iota // startRun
	preparingForStep                    // startGeneration, resumeToolCalls, finishAllToolCalls
	generatingToolCall                  // callTools, completeRun, retry, stopRunByError
	callingTool                         // stopRunByApproval, resolveToolResults, attemptCompletion, callDelegate, callInteractiveTool, completeRun
	resolvingToolResult                 // finishToolCall
	generatingRunResult                 // completeRun, retry (transport), stopRunByError
	callingDelegate                     // stopRunByDelegate
	callingInteractiveTool              // endToolCall, stopRunByInteractiveTool
	finishingStep                       // continueToNextStep, stopRunByExceededMaxSteps, stopRunByLimit
	stopped                             // startRun, when the Run resumes
)

// A State is the state of a Run: the fold of its events. States are values that share their
// common parts. A State is never changed after it was made.
type State struct {
	phase        phase
	Status       event.Status
	JobID        string
	RunID        string
	CheckpointID string // of the checkpoint that the current step will leave
	StepNumber   int
	Expert       event.ExpertRef
	Definition   string // digest of the Expert's definition
	Task         string // the newest query of the conversation
	DelegatedBy  *event.Parent
	Provider     string
	Model        string
	Runtime      string
	Spec         rawjson.Value // of the job, as the coordinator's newest start recorded it
	plan         planStage

	Instruction *event.Message
	thread      *thread

	Step          Step
	Usage         event.Usage // of the conversation
	spent         expense     // by this Run
	lastUsage     event.Usage // of the newest generation
	unmeasured    int         // bytes of conversation that no usage has counted yet
	ContextWindow int
	warned        []string                  // limits that a warning was given for
	repeated      repetition                // the newest call, and how often it was made in a row
	denials       int                       // calls that a rule or the user refused, and what else the user denied
	leaving       []event.ApprovalRequested // open questions about leaving the sandbox
	opened        []event.ApprovalRequested // for paths outside of the sandbox that the user allowed to this Run
	Turn          int                       // generations so far in this conversation
	RetryCount    int                       // consecutive generations that failed for any reason
	Attempt       int                       // how often the current generation failed in transport
	retryDelayMS  int64
	Failure       *event.Failure
	StopReason    string                   // why it was interrupted, or the name of the limit it reached
	Memory        map[string]rawjson.Value // what skills store for a resume, by skill name
}

// A Step is the current turn of a Run.
type Step struct {
	Input      []*event.Message // what the Run started with, in its first step
	Messages   []*event.Message // produced in this step
	Calls      []Call           // of the generation, in the order in which they are answered
	Answered   bool             // the results of Calls are in the conversation
	Usage      event.Usage
	StartedAt  int64
	FinishedAt int64
}

// An expense is what a Run has used of what is limited.
type expense struct {
	Steps int
	Usage event.Usage
	cost  float64 // in US dollars; set where the price is known
}

// open returns the calls of the current step whose results are not in the conversation yet.
func (s State) open() []Call {
	if s.Step.Answered {
		return nil
	}
	return s.Step.Calls
}

// leavingBy returns which open question about leaving the sandbox an answer is about; -1 for none.
func (s State) leavingBy(b event.ApprovalAnswered) int {
	return slices.IndexFunc(s.leaving, func(a event.ApprovalRequested) bool { return a.ToolCallID == b.ToolCallID && a.Digest == b.Digest })
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

// Messages returns the whole conversation, instruction first.
func (s State) Messages() []*event.Message {
	if s.Instruction == nil {
		return s.thread.messages()
	}
	return slices.Insert(s.thread.messages(), 0, s.Instruction)
}

// lastExpertMessage returns the message that the current step's generation produced.
func (s State) lastExpertMessage() *event.Message {
	for t := s.thread; t != nil; t = t.prev {
		if t.message.Type == event.ExpertMessage {
			return t.message
		}
	}
	return nil
}

// parentID returns the id of the Run that delegated; empty for the coordinator.
func (s State) parentID() string {
	if s.DelegatedBy == nil {
		return ""
	}
	return s.DelegatedBy.RunID
}

// A thread is the messages of a conversation; nil if it has none. Threads are immutable
// linked lists: appending costs the same however long the conversation is, and two branches
// of a job share their common part.
type thread struct {
	prev    *thread
	message *event.Message // the newest
	length  int
}

// Append returns a thread with m added to t. t does not change.
func (t *thread) Append(m *event.Message) *thread { return &thread{t, m, t.Len() + 1} }

// Len returns the number of messages.
func (t *thread) Len() int {
	if t == nil {
		return 0
	}
	return t.length
}

// Last returns the newest message, or nil.
func (t *thread) Last() *event.Message {
	if t == nil {
		return nil
	}
	return t.message
}

// messages returns the messages of t, oldest first, as a new slice with space for an
// instruction.
func (t *thread) messages() []*event.Message {
	all := make([]*event.Message, t.Len(), t.Len()+1)
	for ; t != nil; t = t.prev {
		all[t.length-1] = t.message
	}
	return all
}
