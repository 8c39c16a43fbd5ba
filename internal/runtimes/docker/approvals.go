package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/approval/calls"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/skill"
)

// decider returns what decides about the tool calls of the container. It runs here, on files and
// records that the container cannot change unseen.
func (r *runner) decider() (d *calls.Decider, closeFiles func() error, err error) {
	ws := r.spec.Workspace
	files, err := workspace.Open(ws.Dir, workspace.Options{Protected: ws.Hidden, ReadOnly: ws.ReadOnly})
	if err != nil {
		return nil, nil, err
	}
	return &calls.Decider{Spec: r.spec, Workspace: files, Lock: r.lock, Granted: r.parts.Granted, Inside: job.ContainerWorkspace}, files.Close, nil
}

// maxDeciding is how many decisions a container can wait for: far more than it has Runs.
const maxDeciding = 1000

// decide decides about a call. It reads files, so it does not keep the session from listening.
func (s *session) decide(ctx context.Context, q hostlink.CallQuery, t *talk) error {
	request, err := s.follower.CallRequest(q.RunID, q.CallID)
	switch {
	case err != nil:
		return err
	case s.runner.parts.Approvals == nil:
		return errors.New("the container asks for a decision, and none is needed")
	case s.deciding == maxDeciding:
		return fmt.Errorf("the container waits for more than %d decisions", maxDeciding)
	}
	s.deciding++
	request.Tool = skill.Tool{Digest: q.Tool, Destructive: q.Destructive}
	s.later(func() func() error {
		d := s.runner.parts.Approvals.Decide(ctx, request)
		return func() error {
			s.deciding--
			s.follower.Decided(request, d)
			return t.send(hostlink.Down{Done: &hostlink.Done{ID: q.ID, Decision: (*hostlink.Decision)(&d)}})
		}
	})
	return nil
}

// ask asks the user about a call. The container asks one thing at a time.
func (s *session) ask(ctx context.Context, q hostlink.CallQuery, t *talk) error {
	if given, ok := s.follower.Answered(q.RunID, q.CallID); ok { // in another process
		return t.send(hostlink.Down{Done: &hostlink.Done{ID: q.ID, Answer: answerOf(given)}})
	}
	request, err := s.follower.UserRequest(q.RunID, q.CallID)
	if err != nil {
		return err
	}
	if s.asked != nil {
		return errors.New("the container asks the user two things at once")
	}
	approver := s.runner.parts.Approver
	if approver == nil {
		return t.send(hostlink.Down{Done: &hostlink.Done{ID: q.ID, Answer: &hostlink.Answer{None: true}}})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.asked = &question{q.RunID, q.CallID, cancel}
	s.later(func() func() error {
		answer, err := approver.Ask(ctx, request)
		cancel(nil)
		return func() error {
			s.asked = nil
			if err == nil && request.Approval != nil {
				err = s.record(request, answer)
			}
			done := &hostlink.Done{ID: q.ID}
			given, ok := s.follower.Answered(q.RunID, q.CallID)
			_, void := errors.AsType[*engine.AnswerError](err)
			switch {
			case ok: // here, or in another process that came first
				done.Answer = answerOf(given)
			case void, errors.Is(err, engine.ErrNoAnswer):
				done.Answer = &hostlink.Answer{None: true}
			case err != nil:
				s.approverErr = err
				done.Error = err.Error()
			default:
				done.Answer = &hostlink.Answer{Text: answer.Text}
			}
			return t.send(hostlink.Down{Done: done})
		}
	})
	return nil
}

// A question is what the user is asked.
type question struct {
	runID, callID string
	end           context.CancelCauseFunc // when the answer comes from elsewhere
}

func answerOf(given event.ApprovalAnswered) *hostlink.Answer {
	return &hostlink.Answer{Allow: given.Allow, Scope: given.Scope, Reason: given.Reason}
}

// record records what the user said at the terminal.
func (s *session) record(request event.Request, answer event.Answer) error {
	a := request.Approval
	return s.follower.Answer(engine.RunAnswer{RunID: request.RunID, ApprovalAnswered: event.ApprovalAnswered{
		ToolCallID: a.Call.ID, Digest: a.Digest, Allow: answer.Allow, By: event.ByUser, Scope: answer.Scope, Reason: answer.Reason,
	}})
}

// takeAnswer records an answer of the user that comes from another process. It is called from any
// goroutine, and waits for that of the session.
func (s *session) takeAnswer(answer engine.RunAnswer) error {
	result := make(chan error, 1)
	select {
	case s.answers <- func() { result <- s.pass(answer) }:
		return <-result
	case <-s.over:
		return engine.Stopping(answer)
	}
}

// pass records an answer and tells the container: as what the user said to its question, if this one
// is open. Before the container is there, the history that it gets says enough.
func (s *session) pass(answer engine.RunAnswer) error {
	if s.left || s.follower.Ended() {
		return engine.Stopping(answer)
	}
	if err := s.follower.Answer(answer); err != nil {
		return err
	}
	switch q := s.asked; {
	case q != nil && q.runID == answer.RunID && q.callID == answer.ToolCallID:
		q.end(engine.ErrNoAnswer)
	case s.talk != nil:
		if err := s.talk.send(hostlink.Down{Answered: &answer}); err != nil {
			s.log.Debug("the container could not be told an answer", "error", err)
		}
	}
	return nil
}

// later runs work on a goroutine of its own, and then what it returns on that of the session.
func (s *session) later(work func() func() error) {
	go func() {
		reply := work()
		select {
		case s.replies <- reply:
		case <-s.over:
		}
	}()
}

// result adds to a result what only this process knows.
func (s *session) result(r engine.Result) engine.Result {
	if r.Status == event.StatusStoppedByError && r.Failure != nil && r.Failure.Name == engine.ApproverFailure {
		r.Err = s.approverErr
	}
	return r
}
