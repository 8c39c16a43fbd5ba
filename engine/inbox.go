package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// An AnswerError says why an answer to an approval does not count.
type AnswerError struct {
	ToolCallID string
	Problem    string
	Stopping   bool // the job is about to stop; when it has, the answer can be recorded
}

func (e *AnswerError) Error() string { return fmt.Sprintf("call %s %s", e.ToolCallID, e.Problem) }

// answerEvent returns the event that records an answer. The first answer counts, and only if it is
// about what was asked.
func (h *History) answerEvent(source Source, runID string, b event.ApprovalAnswered) (event.Event, error) {
	all := h.Waiting()
	i := slices.IndexFunc(all, func(w WaitingCall) bool { return w.RunID == runID && w.Call.ID == b.ToolCallID })
	switch {
	case i < 0:
		return event.Event{}, &AnswerError{ToolCallID: b.ToolCallID, Problem: "does not wait for an answer; it may have one already"}
	case all[i].Request.Digest != b.Digest:
		return event.Event{}, &AnswerError{ToolCallID: b.ToolCallID, Problem: "was asked about again, because what it would do has changed"}
	case all[i].Expired(source.Now()):
		return event.Event{}, &AnswerError{ToolCallID: b.ToolCallID, Problem: "waits for too long, so it counts as denied"}
	}
	s := h.runs[runID]
	return event.Event{
		ID: source.NewID(), Timestamp: source.Now().UnixMilli(), JobID: h.Job.ID, RunID: runID,
		ExpertKey: s.Expert.Key, StepNumber: s.StepNumber, Body: b,
	}, nil
}

// RecordAnswers records answers to approvals of a job that no process runs. Each is about the call
// of a Run. The error of an answer that does not count is an [*AnswerError]; then nothing is recorded.
func RecordAnswers(ctx context.Context, s store.Store, source Source, jobID string, answers []RunAnswer) error {
	journal, err := s.Open(ctx, jobID)
	if err != nil {
		return StoreError(err)
	}
	err = recordAnswers(ctx, s, journal, source, jobID, answers)
	if closeErr := journal.Close(); err == nil {
		err = StoreError(closeErr)
	}
	return err
}

// A RunAnswer is an answer about a call of a Run.
type RunAnswer struct {
	RunID string `json:"runId"`
	event.ApprovalAnswered
}

func recordAnswers(ctx context.Context, s store.Store, journal store.Journal, source Source, jobID string, answers []RunAnswer) error {
	h, err := Load(ctx, s, jobID)
	if err == nil {
		err = h.checkImported()
	}
	if err != nil {
		return StoreError(err)
	}
	var all []event.Event
	for _, a := range answers {
		e, err := h.answerEvent(source, a.RunID, a.ApprovalAnswered)
		if err != nil {
			return &Error{KindInput, err}
		}
		all = append(all, e)
	}
	for _, e := range all {
		if _, err := journal.Append(ctx, e); err != nil {
			return StoreError(err)
		}
	}
	return StoreError(journal.Commit(ctx))
}

// An Inbox takes answers to approvals while a job runs, from any goroutine. It belongs to one job.
type Inbox struct {
	mu      sync.Mutex
	take    func(RunAnswer) error                  // records an answer; nil while no job runs
	waiting map[waitingKey]context.CancelCauseFunc // of questions that the approver is asked
}

type waitingKey struct{ runID, callID string }

// Answer records an answer. It returns an [*AnswerError] if another came first or the call was
// asked about again.
func (b *Inbox) Answer(answer RunAnswer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.take == nil {
		return Stopping(answer)
	}
	if err := b.take(answer); err != nil {
		return err
	}
	if cancel := b.waiting[waitingKey{answer.RunID, answer.ToolCallID}]; cancel != nil {
		cancel(errAnswered)
	}
	return nil
}

// Stopping returns the error for an answer that a job can no longer take, because it stops.
func Stopping(answer RunAnswer) error {
	return &AnswerError{ToolCallID: answer.ToolCallID, Problem: "belongs to a job that is about to stop; answer again when it has stopped", Stopping: true}
}

// takeAnswer records an answer that came from elsewhere.
func (x *execution) takeAnswer(answer RunAnswer) error {
	var e event.Event
	var err error
	x.recorder.view(func(h *History) { e, err = h.answerEvent(x.parts.Source, answer.RunID, answer.ApprovalAnswered) })
	if err != nil {
		return err
	}
	_, err = x.recorder.record(e, recordAndPublish)
	return StoreError(err)
}

// errAnswered is why the approver need not answer any more.
var errAnswered = fmt.Errorf("the answer came from elsewhere: %w", ErrNoAnswer)

// Attach has the inbox hand answers to a function that records them, until detach is called. A runtime
// does this for a job that runs elsewhere.
func (b *Inbox) Attach(take func(RunAnswer) error) (detach func()) {
	if b == nil {
		return func() {}
	}
	set := func(take func(RunAnswer) error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.take, b.waiting = take, make(map[waitingKey]context.CancelCauseFunc)
	}
	set(take)
	return func() { set(nil) }
}

// await returns a context that is cancelled when an answer comes from elsewhere.
func (b *Inbox) await(ctx context.Context, runID, callID string) (waiting context.Context, end func()) {
	if b == nil {
		return ctx, func() {}
	}
	waiting, cancel := context.WithCancelCause(ctx)
	key := waitingKey{runID, callID}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting[key] = cancel
	return waiting, func() {
		cancel(nil)
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.waiting, key)
	}
}
