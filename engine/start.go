package engine

import (
	"slices"

	"github.com/perstack-go/perstack/event"
)

// unknownOutcome is what the model is told about a call that was under way when the
// process died. Running it again could do its work twice.
const unknownOutcome = "Error: perstack stopped while this call was running, so its outcome is unknown. Check what it did before you repeat it."

// notRun is what the model is told about a call that a new query overtook.
const notRun = "Error: this call was not carried out, because the user went on with a new request."

// A beginning is the startRun event that a job begins with, and the Run it opens.
type beginning struct {
	runID string
	step  int
	body  event.StartRun
}

// begin works out how the job starts: afresh, with a new query on top of a
// conversation, with an answer, or where it was left.
func (r *run) begin() (beginning, error) {
	e := r.job.Expert
	b := beginning{runID: r.Source.NewID(), step: 1, body: event.StartRun{
		InputMessages: []*event.Message{},
		CheckpointID:  r.Source.NewID(),
		Expert:        event.ExpertRef{Key: e.Key, Name: e.Name, Version: e.Version},
		Definition:    e.Digest(),
		ContextWindow: r.job.ContextWindow,

		Model:          r.job.ModelName,
		MaxSteps:       r.job.MaxSteps,
		RuntimeVersion: r.job.Version,
	}}
	if !r.job.Input.Continue {
		b.body.InputMessages = []*event.Message{r.instruction(), r.userMessage(r.job.Input.Query)}
		return b, nil
	}

	origin, err := r.origin()
	if err != nil {
		return beginning{}, err
	}
	s := origin.State
	b.step = s.StepNumber + 1
	b.body.From = &event.Origin{RunID: s.RunID, CheckpointID: s.CheckpointID, Seq: origin.Seq}
	b.body.DelegatedBy = s.DelegatedBy

	if r.job.Input.Query != "" {
		return b, r.beginQuery(&b, s)
	}
	// The Run goes on. It keeps its id, unless it has gone on from here before.
	if newest := r.history.runs[s.RunID]; newest.CheckpointID == s.CheckpointID {
		b.runID = s.RunID
	}
	return b, r.beginResume(&b, s)
}

// origin finds the checkpoint to go on from.
func (r *run) origin() (Point, error) {
	from := r.job.Input.From
	point, ok := r.history.Head()
	if from != "" {
		point, ok = r.history.At(from)
	}
	switch {
	case !ok && from != "":
		return Point{}, inputError("checkpoint %s not found in job %s; perstack log %s lists its checkpoints", from, r.job.ID, r.job.ID)
	case !ok:
		return Point{}, inputError("job %s has no checkpoint to continue from", r.job.ID)
	case point.State.Expert.Key != r.job.Expert.Key:
		return Point{}, mismatch(point.State.Expert.Key, r.job.Expert.Key)
	}
	return point, nil
}

func mismatch(recorded, given string) error {
	return inputError("checkpoint expert key %s does not match input expert key %s; run %s, or leave the expert out", recorded, given, recorded)
}

// beginQuery puts a new query behind the conversation. The instruction is made anew,
// since its date and the Expert's definition may have changed; calls that are still
// open get an answer first, because providers refuse a conversation without one.
func (r *run) beginQuery(b *beginning, s State) error {
	if s.Status == event.StatusStoppedByInteractiveTool {
		return r.waits(s)
	}
	b.body.InputMessages = append(b.body.InputMessages, r.instruction())
	if calls := slices.Clone(s.open()); len(calls) > 0 {
		for i, c := range calls {
			if c.Result != nil {
				continue
			}
			text := notRun
			if c.Started {
				text = unknownOutcome
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
// unfinished Run was left.
func (r *run) beginResume(b *beginning, s State) error {
	answer := r.job.Input.Answer
	switch {
	case answer == nil && s.Status == event.StatusStoppedByInteractiveTool:
		return r.waits(s)
	case answer == nil && s.Status == event.StatusCompleted:
		return inputError("job %s is completed; give a query to continue it", r.job.ID)
	case answer == nil:
		return nil
	case s.Status != event.StatusStoppedByInteractiveTool:
		return inputError("job %s does not wait for an answer; leave out -i to continue it with a query", r.job.ID)
	}
	pending := s.Pending()
	i := 0
	if answer.ToolCallID != "" {
		i = slices.IndexFunc(pending, func(c event.ToolCall) bool { return c.ID == answer.ToolCallID })
	}
	if i < 0 {
		return inputError("no tool call %q waits for an answer in job %s; these do: %s", answer.ToolCallID, r.job.ID, callList(pending))
	}
	b.body.Answers = []event.ToolResult{r.textResult(pending[i], answer.Text)}
	return nil
}

// waits says which question is open and how to answer it.
func (r *run) waits(s State) error {
	return inputError("job %s waits for an answer to %s; give it with: perstack run %s \"<answer>\" --continue-job %s -i",
		r.job.ID, callList(s.Pending()), r.job.Expert.Key, r.job.ID)
}

func callList(calls []event.ToolCall) string {
	var list string
	for i, c := range calls {
		if i > 0 {
			list += ", "
		}
		list += c.ToolName + " (" + c.ID + ")"
	}
	return list
}
