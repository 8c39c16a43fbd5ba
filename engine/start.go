package engine

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
)

const (
	// crashed is the reason recorded for a Run whose process ended without a word.
	crashed = "the process ended before it could save"
	// notRun is what the model is told about a call that a new query overtook.
	notRun = "Error: this call was not carried out, because the user went on with a new request."
)

// A beginning is the startRun event that a job begins with, and the Run it opens.
type beginning struct {
	runID  string
	step   int
	body   event.StartRun
	origin State             // where it goes on from; zero for a new job
	answer *event.ToolAnswer // the user's answer, with the names of its question
}

// definitionChanged reports that the Expert is not what the conversation was last run with.
func (b beginning) definitionChanged() (event.DefinitionChanged, bool) {
	changed := event.DefinitionChanged{Expert: b.body.Expert.Key, Before: b.origin.Definition, After: b.body.Definition}
	return changed, changed.Before != "" && changed.Before != changed.After
}

// begin works out how the job starts: afresh, with a new query on top of a
// conversation, with an answer, or where it was left. Nothing is written yet.
func (r *run) begin() (beginning, error) {
	e := r.job.Expert
	b := beginning{runID: r.Source.NewID(), step: 1, body: event.StartRun{
		InputMessages:  []*event.Message{},
		CheckpointID:   r.Source.NewID(),
		Expert:         event.ExpertRef{Key: e.Key, Name: e.Name, Version: e.Version},
		Definition:     e.Digest(),
		ContextWindow:  r.job.ContextWindow,
		Provider:       r.job.Provider,
		Model:          r.job.ModelName,
		Workspace:      r.job.Workspace,
		Runtime:        r.job.Runtime,
		RuntimeVersion: r.job.Version,
		MaxSteps:       r.job.MaxSteps,
	}}
	if !r.job.Input.Continue {
		b.body.InputMessages = []*event.Message{r.instruction(b.body), r.userMessage(r.job.Input.Query)}
		return b, nil
	}
	origin, err := r.origin()
	if err != nil {
		return beginning{}, err
	}
	s := origin.State
	b.origin, b.step = s, s.StepNumber+1
	b.body.From = &event.Origin{RunID: s.RunID, CheckpointID: s.CheckpointID, Seq: origin.Seq}
	b.body.DelegatedBy = s.DelegatedBy

	if r.job.Input.Query != "" {
		return b, r.beginQuery(&b)
	}
	// The Run goes on. It keeps its id, unless it has gone on from here before.
	if newest := r.history.runs[s.RunID]; newest.CheckpointID == s.CheckpointID {
		b.runID = s.RunID
	}
	return b, r.beginResume(&b)
}

// origin finds the checkpoint to go on from. A Run that a crash left open counts as
// stopped where its journal ends.
func (r *run) origin() (Point, error) {
	from := r.job.Input.From
	point, ok := r.history.Head()
	if open := r.history.Open(); len(open) > 0 {
		point, ok = r.history.crashPoint(open[0]), true
	}
	if from != "" && from != point.State.CheckpointID {
		point, ok = r.history.At(from)
	}
	switch {
	case !ok && from != "":
		return Point{}, inputError("checkpoint %s not found in job %s; perstack log %s lists its checkpoints", from, r.job.ID, r.job.ID)
	case !ok:
		return Point{}, inputError("job %s has no checkpoint to continue from", r.job.ID)
	case point.State.Expert.Key != r.job.Expert.Key:
		return Point{}, inputError("checkpoint expert key %s does not match input expert key %s; run %s, or leave the expert out",
			point.State.Expert.Key, r.job.Expert.Key, point.State.Expert.Key)
	}
	return point, nil
}

// closeCrashed records the end of Runs that a crash left open.
func (r *run) closeCrashed() error {
	for _, open := range r.history.Open() {
		r.runID, r.state = open.RunID, open
		if err := r.recordEarlier(r.stamp(event.StopRunByInterrupt{Reason: crashed})); err != nil {
			return err
		}
	}
	r.state = State{}
	return nil
}

// beginQuery puts a new query behind the conversation. The instruction is made anew,
// since its date and the Expert's definition may have changed; calls that are still
// open get an answer first, because providers refuse a conversation without one.
func (r *run) beginQuery(b *beginning) error {
	if b.origin.Status == event.StatusStoppedByInteractiveTool {
		return &WaitingError{r.job.ID, b.origin.Pending()}
	}
	b.body.InputMessages = append(b.body.InputMessages, r.instruction(b.body))
	if calls := slices.Clone(b.origin.open()); len(calls) > 0 {
		for i, c := range calls {
			if c.Result != nil {
				continue
			}
			text := notRun
			if c.Started {
				text = event.UnknownOutcome
			}
			result := r.errorResult(c.ToolCall, text)
			calls[i].Result = &result
		}
		b.body.InputMessages = append(b.body.InputMessages, toolMessage(r.toolMessageRef(calls), calls))
	}
	b.body.InputMessages = append(b.body.InputMessages, r.userMessage(r.job.Input.Query))
	return nil
}

// beginResume goes on without a new query: with the user's answer, or where an
// unfinished Run was left. The instruction stays as it was, so that a provider's
// prompt cache still fits, unless the Expert is another by now.
func (r *run) beginResume(b *beginning) error {
	if _, changed := b.definitionChanged(); changed {
		b.body.InputMessages = append(b.body.InputMessages, r.instruction(b.body))
	}
	s, answer := b.origin, r.job.Input.Answer
	switch {
	case s.Workspace != "" && s.Workspace != r.job.Workspace:
		// What the model knows of its files would not be true any more.
		return inputError("job %s works in %s, not in %s; add --workspace, or give a query to go on here", r.job.ID, s.Workspace, r.job.Workspace)
	case answer == nil && s.Status == event.StatusStoppedByInteractiveTool:
		return &WaitingError{r.job.ID, s.Pending()}
	case answer == nil && s.Status == event.StatusCompleted:
		return inputError("job %s is completed; give a query to continue it", r.job.ID)
	case answer == nil:
		return nil
	case s.Status != event.StatusStoppedByInteractiveTool:
		return inputError("job %s does not wait for an answer; leave out -i and the answer to resume it, or -i to continue it with a query", r.job.ID)
	}
	pending := s.Pending()
	i := 0
	if answer.ToolCallID != "" {
		i = slices.IndexFunc(pending, func(c event.ToolCall) bool { return c.ID == answer.ToolCallID })
	}
	if i < 0 {
		return inputError("no tool call %q waits for an answer in job %s; these do: %s", answer.ToolCallID, r.job.ID, callList(pending))
	}
	call := pending[i]
	b.answer = &event.ToolAnswer{ToolCallID: call.ID, ToolName: call.ToolName, SkillName: call.SkillName, Text: answer.Text}
	b.body.Answers = []event.ToolResult{r.textResult(call, answer.Text)}
	return nil
}

// A WaitingError says that a job cannot go on before a question is answered.
type WaitingError struct {
	JobID   string
	Pending []event.ToolCall
}

func (e *WaitingError) Error() string {
	return "job " + e.JobID + " waits for an answer to " + callList(e.Pending)
}

func callList(calls []event.ToolCall) string {
	var names []string
	for _, c := range calls {
		names = append(names, c.ToolName+" ("+c.ID+")")
	}
	return strings.Join(names, ", ")
}
