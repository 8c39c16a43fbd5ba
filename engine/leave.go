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
	"github.com/perstack-go/perstack/skill"
)

// Leaving the sandbox: a program of a skill wants to use a host or a path that its sandbox does not
// offer. This happens in the middle of a call, or between calls, and is decided by the same rules. A
// question about it does not change how far a call is. It is recorded like that about a call, so that
// its answer holds for the rest of the job, also when the job is resumed.
//
// A connection waits for the answer. A path is shown to the programs that are started later: what a
// sandbox shows does not change while a program runs.

const (
	// maxLeaveTime is how long a program waits for the answer of the user.
	maxLeaveTime = 2 * time.Minute
	// maxQuestions is how many questions of a job about leaving the sandbox can be open. A program
	// can try any number of hosts at once.
	maxQuestions = 16
	// maxOpened is how many paths outside of the sandbox a Run can use. Every program gets all of them.
	maxOpened = 64
)

// A departure is what the programs of a skill want to use outside of their sandbox.
type departure struct {
	skillName, callID string // the call is empty if it is not known
	effect            event.Effect
}

// leave decides whether the programs of a skill can use something outside of their sandbox, and asks
// the user if need be. It is called from any goroutine.
func (r *run) leave(ctx context.Context, skillName string, effect event.Effect) Leaving {
	wanted := departure{skillName, skill.CallID(ctx), effect}
	d, _, ok := r.decideLeave(ctx, wanted)
	switch {
	case !ok:
		return Leaving{}
	case d.Do == job.Allow:
		r.byRules.add(effect.Path)
		return Leaving{Allow: true}
	case d.Do != job.Ask:
		return refusal(d)
	case r.parts.Approver == nil:
		return Leaving{}
	}
	return r.exec.questions.ask(ctx, r.life, questionKey{r.runID, d.Digest}, func(ctx context.Context) Leaving {
		return r.askLeave(ctx, wanted)
	})
}

// refusal says who denied to leave the sandbox, now or earlier in the job. A rule that does not say why
// tells the model nothing, nor does a question without an answer.
func refusal(d Decision) Leaving {
	switch {
	case d.By == event.ByTimeout:
		return Leaving{}
	case d.By == event.ByUser:
		return denial("denied by the user", d.Why)
	case d.Why != "":
		return denial("denied by a rule", d.Why)
	}
	return Leaving{}
}

func denial(text, why string) Leaving {
	return Leaving{Denied: because(text, why) + ". " + noWayAround}
}

// decideLeave decides about leaving the sandbox, and returns the call that it is about: the newest one
// of the skill that runs, if no other is known. What the user denied stays denied for the rest of the
// job. A path that the user allowed to this Run stays allowed. ok is false while the Run does not work.
func (r *run) decideLeave(ctx context.Context, wanted departure) (d Decision, call event.ToolCall, ok bool) {
	var request CallRequest
	var state State
	var denied []event.ApprovalAnswered
	r.recorder.view(func(h *History) {
		state = h.runs[r.runID]
		request = CallRequest{RunID: r.runID, Experts: r.experts(), Grants: h.grantsOf(r.expert.Key), Leaves: &wanted.effect}
		denied = h.denied
	})
	if state.phase == notStarted || state.phase == stopped || r.parts.Approvals == nil {
		return Decision{}, call, false
	}
	if state.Planning() { // no reason: it would tell a model which paths exist
		return Decision{Do: job.Deny}, call, true
	}
	call = event.ToolCall{SkillName: wanted.skillName}
	for _, c := range slices.Backward(state.open()) {
		if c.Started && c.Result == nil && c.SkillName == wanted.skillName && (wanted.callID == "" || wanted.callID == c.ID) {
			call = c.ToolCall
			break
		}
	}
	request.Call = call
	d = r.parts.Approvals.Decide(ctx, request)
	i := slices.IndexFunc(denied, func(b event.ApprovalAnswered) bool { return b.Digest == d.Digest })
	switch {
	case d.Do != job.Ask:
	case i >= 0:
		d.Do, d.By, d.Why = job.Deny, denied[i].By, denied[i].Reason
	case state.denials >= maxDenials:
		d.Do = job.Deny
	case slices.ContainsFunc(state.opened, func(a event.ApprovalRequested) bool { return a.Digest == d.Digest }):
		d.Do = job.Allow
	}
	return d, call, true
}

