package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

// Leaving the sandbox: a program of a skill wants to use a host or a path that its sandbox does not
// offer. This happens in the middle of a call, or between calls, and is decided by the same rules. A
// question about it does not change how far a call is. It is recorded like that about a call, so that
// its answer holds for the rest of the job, also when the job is resumed.

const (
	// maxLeaveTime is how long a program waits for the answer of the user.
	maxLeaveTime = 2 * time.Minute
	// maxQuestions is how many questions of a job about leaving the sandbox can be open. A program
	// can try any number of hosts at once.
	maxQuestions = 16
)

// leave decides whether the programs of a skill can use something outside of their sandbox, and asks
// the user if need be. It is called from any goroutine.
func (r *run) leave(ctx context.Context, skillName string, effect event.Effect) bool {
	d, _, ok := r.decideLeave(ctx, skillName, effect)
	if !ok || d.Do != job.Ask {
		return ok && d.Do == job.Allow
	}
	if r.parts.Approver == nil {
		return false
	}
	return r.exec.questions.ask(ctx, r.life, questionKey{r.runID, d.Digest}, func(ctx context.Context) bool {
		return r.askLeave(ctx, skillName, effect)
	})
}

// decideLeave decides about leaving the sandbox, and returns the newest call of the skill that runs.
// What the user denied stays denied for the rest of the job. ok is false while the Run does not work.
func (r *run) decideLeave(ctx context.Context, skillName string, effect event.Effect) (d Decision, call event.ToolCall, ok bool) {
	var request CallRequest
	var state State
	var denied []string
	r.recorder.view(func(h *History) {
		state = h.runs[r.runID]
		request = CallRequest{RunID: r.runID, Experts: r.experts(), Grants: h.grantsOf(r.expert.Key), Plan: state.Planning(), Leaves: &effect}
		denied = h.denied
	})
	if state.phase == notStarted || state.phase == stopped || r.parts.Approvals == nil {
		return Decision{}, call, false
	}
	call = event.ToolCall{SkillName: skillName}
	for _, c := range slices.Backward(state.open()) {
		if c.Started && c.Result == nil && c.SkillName == skillName {
			call = c.ToolCall
			break
		}
	}
	request.Call = call
	d = r.parts.Approvals.Decide(ctx, request)
	if d.Do == job.Ask && (slices.Contains(denied, d.Digest) || state.denials >= maxDenials) {
		d.Do = job.Deny
	}
	return d, call, true
}

// askLeave asks the user. Time that passes meanwhile does not count for limits.
func (r *run) askLeave(ctx context.Context, skillName string, effect event.Effect) bool {
	r.budget.pause(r.parts.Source)
	defer r.budget.resume(r.parts.Source)
	select {
	case r.exec.asking <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-r.exec.asking }()
	d, call, ok := r.decideLeave(ctx, skillName, effect) // another answer can have come meanwhile
	if !ok || d.Do != job.Ask {
		return ok && d.Do == job.Allow
	}
	asked := event.ApprovalRequested{
		ToolCallID: call.ID, Effect: r.parts.redactEffect(d.Effect), Sandbox: d.Sandbox, Digest: d.Digest, Rule: d.By, Why: d.Why, Once: d.Once,
		Expires: r.parts.Source.Now().Add(maxLeaveTime).UnixMilli(),
	}
	if r.reports.record(r.life, asked) != nil {
		return false
	}
	answer, err := r.parts.Approver.Ask(ctx, event.Request{
		JobID: r.spec.JobID, RunID: r.runID, ExpertKey: r.expert.Key,
		Approval: &event.Approval{Call: call, Experts: r.experts(), ApprovalRequested: asked},
	})
	if r.life.Err() != nil {
		return false // the Run stops, and waits for its tools
	}
	said := event.ApprovalAnswered{ToolCallID: call.ID, Digest: d.Digest, Allow: answer.Allow, By: event.ByUser, Scope: answer.Scope, Reason: answer.Reason}
	if err != nil {
		said = event.ApprovalAnswered{ToolCallID: call.ID, Digest: d.Digest, By: event.ByTimeout, Reason: "no answer came in time"}
	}
	recorded := r.reports.record(r.life, said)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrNoAnswer) {
		r.stop(&StopError{Name: ApproverFailure, Err: fmt.Errorf("whether the sandbox can be left could not be asked: %w", err)})
	}
	return recorded == nil && said.Allow
}

// openQuestions are those of a job about leaving the sandbox.
type openQuestions struct {
	mu   sync.Mutex
	open map[questionKey]*question
	all  sync.WaitGroup
}

type questionKey struct{ runID, digest string }

// A question is asked once for all programs that wait for its answer.
type question struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{} // closed when allow is set
	allow   bool
}

// ask returns the answer to a question, false if there is none in time or if too many are open. When
// no one waits for it any more, it is cancelled.
func (q *openQuestions) ask(ctx, life context.Context, key questionKey, ask func(context.Context) bool) bool {
	one := q.join(life, key, ask)
	if one == nil {
		return false
	}
	select {
	case <-one.done:
		return one.allow
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if one.waiting--; one.waiting == 0 {
		one.cancel()
	}
	return false
}

// join returns the open question with this key, or asks it; nil if too many are open.
func (q *openQuestions) join(life context.Context, key questionKey, ask func(context.Context) bool) *question {
	q.mu.Lock()
	defer q.mu.Unlock()
	if one := q.open[key]; one != nil && one.waiting > 0 {
		one.waiting++
		return one
	}
	if len(q.open) >= maxQuestions || q.open[key] != nil { // or it is being cancelled
		return nil
	}
	if q.open == nil {
		q.open = make(map[questionKey]*question)
	}
	ctx, cancel := context.WithTimeout(life, maxLeaveTime)
	one := &question{waiting: 1, cancel: cancel, done: make(chan struct{})}
	q.open[key] = one
	q.all.Go(func() {
		defer cancel()
		allow := ask(ctx)
		q.mu.Lock()
		defer q.mu.Unlock()
		one.allow = allow
		delete(q.open, key)
		close(one.done)
	})
	return one
}
