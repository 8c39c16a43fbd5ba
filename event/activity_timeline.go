package event

// A Timeline derives activities from the events of a job as they come. It reads both
// densities: the records of a journal, where a result stands in [EndToolCall] and
// arguments stand in the message, and full output, where the closing events carry
// everything. What both show is shown once. The zero Timeline is ready for use, by
// one goroutine.
type Timeline struct {
	runs     map[string]*runView
	order    []*runView // in order of first appearance
	complete bool
}

// A runView is what a Timeline remembers of one Run. In streams where a Run gets a
// new id whenever it resumes, all its ids share one runView.
type runView struct {
	expertKey   string
	delegatedBy *ActivityParent
	asked       bool // the query was shown
	answered    bool // the completion was shown
	waiting     bool // for delegates or the user
	resumed     bool // calls may stand in a stretch that was not seen
	last        string
	reasoning   string // not shown yet
	remark      string // not shown yet
	calls       map[string]*callView
	delegates   map[string]bool // calls that delegates work on, and whether they have returned
	completing  string          // id of the event after which the known delegates have returned
	held        []Activity      // delegates that are shown with the next event
	question    *ToolCall       // likewise
	origin      *runView        // of the Run that this one goes on from; always an older one
}

type callView struct {
	ToolCall
	shown bool
}

// Complete reports whether the job's own Expert has come to an end. The end of a
// delegate is none: its parent goes on.
func (t *Timeline) Complete() bool { return t.complete }

// Apply returns the activities that e causes, in order.
func (t *Timeline) Apply(e Event) []Activity {
	if e.Body == nil || e.IsRuntime() {
		return nil
	}
	n := note{event: e, run: t.view(e)}
	n.resumed()
	switch e.Body.(type) {
	case StopRunByDelegate, StopRunByInteractiveTool: // they have something that comes before
	default:
		n.delegate(nil)
		n.ask()
	}
	if e.closesTurn() {
		n.say()
	}
	switch b := e.Body.(type) {
	case StartRun:
		n.startRun(b)
		if n.run.delegatedBy == nil {
			t.complete = false
		}
	case StartGeneration:
		n.run.reasoning = "" // what a delegate shared and left behind is old now
	case CompleteStreamingReasoning:
		n.run.reasoning = b.Text
	case CallTools:
		n.run.learn(b.ToolCalls, b.NewMessage, true)
		n.run.think(b.NewMessage)
		n.providerRan()
		n.remark(b)
	case EndToolCall:
		n.run.meet(b.ToolResult)
		n.result(b.ToolResult)
	case ResolveToolResults:
		n.results(b.ToolResults)
	case AttemptCompletion:
		if b.ToolResult != nil {
			n.result(*b.ToolResult)
		}
		n.run.reasoning = "" // a generation of its own follows
	case CallDelegate:
		n.callDelegate(b)
	case CallInteractiveTool:
		n.interactive(b)
	case ResumeToolCalls:
		n.resume(b)
	case FinishAllToolCalls:
		n.delegationComplete(e.ID)
	case Retry:
		n.providerRan()
		n.retry(b.Reason)
	case ContinueToNextStep:
		n.end(b.End)
	case CompleteRun:
		n.completeRun(b)
	case StopRunByDelegate:
		n.end(b.End)
		n.delegate(b.Checkpoint)
	case StopRunByInteractiveTool:
		n.end(b.End)
		n.ask()
	case StopRunByError:
		n.end(b.End)
		n.add(errorActivity(b.Error), "error-"+e.ID)
	case StopRunByExceededMaxSteps:
		n.end(b.End)
		n.stopped(StoppedByMaxSteps, "")
	case StopRunByLimit:
		n.end(b.End)
		n.stopped(StoppedByLimit, b.Limit)
	case StopRunByInterrupt:
		n.end(b.End)
		n.stopped(StoppedByInterrupt, b.Reason)
	}
	if status, ok := e.EndStatus(); ok {
		n.run.waiting = status == StatusStoppedByDelegate || status == StatusStoppedByInteractiveTool
		if !n.run.waiting && n.run.delegatedBy == nil {
			t.complete = true
		}
	}
	return n.out
}

// closesTurn reports whether the calls of a turn have led to something else than the
// end of the Run.
func (e Event) closesTurn() bool {
	switch e.Body.(type) {
	case CallDelegate, CallInteractiveTool, ResolveToolResults, AttemptCompletion, ContinueToNextStep:
		return true
	case CompleteRun:
		return false
	}
	return e.IsTerminal()
}

// view finds the Run that e belongs to.
func (t *Timeline) view(e Event) *runView {
	if v, ok := t.runs[e.RunID]; ok {
		return v
	}
	if t.runs == nil {
		t.runs = make(map[string]*runView)
	}
	v := t.earlier(e)
	if v == nil {
		v = &runView{expertKey: e.ExpertKey, calls: make(map[string]*callView)}
		if b, ok := e.Body.(StartRun); ok && b.From != nil {
			v.origin = t.runs[b.From.RunID]
		}
		t.order = append(t.order, v)
	}
	t.runs[e.RunID] = v
	return v
}

// earlier finds the Run that e resumes under a new id, as releases did that gave each
// stretch of a Run its own. Ours name an origin and keep the id.
func (t *Timeline) earlier(e Event) *runView {
	b, ok := e.Body.(StartRun)
	if !ok || b.From != nil || !resumes(b) {
		return nil
	}
	// The checkpoint mostly still has the id of the stretch that it was made in.
	if v := t.runs[b.InitialCheckpoint.RunID]; v != nil {
		return v
	}
	// Else the Run is the one that is waiting for an answer to the last calls.
	ids := lastCalls(b.InitialCheckpoint.Messages)
	for i := len(t.order) - 1; i >= 0; i-- {
		v := t.order[i]
		if !v.waiting || v.expertKey != e.ExpertKey {
			continue
		}
		for _, id := range ids {
			if v.calls[id] != nil {
				return v
			}
		}
	}
	return nil
}

// resumes reports whether b says, in full form, that it goes on where the Run waited.
func resumes(b StartRun) bool {
	cp := b.InitialCheckpoint
	return cp != nil && (cp.Status == StatusStoppedByDelegate || cp.Status == StatusStoppedByInteractiveTool)
}