// opened returns the paths outside of the sandbox that the next program of a skill can use. Each is
// decided about again: a rule can be stricter than when the answer was given.
func (r *run) opened(ctx context.Context, skillName string) (paths []string) {
	var known []string
	r.recorder.view(func(h *History) {
		for _, a := range h.runs[r.runID].opened {
			known = append(known, a.Effect.Path)
		}
		for _, g := range h.grantsOf(r.expert.Key) {
			known = append(known, g.Path)
		}
	})
	if r.parts.GrantedPaths != nil {
		known = append(known, r.parts.GrantedPaths(r.expert.Key, skillName)...)
	}
	known = append(known, r.byRules.list()...)
	slices.Sort(known) // programs with the same paths share a sandbox
	for _, path := range slices.Compact(known) {
		if path == "" || len(paths) == maxOpened {
			continue
		}
		effect := event.Effect{Kind: event.PathEffect, Path: path}
		if d, _, ok := r.decideLeave(ctx, departure{skillName, skill.CallID(ctx), effect}); ok && d.Do == job.Allow {
			paths = append(paths, path)
		}
	}
	return paths
}

// A pathSet holds the paths outside of the sandbox that rules allowed to a Run.
type pathSet struct {
	mu    sync.Mutex
	paths []string
}

func (s *pathSet) add(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if path != "" && len(s.paths) < maxOpened && !slices.Contains(s.paths, path) {
		s.paths = append(s.paths, path)
	}
}

func (s *pathSet) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.paths)
}

// askLeave asks the user. Time that passes meanwhile does not count for limits.
func (r *run) askLeave(ctx context.Context, wanted departure) Leaving {
	r.budget.pause(r.parts.Source)
	defer r.budget.resume(r.parts.Source)
	select {
	case r.exec.asking <- struct{}{}:
	case <-ctx.Done():
		return Leaving{}
	}
	defer func() { <-r.exec.asking }()
	d, call, ok := r.decideLeave(ctx, wanted) // another answer can have come meanwhile
	switch {
	case !ok:
		return Leaving{}
	case d.Do == job.Allow:
		return Leaving{Allow: true}
	case d.Do != job.Ask:
		return refusal(d)
	}
	asked := event.ApprovalRequested{
		ToolCallID: call.ID, Effect: r.parts.redactEffect(d.Effect), Sandbox: d.Sandbox, Digest: d.Digest, Rule: d.By, Why: d.Why, Once: d.Once,
		Expires: r.parts.Source.Now().Add(maxLeaveTime).UnixMilli(),
	}
	if r.reports.record(r.life, asked) != nil {
		return Leaving{}
	}
	answer, err := r.parts.Approver.Ask(ctx, event.Request{
		JobID: r.spec.JobID, RunID: r.runID, ExpertKey: r.expert.Key,
		Approval: &event.Approval{Call: call, Experts: r.experts(), ApprovalRequested: asked},
	})
	if r.life.Err() != nil {
		return Leaving{} // the Run stops, and waits for its tools
	}
	said := event.ApprovalAnswered{ToolCallID: call.ID, Digest: d.Digest, Allow: answer.Allow, By: event.ByUser, Scope: answer.Scope, Reason: answer.Reason}
	if err != nil {
		said = noAnswer(call.ID, d)
	}
	recorded := r.reports.record(r.life, said)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrNoAnswer) {
		r.stop(&StopError{Name: ApproverFailure, Err: fmt.Errorf("whether the sandbox can be left could not be asked: %w", err)})
	}
	if said.Allow || err != nil {
		return Leaving{Allow: recorded == nil && said.Allow}
	}
	return denial("denied by the user", answer.Reason)
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
	done    chan struct{} // closed when answer is set
	answer  Leaving
}

// ask returns the answer to a question; nothing is allowed if there is none in time or if too many are
// open. When no one waits for it any more, it is cancelled.
func (q *openQuestions) ask(ctx, life context.Context, key questionKey, ask func(context.Context) Leaving) Leaving {
	one := q.join(life, key, ask)
	if one == nil {
		return Leaving{}
	}
	select {
	case <-one.done:
		return one.answer
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if one.waiting--; one.waiting == 0 {
		one.cancel()
	}
	return Leaving{}
}

// join returns the open question with this key, or asks it; nil if too many are open.
func (q *openQuestions) join(life context.Context, key questionKey, ask func(context.Context) Leaving) *question {
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
		answer := ask(ctx)
		q.mu.Lock()
		defer q.mu.Unlock()
		one.answer = answer
		delete(q.open, key)
		close(one.done)
	})
	return one
}
