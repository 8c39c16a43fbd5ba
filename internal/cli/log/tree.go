package log

import (
	"cmp"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
)

// A tree is the Runs of a job and how each was started: by a call of another Run, or from a
// checkpoint. A Run gets its parent once, when the journal first names it, and the parent was
// named before it. So whatever a journal says, there is no circle.
type tree struct {
	runs  map[string]*node
	roots []*node
	turns map[string]int // by checkpoint at which a Run stopped: the step in which its model made its calls

	delegations int // Runs that delegates were given
}

// A node is one Run.
type node struct {
	runLine
	query string

	version     string // of its Expert
	model       string // with its provider
	perstack    string // the version that ran it
	isolation   []string
	delegatedBy *event.Parent

	callStep   int // of the parent, in which its model called this Run
	turnStep   int // in which its model made the calls that it works on
	originStep int // of the Run that it continues
	hung       hanging

	below []*node // delegates and branches, in order
	after []*node // Runs that continued where this one had ended
}

// A runLine is a Run as a program reads it.
type runLine struct {
	RunID            string      `json:"runId"`
	ExpertKey        string      `json:"expertKey"`
	ParentRunID      string      `json:"parentRunId,omitzero"`
	ParentToolCallID string      `json:"parentToolCallId,omitzero"`
	From             *pointLine  `json:"from,omitzero"` // the checkpoint of another Run that it continues from
	Status           string      `json:"status"`
	Reason           string      `json:"reason,omitzero"`
	Steps            int         `json:"steps"`
	Usage            event.Usage `json:"usage"`
	Checkpoints      []string    `json:"checkpoints"`
	Head             bool        `json:"head"`
}

// A pointLine is a checkpoint of a Run.
type pointLine struct {
	RunID        string `json:"runId"`
	CheckpointID string `json:"checkpointId"`
}

func pointOf(o *event.Origin) *pointLine {
	if o == nil {
		return nil
	}
	return &pointLine{o.RunID, o.CheckpointID}
}

// hanging says why a node hangs where it does.
type hanging int

const (
	atRoot hanging = iota
	byCall
	byBranch
	inARow // it continues where the Run before it had ended
)

// Statuses of a node beside those of checkpoints.
const (
	runNotStarted  = "notStarted" // it was decided that the Run shall start
	runUnderWay    = "running"
	runInterrupted = "interrupted" // it was under way, and its process is gone
)

func newTree() *tree { return &tree{runs: make(map[string]*node), turns: make(map[string]int)} }

// add takes in an event and its rows. before and after are the states of its Run around it,
// and newest is the head of the history before it.
func (t *tree) add(e event.Event, rows []narrate.Row, before, after engine.State, newest engine.Point, history *engine.History) {
	if e.IsRuntime() {
		return
	}
	n := t.runs[e.RunID]
	if b, ok := e.Body.(event.StartRun); ok {
		t.start(n, e, b, newest, history)
		return
	}
	if n == nil {
		n = t.hang(&node{runLine: runLine{RunID: e.RunID, ExpertKey: e.ExpertKey, Status: runUnderWay}}, nil, atRoot)
	}
	// Steps and usage are counted as those of the job are, so that they add up to them.
	n.Usage = n.Usage.Add(e.Usage())
	switch b := e.Body.(type) {
	case event.StartGeneration, event.ResumeToolCalls, event.FinishAllToolCalls:
		n.Steps++
	case event.CallTools:
		n.turnStep = e.StepNumber
	case event.CallDelegate:
		t.delegate(n, e, b, rows)
	case event.ContinueToNextStep:
		n.Checkpoints = append(n.Checkpoints, before.CheckpointID)
	case event.StopRunByError:
		n.Reason = b.Error.Message
	case event.StopRunByLimit:
		n.Reason = b.Limit
	case event.StopRunByInterrupt:
		n.Reason = b.Reason
	}
	if status, ok := e.EndStatus(); ok {
		n.Status = string(status)
		n.Checkpoints = append(n.Checkpoints, after.CheckpointID)
		t.turns[after.CheckpointID] = n.turnStep
	}
}

