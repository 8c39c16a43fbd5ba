package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store"
)

// A Job says what to run.
type Job struct {
	ID     string // of a new job, or of the recorded one to continue
	RunID  string // for the coordinator's Run if it is a new one; empty for a generated id
	Expert *expert.Expert
	Input  Input

	// Lookup finds an Expert that can be delegated to; nil if there are none. Like Price,
	// it is called from several goroutines.
	Lookup func(key string) (*expert.Expert, bool)

	Limits      expert.Limits // for all Runs of the job together; steps are always limited
	MaxDepth    int           // Experts on one path of delegation; 0 means the default
	MaxParallel int           // Runs that work at the same time; 0 means the default
	MaxRetries  int           // consecutive failures of one generation
	Timeout     time.Duration // of one generation; 0 for none
	Reasoning   expert.ReasoningBudget

	// MaxOutput is the largest number of tokens in one answer of the model; 0 if unknown.
	MaxOutput int
	// Price returns what a model costs; nil if cost is not limited.
	Price func(provider, model string) (expert.Price, bool)

	// The remaining fields are recorded and shown, and have no other effect.
	Experts       []string // keys of all available Experts
	Provider      string
	ModelName     string
	ContextWindow int          // tokens; 0 if unknown
	Runtime       string       // local, docker, ...
	Walls         *event.Walls // isolation settings of the container; nil for the defaults
	Version       string       // of perstack
	Workspace     string       // as the model is told
}

// author returns the model's name as it is recorded in the Expert's messages.
func (j Job) author() string {
	if j.Provider == "" {
		return j.ModelName
	}
	return j.Provider + "/" + j.ModelName
}

// An Input says what the user wants from the job now.
type Input struct {
	// Query is a new task, for a new job or for one that is continued.
	Query string
	// Continue continues the recorded job. Without a query or an answer, its unfinished
	// Run is resumed.
	Continue bool
	// From is the checkpoint to start from. Empty means the newest.
	From string
	// Answer is the user's answer to a waiting interactive tool. Without a ToolCallID it
	// answers the first call that waits.
	Answer *event.ToolAnswer
}

// Parts are the live things that the engine works with.
type Parts struct {
	Model model.Model
	// Skills starts an Expert's skills. It is called after the Run was announced, on a
	// goroutine of its own.
	Skills func(context.Context, SkillRequest) (*skill.Toolbox, error)
	Store  store.Store
	Source Source

	// History is the fold of the journal of a job that is continued, if the caller has
	// folded it already; nil otherwise. The engine changes it, so the caller must not use
	// it any more. If the journal was written since, nothing is started and an [Error] of
	// kind [KindInput] is returned.
	History *History

	Listener Listener

	// Redact removes secrets from incoming text (redact.go); nil leaves it unchanged. It
	// is called from several goroutines.
	Redact func(string) string

	// Parallel is how many tool calls of one turn run at the same time; 0 means 16.
	Parallel int
	Log      *slog.Logger
}

// A SkillRequest says which skills to start, and how they can reach the Run.
type SkillRequest struct {
	Expert *expert.Expert
	// Delegates are the Experts that it can call as tools.
	Delegates []*expert.Expert
	// Delegated says that another Expert delegated the task, so no user is there to answer
	// questions.
	Delegated bool
	// Report publishes an event about a skill. It can be called from any goroutine until
	// the Run ends, and never blocks.
	Report func(event.Body)
	// Stop ends the Run with an error, like a [StopError] as the cause of a cancellation.
	// It can be called from any goroutine.
	Stop func(error)
}

// A Listener receives what happens. Its functions are called from the goroutine of
// [Execute], in the order of the events. If one of them returns an error, the listener gets
// no more events, and the job is stopped and saved.
type Listener struct {
	// Emit receives every event, after it was recorded if it is of a recorded kind.
	Emit func(event.Event) error
	// Full makes Emit receive events in their full form. Otherwise it receives what the
	// journal has, and the calls in events that ask the user or a delegate.
	Full bool
	// Record receives every record of the journal.
	Record func(store.Record) error
}

// A Result says how a job ended, or where it stopped.
type Result struct {
	JobID        string
	RunID        string
	CheckpointID string
	Status       event.Status
	TotalSteps   int              // of all Runs of the job
	Text         string           // the answer, if completed
	Pending      []event.ToolCall // calls that wait for the user
	Failure      *event.Failure   // the error, if stopped by one
	Reason       string           // why it was interrupted, or the name of the limit it reached
	Limit        *LimitError      // the limit it reached, if stopped by one
	Usage        event.Usage      // of the coordinator's conversation
}
