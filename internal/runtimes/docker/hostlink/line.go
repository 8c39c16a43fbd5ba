package hostlink

import (
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

// Pulse is how often each side says that it is there. The end of a stream does not tell: when
// a Docker daemon is killed, its containers keep their standard input open.
const Pulse = 5 * time.Second

// MaxLine is the longest line that passes in either direction. An event with several
// inline images fits; what is longer ends the run.
const MaxLine = 64 << 20

// An Up is a line that comes out of the container. One member is set.
type Up struct {
	Hello  *Hello        `json:"hello,omitzero"`
	Check  *Check        `json:"check,omitzero"`
	Append *Append       `json:"append,omitzero"`
	Commit int64         `json:"commit,omitzero"` // number of the request
	Decide *CallQuery    `json:"decide,omitzero"` // whether a call can be carried out
	Ask    *CallQuery    `json:"ask,omitzero"`    // what the user says about a call
	Show   rawjson.Value `json:"show,omitzero"`   // an event that is not kept
	Alive  bool          `json:"alive,omitzero"`
	Log    *Log          `json:"log,omitzero"`
	Note   *Note         `json:"note,omitzero"`
	Found  *Found        `json:"found,omitzero"`
	End    *End          `json:"end,omitzero"`
}

// Hello is the first line.
type Hello struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
}

// A Check is the outcome of one probe of the self-test.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitzero"` // what was found
}

// An Append asks for an event to be written.
type Append struct {
	ID    int64         `json:"id"` // of the request; counts up
	Event rawjson.Value `json:"event"`
}

// A CallQuery asks about a tool call, whose arguments are in the journal.
type CallQuery struct {
	ID     int64  `json:"id"` // of the request; counts up
	RunID  string `json:"runId"`
	CallID string `json:"callId"`
	// Tool is the digest of the tool's definition, and Destructive what its server says. The host
	// believes neither where that would make it less strict.
	Tool        string `json:"tool,omitzero"`
	Destructive bool   `json:"destructive,omitzero"`
}

// A Log is something worth a line to the user.
type Log struct {
	Level string `json:"level"` // as slog writes it
	Text  string `json:"text"`
}

// A Note is what the server of a skill wrote while it was asked for its tools.
type Note struct {
	Expert string `json:"expert"` // key
	Skill  string `json:"skill"`
	Text   string `json:"text"`
}

// A Found has the tools of a skill, as its server described them, or why there are none.
type Found struct {
	Expert string          `json:"expert"` // key
	Skill  string          `json:"skill"`
	Tools  []rawjson.Value `json:"tools,omitempty"`
	Error  string          `json:"error,omitzero"`
}

// An End is the last line: the engine has returned. Error is empty if it recorded how
// the job was left, as it does whenever something was started.
type End struct {
	Kind  string `json:"kind,omitzero"` // of an engine.Error
	Error string `json:"error,omitzero"`
	// Limit is the one that was met, with its numbers, which the journal does not have.
	Limit *Limit `json:"limit,omitzero"`
}

// A Limit is one that was met: an [engine.LimitError] as JSON.
type Limit struct {
	Limit string  `json:"name"`
	Used  float64 `json:"used"`
	Max   float64 `json:"max"`
	Needs float64 `json:"needs,omitzero"`
	Why   string  `json:"why,omitzero"`
}

// A Down is a line that goes in. One member is set.
type Down struct {
	// Document is the first line. Behind it come the records of the history, as many as it
	// says, each a line as it is stored.
	Document *Document `json:"document,omitzero"`
	Done     *Done     `json:"done,omitzero"`
	Stop     *Stop     `json:"stop,omitzero"`
	// Answered is what the user said about a call that the engine does not ask about now.
	Answered *engine.RunAnswer `json:"answered,omitzero"`
	Alive    bool              `json:"alive,omitzero"`
}

// A Done answers a request.
type Done struct {
	ID    int64  `json:"id"`
	Seq   int64  `json:"seq,omitzero"` // of the record
	Error string `json:"error,omitzero"`
	Full  bool   `json:"full,omitzero"` // the disk is full

	Decision *Decision `json:"decision,omitzero"`
	Answer   *Answer   `json:"answer,omitzero"`
}

// A Decision is an [engine.Decision] as JSON.
type Decision struct {
	Do      job.Verdict  `json:"do"`
	By      string       `json:"by,omitzero"`
	Why     string       `json:"why,omitzero"`
	Once    bool         `json:"once,omitzero"`
	Effect  event.Effect `json:"effect,omitzero"`
	Digest  string       `json:"digest,omitzero"`
	Sandbox string       `json:"sandbox,omitzero"`
}

// An Answer is what the user said. Without one, None is set.
type Answer struct {
	None   bool   `json:"none,omitzero"`
	Text   string `json:"text,omitzero"`
	Allow  bool   `json:"allow,omitzero"`
	Scope  string `json:"scope,omitzero"`
	Reason string `json:"reason,omitzero"`
}

// A Stop tells the engine to save and to end: by an interrupt, or by a limit that the host
// watches.
type Stop struct {
	Reason string `json:"reason"`
	Limit  *Limit `json:"limit,omitzero"`
}
