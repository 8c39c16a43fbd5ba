package narrate

import (
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// A Change is what an event changes of what a person sees of a job: a [Row], which is added or
// takes the place of an earlier one, a [Stream], a [Run], [Totals] or an [Ask].
type Change interface{ isChange() }

func (Row) isChange()    {}
func (Stream) isChange() {}
func (Run) isChange()    {}
func (Totals) isChange() {}
func (Ask) isChange()    {}

// Rows returns the rows among changes.
func Rows(changes []Change) []Row {
	var rows []Row
	for _, c := range changes {
		if r, ok := c.(Row); ok {
			rows = append(rows, r)
		}
	}
	return rows
}

// A Stream is a piece of what a model is writing. It is shown and not kept: a row with the whole
// text follows, if the text counts.
type Stream struct {
	Run   string
	Kind  Kind // Reasoning or Message
	Delta string
	// Ended says that what was streamed in the Run is over. A row has it, or it was dropped.
	Ended bool
}

// An Ask says that the user is asked something, or that the question is settled. Its row has what
// the question is about.
type Ask struct {
	Row     Row
	Settled bool
}

// Totals are what the whole job has used.
type Totals struct {
	Began, At int64 // milliseconds: the first event, and this one
	Steps     int
	MaxSteps  int // 0 for no limit
	Tokens    Tokens
	Cost      float64 // in US dollars, by the prices of the job and the list prices
	MaxCost   float64 // 0 for no limit
	Unpriced  bool    // some of it has no price, so Cost is too low
}

// Tokens are those that models read and wrote.
type Tokens struct{ Input, Cached, Output int }

func tokens(u event.Usage) Tokens { return Tokens{u.InputTokens, u.CachedInputTokens, u.OutputTokens} }

func (t Tokens) plus(o Tokens) Tokens {
	return Tokens{t.Input + o.Input, t.Cached + o.Cached, t.Output + o.Output}
}

// A Run is how far one Run of the job is.
type Run struct {
	ID     string
	Parent string // the Run that delegated; empty for the coordinator
	Expert string // with a number from its second Run as a delegate on
	Model  string
	Depth  int
	Step   int
	Phase  Phase
	What   string // the tool or the skill that the phase is about
	Began  int64  // milliseconds
	Since  int64  // when the phase began
	Until  int64  // when it ends, if that is known: the pause before a retry
	Tokens Tokens
	Cost   float64
}

// A Phase is what a Run is doing.
type Phase string

// The phases of a Run. The words are those that people read.
const (
	Preparing  Phase = "preparing" // an image or a skill, before the model is asked
	Starting   Phase = "starting"
	Asking     Phase = "waiting for the model"
	Thinking   Phase = "thinking"
	Answering  Phase = "answering"
	Calling    Phase = "running"
	Delegating Phase = "waiting for delegates"
	ForUser    Phase = "waiting for you"
	Retrying   Phase = "retrying"
	Completed  Phase = "completed"
	Halted     Phase = "stopped"
	Broken     Phase = "failed"
)

// IsOver reports whether the Run has ended, for good or until it is continued.
func (p Phase) IsOver() bool { return p == Completed || p == Halted || p == Broken }

// measure takes in what an event says about steps, tokens, money and phases. It adds changes after
// the rows of the event.
func (b *batch) measure() {
	n, e := b.narrator, b.event
	before, total := b.run.status, n.totals
	if n.totals.Began == 0 {
		n.totals.Began = e.Timestamp
	}
	b.spend()
	b.phase()
	now := &b.run.status
	now.ID, now.Depth = e.RunID, b.run.depth
	if !e.IsRuntime() {
		now.Step = e.StepNumber
		if now.Expert = b.run.name; now.Expert == "" {
			now.Expert = e.ExpertKey
		}
	}
	if now.Began == 0 {
		now.Began = e.Timestamp
	}
	if now.Phase != before.Phase || now.What != before.What {
		now.Since = e.Timestamp
	}
	if *now != before && now.Phase != "" {
		b.changes = append(b.changes, *now)
	}
	if n.totals != total {
		n.totals.At = e.Timestamp
		b.changes = append(b.changes, n.totals)
	}
}

// spend counts steps, tokens and money, as the limits of the engine do.
func (b *batch) spend() {
	n := b.narrator
	switch body := b.event.Body.(type) {
	case event.StartRun:
		b.run.price, b.run.priced = n.price(body.Provider, body.Model)
		b.run.status.Model = body.Model
	case event.StartGeneration, event.ResumeToolCalls, event.FinishAllToolCalls:
		n.totals.Steps++
	}
	u := b.event.Usage()
	used := tokens(u)
	if used == (Tokens{}) {
		return
	}
	n.totals.Tokens, b.run.status.Tokens = n.totals.Tokens.plus(used), b.run.status.Tokens.plus(used)
	if !b.run.priced {
		n.totals.Unpriced = true
		return
	}
	cost := model.Cost(b.run.price, u)
	n.totals.Cost += cost
	b.run.status.Cost += cost
}

// price returns what a model costs in this job.
func (n *Narrator) price(provider, name string) (expert.Price, bool) {
	if p, ok := n.prices[name]; ok {
		return p, true
	}
	return model.PriceOf(provider, name)
}

// limits takes the limits and prices of the job.
func (n *Narrator) limits(spec *job.Spec) {
	n.totals.MaxSteps, n.totals.MaxCost, n.prices = spec.Limits.MaxSteps, spec.Limits.MaxCost, spec.Prices
}

// phase says what the Run is doing after the event.
func (b *batch) phase() {
	s := &b.run.status
	set := func(p Phase, what string) { s.Phase, s.What, s.Until = p, what, 0 }
	switch body := b.event.Body.(type) {
	case event.DockerBuildProgress:
		set(Preparing, "the image")
	case event.SkillStarting:
		if !s.Phase.isGeneration() {
			set(Preparing, "skill "+body.SkillName)
		}
	case event.SkillConnected:
		if s.Phase == Preparing {
			set(Starting, "")
		}
	case event.StartRun:
		s.Parent = ""
		if p := body.DelegatedBy; p != nil {
			s.Parent = p.RunID
		}
		set(Starting, "")
	case event.InitializeRuntime:
		if s.Phase == "" || s.Phase == Preparing {
			set(Starting, "")
		}
	case event.StartGeneration:
		set(Asking, "")
	case event.StreamReasoning:
		set(Thinking, "")
	case event.StreamText, event.StreamRunResult:
		set(Answering, "")
	case event.CallTools, event.StartToolCall, event.EndToolCall, event.ApprovalAnswered, event.ResumeToolCalls:
		b.calling(set)
	case event.ApprovalRequested, event.CallInteractiveTool:
		set(ForUser, "")
	case event.CallDelegate, event.StopRunByDelegate:
		set(Delegating, "")
	case event.Retry:
		set(Retrying, "")
		s.Until = b.event.Timestamp + body.DelayMS
	case event.CompleteRun:
		set(Completed, "")
	case event.StopRunByError:
		set(Broken, "")
	case event.StopRunByInteractiveTool, event.StopRunByApproval:
		set(ForUser, "")
	default:
		if b.event.IsTerminal() {
			set(Halted, "")
		}
	}
}

// isGeneration reports whether the model is at work.
func (p Phase) isGeneration() bool { return p == Asking || p == Thinking || p == Answering }

// calling names the call that runs, if there is one alone.
func (b *batch) calling(set func(Phase, string)) {
	what, running := "", 0
	for id, c := range b.run.inFlight {
		switch {
		case c.row.State != Running:
			delete(b.run.inFlight, id)
		case c.row.Kind == Tool:
			what, running = c.row.Label, running+1
		}
	}
	if running > 1 {
		what = "tools"
	}
	set(Calling, what)
}

// streams takes in the pieces of a generation, and its end.
func (b *batch) streams() {
	v := b.run
	switch body := b.event.Body.(type) {
	case event.StreamReasoning:
		b.piece(Reasoning, body.Delta)
	case event.StreamText:
		b.piece(Message, body.Delta)
	case event.StreamRunResult:
		b.piece(Message, body.Delta)
	case event.StartStreamingReasoning, event.StartStreamingText, event.StartStreamingRunResult, event.CompleteStreamingText, event.CompleteStreamingRunResult:
		// The next piece, or the row, says it.
	default:
		if v.streaming != "" && !b.event.IsRuntime() {
			b.changes = append(b.changes, Stream{Run: b.event.RunID, Kind: v.streaming, Ended: true})
			v.streaming = ""
		}
	}
}

func (b *batch) piece(kind Kind, delta string) {
	v := b.run
	if v.streaming != "" && v.streaming != kind {
		b.changes = append(b.changes, Stream{Run: b.event.RunID, Kind: v.streaming, Ended: true})
	}
	v.streaming = kind
	b.changes = append(b.changes, Stream{Run: b.event.RunID, Kind: kind, Delta: delta})
}
