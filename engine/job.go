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

// A Job is what the engine is asked to do.
type Job struct {
	ID     string // of a new job, or of the one to go on with
	RunID  string // of the coordinator's Run, if it begins one; empty for a new id
	Expert *expert.Expert
	Input  Input

	// Lookup finds an Expert that may be delegated to; nil when there is none. It is called
	// from several goroutines, like Price.
	Lookup func(key string) (*expert.Expert, bool)

	Limits      expert.Limits // of all Runs of the job together; steps are always limited
	MaxDepth    int           // Experts on one path of delegation; 0 means the default
	MaxParallel int           // Runs at once; 0 means the default
	MaxRetries  int           // consecutive failures of one generation
	Timeout     time.Duration // of one generation; 0 for none
	Reasoning   expert.ReasoningBudget

	// MaxOutput is how many tokens an answer of the model can have; 0 when unknown.
	MaxOutput int
	// Price is what a model costs; nil when there is no limit on cost.
	Price func(provider, model string) (expert.Price, bool)

	// What follows is recorded and shown, and changes nothing else.
	Experts       []string // keys of all Experts at hand
	Provider      string
	ModelName     string
	ContextWindow int          // tokens; 0 when unknown
	Runtime       string       // local, docker, ...
	Walls         *event.Walls // nil when nothing was chosen for a container
	Version       string       // of perstack
	Workspace     string       // as the model is told
}

// author names the model that writes the Expert's messages.
func (j Job) author() string {
	if j.Provider == "" {
		return j.ModelName
	}
	return j.Provider + "/" + j.ModelName
}

// An Input says what the user wants from the job now.
type Input struct {
	// Query is a new task, for a new job or for one that goes on.
	Query string
	// Continue goes on with the recorded job. Without a query and an answer, the Run
	// that was left unfinished is resumed.
	Continue bool
	// From is the checkpoint to go on from. Empty means the newest.
	From string
	// Answer is what the user says to a waiting interactive tool. Without a
	// ToolCallID it answers the first one that waits.
	Answer *event.ToolAnswer
}

// Parts are what the engine works with.
type Parts struct {
	Model model.Model
	// Skills starts an Expert's skills. It is called when the run has been announced, on
	// a goroutine of its own.
	Skills func(context.Context, SkillRequest) (*skill.Toolbox, error)
	Store  store.Store
	Source Source

	Listener

	// Redact takes secrets out of text that comes in (redact.go); nil leaves it as it
	// is. It is called from several goroutines.
	Redact func(string) string

	// Parallel is how many tool calls of one turn run at once; 0 means 16.
	Parallel int
	Log      *slog.Logger
}

// A SkillRequest says whose skills are to be started, and whom to tell about them.
type SkillRequest struct {
	Expert *expert.Expert
	// Delegates are the Experts that it can call, as tools.
	Delegates []*expert.Expert
	// Delegated says that another Expert asked: nobody is there to answer questions.
	Delegated bool
	// Report publishes what happens to skills, for as long as the run lasts. It may be
	// called from any goroutine and never waits.
	Report func(event.Body)
	// Stop ends the run with an error, like a [StopError] as the cause of a
	// cancellation. It may be called from any goroutine.
	Stop func(error)
}

// A Listener is told what happens. All its functions are called from the goroutine of
// [Execute], in the order of the events. An error of any means that nobody listens any more: the
// run is stopped and saved.
type Listener struct {
	// Emit receives every event, once it is recorded if it is one of those that are.
	Emit func(event.Event) error
	// Full says that Emit wants events in their full form. Else it gets what the journal
	// has, and of questions to the user or to other Experts also the calls.
	Full bool
	// Record receives every record of the journal.
	Record func(store.Record) error
}

// A Result says how a job was left.
type Result struct {
	JobID        string
	RunID        string
	CheckpointID string
	Status       event.Status
	TotalSteps   int              // of all Runs of the job
	Text         string           // the answer, when completed
	Pending      []event.ToolCall // what waits for the user
	Failure      *event.Failure   // why it was stopped, when by an error
	Reason       string           // why it was interrupted, or which limit it met
	Limit        *LimitError      // the limit it met, when stopped by one
	Usage        event.Usage      // of the coordinator's conversation
}
