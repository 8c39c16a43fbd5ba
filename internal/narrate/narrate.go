// Package narrate turns the events of a job into rows for people: a file was read, a
// command failed, a question was asked.
//
// A [Narrator] is a fold. It is fed the events of a job in order, in the lean form that
// the journal keeps and that the engine emits, and says which rows each event adds or
// changes. It knows nothing of clocks, widths and colours, so `perstack run` and
// `perstack log` tell the same story and differ in layout only. The texts of a row come
// from models, tools and files as they are: a program that prints one must clean it.
//
// Start reading at [Narrator.Apply], then [Row].
package narrate

import "github.com/perstack-go/perstack/rawjson"

// Kind says what a row is about.
type Kind string

// The kinds of rows.
const (
	Start      Kind = "start" // of the job
	Query      Kind = "query"
	Reasoning  Kind = "reasoning"
	Message    Kind = "message" // what the model said beside its calls
	Tool       Kind = "tool"
	Provider   Kind = "provider" // a tool that the provider ran itself
	Delegate   Kind = "delegate"
	Returned   Kind = "returned" // all delegates of a turn have returned
	Question   Kind = "question"
	Answer     Kind = "answer" // the user's, to a question
	Retry      Kind = "retry"
	Result     Kind = "result" // the final answer of a Run
	Failure    Kind = "failure"
	Stopped    Kind = "stopped" // by a limit or an interrupt
	Limit      Kind = "limit"
	Definition Kind = "definition"
	Network    Kind = "network"
	Sandbox    Kind = "sandbox"
	Container  Kind = "container"
	Image      Kind = "image"
	Skill      Kind = "skill"
)

// State says how far the thing is that a row is about.
type State int

// The states of a row.
const (
	Done    State = iota
	Pending       // the model called it, and it has not started
	Running
	Waiting // for the user
	Warning // it is done, and a person should look at it
	Failed
	Unknown // perstack ended while it was running
)

// A Row is one thing that a person can see of a job. The label says what it is and the
// summary what it is about; Argv and Dir take the place of the summary where a program is
// started. The body has the details.
type Row struct {
	ID      string // unique within the job
	Changed bool   // it takes the place of an earlier row with this ID
	Kind    Kind
	State   State

	Run      string
	Expert   string // of a delegate's Run, with a number from its second Run on: "writer #2"
	Depth    int    // of delegation; 0 for the coordinator
	Parallel bool   // other delegates are at work at the same time
	Step     int
	At       int64  // milliseconds: when the event happened that added or changed the row
	Began    int64  // milliseconds: when a call started; 0 if it has not
	Event    string // the id of the event that added or changed the row
	// Checkpoint is what the step of the row leaves behind, if that is known.
	Checkpoint string

	Label    string
	Summary  string
	Argv     []string
	Dir      string // where the program runs; empty for the root of the workspace
	Body     []Text
	Tail     string   // the newest note of something that is running
	Progress *float64 // how much of it is done, from 0 to 1

	SkillName string        // of a tool
	Args      rawjson.Value // of a call
	Output    string        // the whole result of a tool; what the model is told about a limit
	Child     string        // the Run of a delegate
	Times     int           // how often the very same was seen, this one included

	Remedy *Remedy // what would allow it; nil if nothing is known

	Minor   bool // only of interest to those who want to see everything
	Slow    bool // it may take its time
	Repeats bool // another row has said the same: the query of a delegate
}

// A Text is a part of a body.
type Text struct {
	Text  string
	Style Style
	Show  Show
}

// Style says what a text is.
type Style int

// The styles of a text.
const (
	Plain Style = iota
	Quiet
	Added
	Removed
	Bad
)

// Show says how much of a text is worth showing where space is short.
type Show int

// What to show of a text.
const (
	Head  Show = iota // the first lines
	Tail              // the last lines
	Prose             // the first lines, after wrapping
	Whole             // everything, wrapped
	First             // the first line: the command says the rest when it ends
	List              // the first entries
)

// A Remedy is what would allow something that a sandbox blocked. How a person says it depends on
// the program that shows the row.
type Remedy struct {
	Domain string // a host for commands, for one run
	Read   string // a path to be readable, for one run
	Write  string // a path to be writable, for one run

	// Table is the expert and the skill whose list of hosts lacks Host.
	Table *Table
	Host  string
}

// A Table is the place of a skill in the file of a project.
type Table struct{ Expert, Skill string }
