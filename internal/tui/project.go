package tui

import (
	"context"
	"errors"
	"iter"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
)

// A Project is what the program works with: the Experts of a directory, its history, and the runtime.
// Its methods can take their time, so they are called by commands and never within Update. Several can be
// called at once.
type Project interface {
	// Experts returns those of perstack.toml, then those that were used recently.
	Experts(ctx context.Context) ([]Expert, error)
	// Jobs returns the newest jobs of the project, the newest first; all of them if most is 0.
	Jobs(ctx context.Context, most int) ([]Job, error)
	// Events yields what is recorded of a job, in the lean form. If follow is set, it continues with
	// what is added, until the job stops.
	Events(ctx context.Context, jobID string, follow bool) iter.Seq2[event.Event, error]
	// Doubt says in a few words why what is recorded of a job may not be true: it is not sealed, or not
	// as it should be. It is empty if nothing is wrong.
	Doubt(ctx context.Context, jobID string) string
	// Checkpoints returns those of a job, the newest first.
	Checkpoints(ctx context.Context, jobID string) ([]Checkpoint, error)
	// Diff returns how the files of the workspace differ now from those at a checkpoint.
	Diff(ctx context.Context, jobID, checkpointID string) (string, error)
	// Record returns the number of the journal's record that has an event, and the record itself.
	Record(ctx context.Context, jobID, eventID string) (number int64, line []byte, err error)
	// Delete removes a job and the files that only it needs.
	Delete(ctx context.Context, jobID string) error
	// Paths returns the files of the workspace, for completion. cut says that there are more.
	Paths(ctx context.Context) (paths []string, cut bool, err error)
	// Attach looks at a file that the user named.
	Attach(ctx context.Context, path string) (Attachment, error)
	// Inputs returns what the user entered in this project, the oldest first.
	Inputs(ctx context.Context) ([]string, error)
	// Remember adds what the user entered to what Inputs returns.
	Remember(ctx context.Context, input string) error
	// Run runs or continues a job and yields its events, including those of streams. When ctx is done,
	// the job is saved and its last events are still yielded. An error is the last that is yielded.
	Run(ctx context.Context, task Task, ask Asker) iter.Seq2[event.Event, error]
	// Resume returns the command that continues a job in a shell.
	Resume(jobID string) string
}

// ErrStopped is why the context of a job ends that the user stops. The journal records its text.
var ErrStopped = errors.New("stopped by the user")

// An Asker asks the user. A job calls it while Project.Run is under way.
type Asker interface {
	engine.Approver
	// Confirm asks a question before the job starts: whether it gets what its project asks for. Only
	// a clear yes counts. The question is clean, and can have many lines.
	Confirm(ctx context.Context, question string) (bool, error)
	// Tell shows a notice that is no event, such as a setting that a continued job keeps. It is clean,
	// and does not wait for the user.
	Tell(notice string)
}

// An Expert is one that the user can choose.
type Expert struct {
	Key         string
	Description string
	Recent      bool   // it is not in perstack.toml, but was used before
	Job         string // the newest job of one that is not in perstack.toml: it can only be continued
}

// A Job is one of the history.
type Job struct {
	ID      string
	Prefix  string // the shortest beginning of the id that names the job
	Expert  string // the coordinator's key
	Status  string // as perstack jobs says it
	Running bool   // another process works on it, or this one
	Steps   int
	Cost    float64 // in US dollars; 0 if it is not known
	At      int64   // milliseconds: when it last changed
	Query   string  // the first one
}

// A Checkpoint is a state that a job can return to.
type Checkpoint struct {
	ID     string
	Seq    int64 // of the journal's record after which it stands
	Step   int
	At     int64  // milliseconds: when it was reached
	Expert string // whose Run it belongs to
	Files  int    // how many files the step changed; -1 if that is not known
}

// An Attachment is a file that goes along with a query.
type Attachment struct {
	Path    string
	Name    string
	Kind    string // image, PDF or text
	Size    int64
	Outside bool // it is not in the workspace
}

// A Task is what the user wants a job to do.
type Task struct {
	Expert      string
	Query       string
	Attachments []string // paths

	Job string // the job that is continued; empty for a new one
	// Answer says that the query answers the question that the job waits for.
	Answer bool
	// Checkpoint is where a branch starts; empty for the newest.
	Checkpoint   string
	RestoreFiles bool // to what they were at the checkpoint
}
