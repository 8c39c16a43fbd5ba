package narrate

import (
	"cmp"
	"fmt"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// A Narrator derives rows from the events of one job. It may begin in the middle of the
// job: then a call is known once its result comes. The zero Narrator is ready for use, by
// one goroutine.
type Narrator struct {
	runs      map[string]*run
	working   map[string]bool // delegates' Runs that have started and not stopped
	numbers   map[string]int  // how many Runs of delegates each Expert has
	announced map[string]bool // what has been said once for the job
	workspace string          // as the tools of the job see it
	refusals  map[refusal]int
	started   map[string]bool // skills whose server was started, by Run
	local     *job.Reach      // what sandboxes reach with the runtime local; nil with another
	totals    Totals
	prices    map[string]expert.Price // that the job states, by model
}

// A run is what a Narrator remembers of one Run.
type run struct {
	name      string // of a delegate's Expert, with a number
	depth     int
	known     bool // its start was seen
	resumed   bool // its calls may have been made before the first event that was seen
	asked     bool // its query was shown
	answered  bool // its answer was shown
	thought   bool // the reasoning of this generation was shown
	task      string
	remark    string // what was said with the calls of this turn, if it was not shown yet
	calls     map[string]*call
	inFlight  map[string]*call  // of the calls, those that were started; one that has ended is removed later
	leaving   map[string]string // questions about leaving the sandbox, by digest
	delegates map[string]*call  // that delegates work on; nil once all have returned
	settling  bool              // all delegates that are known have returned
	origin    *run              // the Run that this one continues; it started before, so there is no circle

	status     Run    // as it was last told
	streaming  Kind   // what the model is writing; empty between generations
	generation int64  // milliseconds: when the model was asked
	checkpoint string // that the step will leave
	price      expert.Price
	priced     bool
}

// A call is what is remembered of a tool call.
type call struct {
	tool    event.ToolCall
	row     Row  // as it was shown last
	added   bool // it has a row
	started bool
	shown   bool // its outcome was shown

	returned, failed bool // of a delegate
}

// open reports whether nothing has come of the call yet.
func (c *call) open() bool {
	return c.row.State == Pending || c.row.State == Running || c.row.State == Waiting
}

// A batch collects the changes of one event.
type batch struct {
	narrator *Narrator
	event    event.Event
	run      *run
	changes  []Change
	rows     int // among them
}

// Apply returns what e changes, in order.
func (n *Narrator) Apply(e event.Event) []Change {
	if e.Body == nil {
		return nil
	}
	if n.runs == nil {
		n.runs, n.working, n.numbers = make(map[string]*run), make(map[string]bool), make(map[string]int)
		n.announced, n.refusals, n.started = make(map[string]bool), make(map[refusal]int), make(map[string]bool)
	}
	b := &batch{narrator: n, event: e, run: n.at(e.RunID)}
	b.streams()
	if e.IsRuntime() {
		b.runtime()
		b.measure()
		return b.changes
	}
	b.settled()
	if closesTurn(e) {
		b.say()
	}
	b.apply()
	if e.IsTerminal() {
		delete(n.working, e.RunID)
	}
	b.measure()
	return b.changes
}

func (n *Narrator) at(runID string) *run {
	v := n.runs[runID]
	if v == nil {
		v = &run{calls: make(map[string]*call)}
		n.runs[runID] = v
	}
	return v
}

// apply takes in an event of a Run.
func (b *batch) apply() {
	switch body := b.event.Body.(type) {
	case event.StartRun:
		b.startRun(body)
	case event.StartGeneration:
		b.run.thought, b.run.generation = false, b.event.Timestamp
	case event.ContinueToNextStep:
		b.run.checkpoint = body.NextCheckpointID
	case event.CompleteStreamingReasoning:
		b.run.thought = false // a repeated generation thinks again
		b.think(body.Text)
	case event.CallTools:
		b.callTools(body)
	case event.StartToolCall:
		b.startTool(body.ToolCallID)
	case event.EndToolCall:
		b.result(body.ToolResult)
	case event.AttemptCompletion:
		b.run.thought = false // another generation follows
	case event.CallDelegate:
		b.callDelegate(body)
	case event.CallInteractiveTool:
		b.ask(body)
	case event.ApprovalRequested:
		b.permission(body)
	case event.ApprovalAnswered:
		b.permitted(body)
	case event.PlanAccepted:
		b.add(Row{Kind: Answer, Label: "Plan accepted", Body: []Text{{Text: "From now on, the job can change files."}}})
	case event.ResumeToolCalls:
		b.run.settling = b.run.allReturned()
	case event.FinishAllToolCalls:
		b.returned()
	case event.Retry:
		b.retry(body)
	case event.CompleteRun:
		b.completeRun(body)
	case event.StopRunByError:
		f := body.Error
		texts := []Text{{Text: cmp.Or(f.Message, "Unknown error"), Show: First}}
		if f.IsRetryable {
			texts = append(texts, Text{Text: "It may work if you try again.", Show: First})
		}
		b.add(Row{Kind: Failure, State: Failed, Label: f.Title(), Body: texts})
	case event.StopRunByExceededMaxSteps:
		b.stopped("The step limit was reached.")
	case event.StopRunByLimit:
		b.stopped(reached(body.Limit))
	case event.StopRunByInterrupt:
		b.stopped(cmp.Or(body.Reason, "interrupted"))
	case event.LimitWarning:
		b.add(Row{Kind: Limit, State: Warning, Label: "Limit", Summary: body.Limit, Body: []Text{{Text: used(body)}}, Output: body.NewMessage.Text()})
	case event.DefinitionChanged:
		texts := []Text{{Text: "The Run continues with the new definition."}}
		if body.Before != "" && body.After != "" {
			texts = append(texts, Text{Text: fmt.Sprintf("%.12s → %.12s", body.Before, body.After)})
		}
		b.add(Row{Kind: Definition, State: Warning, Label: "Definition Changed", Summary: body.Expert, Body: texts})
	}
}

// closesTurn reports whether the calls of a turn have led to something other than the
// answer of the Run.
func closesTurn(e event.Event) bool {
	switch e.Body.(type) {
	case event.CallDelegate, event.CallInteractiveTool, event.ResolveToolResults, event.AttemptCompletion, event.ContinueToNextStep:
		return true
	case event.CompleteRun:
		return false
	}
	return e.IsTerminal()
}

// add adds a row.
func (b *batch) add(r Row) Row {
	r = b.fill(r)
	b.changes = append(b.changes, r)
	b.rows++
	return r
}

// addAsk adds a row that asks the user something, or the answer to it.
func (b *batch) addAsk(r Row, settled bool) {
	b.changes = append(b.changes, Ask{Row: b.add(r), Settled: settled})
}

// update changes the row of a call, or adds it if it has none yet.
func (b *batch) update(c *call, r Row) Row {
	r.ID, r.Changed = c.row.ID, c.added
	c.row, c.added = r, true
	return b.add(r)
}

// fill adds what all rows have.
func (b *batch) fill(r Row) Row {
	if r.ID == "" {
		r.ID = fmt.Sprintf("%s-%d", b.event.ID, b.rows+1)
	}
	r.Run, r.Expert, r.Depth, r.Parallel = b.event.RunID, b.run.name, b.run.depth, len(b.narrator.working) > 1
	r.Step, r.At, r.Checkpoint, r.Event = b.event.StepNumber, b.event.Timestamp, b.run.checkpoint, b.event.ID
	return r
}

func (b *batch) startRun(body event.StartRun) {
	v := b.run
	if parent := body.DelegatedBy; parent != nil {
		b.narrator.name(v, parent.RunID, b.event.ExpertKey)
		b.narrator.working[b.event.RunID] = true
	}
	if from := body.From; from != nil && !v.known {
		if before := b.narrator.runs[from.RunID]; before != nil && before.known {
			v.origin = before
		}
	}
	v.known, v.resumed, v.thought, v.checkpoint = true, v.resumed || body.From != nil, false, body.CheckpointID
	b.spec(body)
	for _, r := range body.Answers {
		b.answer(r)
	}
	for _, m := range body.InputMessages {
		switch {
		case m.Type == event.ToolMessage:
			b.overtaken(m)
		case m.Type == event.UserMessage && !v.asked:
			if text := m.Text(); text != "" {
				v.asked = true
				texts := []Text{{Text: text, Show: Prose}}
				for _, a := range body.Attachments {
					texts = append(texts, Text{Text: fmt.Sprintf("attached: %s (%s, %s)", a.Name, a.MIMEType, wording.Bytes(a.Size)), Show: Whole})
				}
				b.add(Row{Kind: Query, Label: "Query", Body: texts, Repeats: text == v.task})
			}
			return
		}
	}
}

// answer shows what the user answered. The results of delegates come in the same way.
func (b *batch) answer(r event.ToolResult) {
	if b.run.delegates[r.ID] != nil || r.IsDelegates() {
		b.delegateReturned(r)
		return
	}
	b.run.calls[r.ID] = &call{added: true, shown: true}
	b.addAsk(Row{Kind: Answer, Label: "Answer", Summary: r.ToolName, Body: []Text{{Text: event.FirstText(r.Result), Show: Prose}}}, true)
}

// overtaken shows the calls that a new query overtook and that have no result: the engine
// makes up one for the model, and no other event speaks of it. Where the Run before was
// not seen, only a call that was running is known to have had none.
func (b *batch) overtaken(m *event.Message) {
	for _, p := range m.Contents {
		if p.Type != event.ToolResultPart {
			continue
		}
		made := event.ToolResult{ID: p.ToolCallID, ToolName: p.ToolName, Result: p.Contents, IsError: p.IsError}
		c := event.ToolCall{ID: p.ToolCallID, ToolName: p.ToolName}
		before := b.run.find(p.ToolCallID)
		switch {
		case before == nil && made.ErrorText() != event.UnknownOutcome, before != nil && !before.open():
			continue
		case before != nil:
			c = before.tool
		}
		b.add(toolRow(c, made, b.narrator.workspace))
	}
}

// find returns a call of the Run, or of those that it continues.
func (v *run) find(callID string) *call {
	for ; v != nil; v = v.origin {
		if c := v.calls[callID]; c != nil && c.tool.ID != "" {
			return c
		}
	}
	return nil
}