// hang puts a new node below another; nil for none.
func (t *tree) hang(n, on *node, why hanging) *node {
	n.hung = why
	t.runs[n.RunID] = n
	switch {
	case on == nil:
		t.roots = append(t.roots, n)
	case why == inARow:
		on.after = append(on.after, n)
	default:
		on.below = append(on.below, n)
	}
	return n
}

// start takes in the beginning of a Run, or that it is resumed.
func (t *tree) start(n *node, e event.Event, b event.StartRun, newest engine.Point, history *engine.History) {
	first := n == nil || n.Status == runNotStarted
	if n == nil {
		n = &node{runLine: runLine{RunID: e.RunID}}
		switch {
		case b.DelegatedBy != nil:
			n.ParentRunID, n.ParentToolCallID = b.DelegatedBy.RunID, b.DelegatedBy.ToolCallID
			n.callStep = t.turns[b.DelegatedBy.CheckpointID]
			t.hang(n, t.runs[n.ParentRunID], byCall)
		case b.From != nil && branches(b, newest):
			t.hang(n, t.runs[b.From.RunID], byBranch)
		case b.From != nil:
			t.hang(n, t.runs[b.From.RunID], inARow)
		default:
			t.hang(n, nil, atRoot)
		}
	}
	n.Status, n.Reason = runUnderWay, ""
	if spec, err := job.ParseRecorded(b.Spec); err == nil { // a Run that is resumed can have another isolation
		n.isolated(spec)
		n.perstack = cmp.Or(n.perstack, spec.Version)
	}
	if !first {
		return
	}
	n.ExpertKey, n.version, n.delegatedBy = e.ExpertKey, b.Expert.Version, b.DelegatedBy
	if n.model = b.Model; b.Model != "" && b.Provider != "" {
		n.model += " (" + b.Provider + ")" // several providers run models of one name
	}
	if b.From != nil && b.From.RunID != e.RunID {
		n.From = pointOf(b.From)
		point, _ := history.At(b.From.CheckpointID)
		n.originStep = point.State.StepNumber
		n.turnStep = t.turns[b.From.CheckpointID] // a branch works on the calls of the Run that it left
	}
	for _, m := range b.InputMessages {
		if m.Type == event.UserMessage {
			n.query = firstWords(m.Text())
			break
		}
	}
}

// delegate takes in which Runs shall work on the calls of a turn. They are there from then
// on: they may be waiting for others, or the process may end before they start.
func (t *tree) delegate(n *node, e event.Event, b event.CallDelegate, rows []narrate.Row) {
	queries := make(map[string]string) // by Run
	for _, r := range rows {
		queries[r.Child] = r.Summary
	}
	for _, d := range b.Delegates {
		if t.runs[d.RunID] != nil {
			continue // it is named again when it is resumed
		}
		t.delegations++
		line := runLine{RunID: d.RunID, ExpertKey: d.Expert.Key, Status: runNotStarted, ParentRunID: e.RunID, ParentToolCallID: d.ToolCallID, From: pointOf(d.From)}
		t.hang(&node{runLine: line, query: firstWords(cmp.Or(d.Query, queries[d.RunID])), callStep: n.turnStep}, n, byCall)
	}
}

// branches reports whether the Run of the coordinator that b starts is a new branch of the
// job. A Run that continues from the newest checkpoint is none, unless it continues because
// of a delegate that branched.
func branches(b event.StartRun, newest engine.Point) bool {
	return b.From != nil && b.DelegatedBy == nil &&
		(b.From.CheckpointID != newest.State.CheckpointID || len(b.Delegates) > 0)
}

// wordsKept bounds what is kept of a query, in characters; of 10,000 Runs it adds up.
const wordsKept = 100

// firstWords is the beginning of a text, safe to print.
func firstWords(text string) string {
	const most = 16 * wordsKept // bytes; the rest would be cut off anyhow
	if len(text) > most {
		text = text[:most]
	}
	return lines.Cut(terminal.CleanLine(text), wordsKept)
}

// settle says of Runs that are under way whether they can still end.
func (t *tree) settle(jobStatus string) {
	if jobStatus == string(event.JobRunning) {
		return
	}
	for _, n := range t.runs {
		if n.Status == runUnderWay {
			n.Status = runInterrupted
		}
	}
}
