package docker

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

const pushes = "[[turn]]\n[[turn.call]]\ntool = 'push'\n[[turn]]\ntext = 'done'\n"

// patient waits until it is released.
type patient func(context.Context, event.Request)

func (f patient) Ask(ctx context.Context, req event.Request) (event.Answer, error) {
	f(ctx, req)
	<-ctx.Done()
	return event.Answer{}, context.Cause(ctx)
}

// records returns the bodies of a kind in the journal.
func records[T event.Body](s *stage) (all []T) {
	for r, err := range s.store.Read(s.t.Context(), stageJob, 0) {
		if err != nil {
			return all
		}
		if b, ok := r.Event.Body.(T); ok {
			all = append(all, b)
		}
	}
	return all
}

// waitingCall returns what another process sees of the first call that waits.
func (s *stage) waitingCall() (engine.RunAnswer, bool) {
	h, err := engine.Load(s.t.Context(), s.store, stageJob)
	if err != nil || len(h.Waiting()) == 0 {
		return engine.RunAnswer{}, false
	}
	w := h.Waiting()[0]
	return engine.RunAnswer{RunID: w.RunID, ApprovalAnswered: event.ApprovalAnswered{ToolCallID: w.Call.ID, Digest: w.Request.Digest, Allow: true, By: event.ByUser}}, true
}

// Of 16 answers from elsewhere one wins, the user at the terminal is released, and the call runs
// once.
func TestAnswersFromElsewhere(t *testing.T) {
	for _, allow := range []bool{true, false} {
		s := newStage(t)
		s.approvals = byTool{"push": job.Ask}
		var mu sync.Mutex
		won, lost := 0, 0
		s.approver = patient(func(_ context.Context, req event.Request) {
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					err := s.inbox.Answer(engine.RunAnswer{RunID: req.RunID, ApprovalAnswered: event.ApprovalAnswered{
						ToolCallID: req.Approval.Call.ID, Digest: req.Approval.Digest, Allow: allow, By: event.ByUser, Reason: "use staging",
					}})
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						won++
					} else if errors.As(err, new(*engine.AnswerError)) {
						lost++
					}
				})
			}
			all.Wait()
		})
		var ran []string
		result, err := s.run(t.Context(), s.playsScript(pushes, func(tool string) { ran = append(ran, tool) }))
		if err != nil || result.Status != event.StatusCompleted || won != 1 || lost != 15 {
			t.Fatalf("%+v, %v; %d won, %d lost", result, err, won, lost)
		}
		if answers := records[event.ApprovalAnswered](s); len(answers) != 1 || answers[0].Allow != allow {
			t.Errorf("recorded %+v", answers)
		}
		ends := records[event.EndToolCall](s)
		if allow != slices.Equal(ran, []string{"push"}) || len(ends) != 1 || ends[0].Denied == allow {
			t.Errorf("ran %v; %+v", ran, ends)
		}
		if text := ends[0].ToolResult.Result[0].Text; !allow && !strings.Contains(text, "denied by the user: use staging") {
			t.Errorf("the model is told %q", text)
		}
		if err := s.inbox.Answer(engine.RunAnswer{}); !isStopping(err) {
			t.Errorf("an answer to a job that has ended: %v", err)
		}
	}
}

func isStopping(err error) bool {
	wrong, ok := errors.AsType[*engine.AnswerError](err)
	return ok && wrong.Stopping
}

// A job that has stopped takes no answer while its container ends. The process that has the answer is
// told so, and can record it afterwards.
func TestAnswerAtTheEnd(t *testing.T) {
	s := newStage(t)
	s.approvals = byTool{"push": job.Ask}
	container := s.playsScript(pushes, func(string) {})
	result, err := s.run(t.Context(), func(in io.Reader, out io.Writer) {
		container(in, out)
		answer, ok := s.waitingCall()
		if err := s.inbox.Answer(answer); !ok || !isStopping(err) {
			t.Errorf("%v", err)
		}
	})
	if err != nil || result.Status != event.StatusStoppedByApproval || len(result.Waiting) != 1 {
		t.Errorf("%+v, %v", result, err)
	}
}

// An answer to a delegate that has stopped is used in the same execution.
func TestAnswerWhileOthersWork(t *testing.T) {
	s := newStage(t)
	s.approvals = byTool{"push": job.Ask, "read": job.Allow}
	s.spec.Limits.MaxParallel = 1 // so the helper has stopped when the other one works
	s.spec.Experts[0].Delegates = []string{"helper", "other"}
	for _, key := range s.spec.Experts[0].Delegates {
		s.spec.Experts = append(s.spec.Experts, &expert.Expert{Key: key, Name: key, Version: "1.0.0"})
	}
	var ran []string
	result, err := s.run(t.Context(), s.playsScript(`
[[turn]]
expert = 'writer'
[[turn.call]]
tool = 'helper'
args = { query = 'x' }
[[turn.call]]
tool = 'other'
args = { query = 'y' }
[[turn]]
expert = 'writer'
text = 'done'
[[turn]]
expert = 'helper'
[[turn.call]]
tool = 'push'
[[turn]]
expert = 'helper'
text = 'pushed'
[[turn]]
expert = 'other'
[[turn.call]]
tool = 'read'
[[turn]]
expert = 'other'
text = 'read'
`, func(tool string) {
		if ran = append(ran, tool); tool != "read" {
			return
		}
		answer, ok := s.waitingCall()
		if !ok {
			t.Error("nothing waits")
		}
		if err := s.inbox.Answer(answer); err != nil {
			t.Error(err)
		}
	}))
	if err != nil || result.Status != event.StatusCompleted || !slices.Equal(ran, []string{"read", "push"}) {
		t.Errorf("%+v, %v; ran %v", result, err, ran)
	}
	if answers := records[event.ApprovalAnswered](s); len(answers) != 1 {
		t.Errorf("recorded %+v", answers)
	}
}

// A job that is resumed takes an answer while its container is made. The container has it in its
// history, and asks nothing.
func TestAnswerBeforeTheContainer(t *testing.T) {
	s := newStage(t)
	s.approvals = byTool{"push": job.Ask}
	var ran []string
	container := func() func(io.Reader, io.Writer) {
		return s.playsScript(pushes, func(tool string) { ran = append(ran, tool) })
	}
	if result, err := s.run(t.Context(), container()); err != nil || result.Status != event.StatusStoppedByApproval {
		t.Fatalf("%+v, %v", result, err)
	}
	s.spec.Input, s.spec.RunID, s.stopped, s.told = job.Input{Continue: true}, "", make(chan struct{}), nil
	s.approver = patient(func(_ context.Context, req event.Request) { t.Errorf("asked about %s", req.Approval.Call.ToolName) })
	s.starting = func() {
		answer, _ := s.waitingCall()
		if err := s.inbox.Answer(answer); err != nil {
			t.Error(err)
		}
		if err := s.inbox.Answer(answer); !errors.As(err, new(*engine.AnswerError)) {
			t.Errorf("the second answer: %v", err)
		}
	}
	result, err := s.run(t.Context(), container())
	if err != nil || result.Status != event.StatusCompleted || !slices.Equal(ran, []string{"push"}) {
		t.Errorf("%+v, %v; ran %v", result, err, ran)
	}
	if slices.ContainsFunc(s.told, func(e event.Event) bool { return e.Type() == "approvalAnswered" }) {
		t.Error("an event of the Run was published before its start")
	}
}

// An answer that comes before the container asks is its answer. It can report it twice, and not
// another one.
func TestAnswerOvertakesTheQuestion(t *testing.T) {
	yes := event.ApprovalAnswered{ToolCallID: "c", Digest: "push{}", Allow: true, By: event.ByUser}
	no := event.ApprovalAnswered{ToolCallID: "c", Digest: "push{}", By: event.ByUser}
	for _, tt := range []struct {
		name   string
		answer event.ApprovalAnswered
		then   []event.Body
		want   string
	}{
		{"allowed", yes, []event.Body{yes, yes, event.StartToolCall{ToolCallID: "c"}, yes, event.StopRunByInterrupt{Reason: "enough"}}, ""},
		{"not reported", yes, []event.Body{event.StartToolCall{ToolCallID: "c"}, event.StopRunByInterrupt{Reason: "enough"}}, ""},
		{"denied, and started", no, []event.Body{no, event.StartToolCall{ToolCallID: "c"}}, "a call that was not allowed"},
		{"denied, and reported as allowed", no, []event.Body{yes}, "an answer that the user did not give"},
		{"allowed, asked again, and started", yes, []event.Body{
			yes, event.ApprovalRequested{ToolCallID: "c", Digest: "push{}"}, yes, event.StartToolCall{ToolCallID: "c"},
		}, "a call that was not allowed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			s.approvals = byTool{"push": job.Ask}
			_, err := s.run(t.Context(), func(in io.Reader, out io.Writer) {
				conn, err := hostlink.Dial(in, out)
				if err != nil {
					t.Errorf("dial: %v", err)
					return
				}
				go func() { _ = conn.Serve() }()
				_ = conn.Send(passed)
				journal, err := conn.Store().Open(t.Context(), stageJob)
				if err != nil {
					t.Error(err)
					return
				}
				id := "e"
				record := func(body event.Body) bool {
					id += "x"
					_, err := journal.Append(t.Context(), event.Event{ID: id, JobID: stageJob, RunID: "run", ExpertKey: "writer", StepNumber: 1, Body: body})
					return err == nil // otherwise the host has hung up
				}
				call := event.ToolCall{ID: "c", SkillName: "s", ToolName: "push"}
				for _, body := range []event.Body{s.start(), event.StartGeneration{}, event.CallTools{
					NewMessage: &event.Message{ID: "m", Type: event.ExpertMessage, Contents: []event.Part{{ID: "p", Type: event.ToolCallPart, ToolCallID: "c", ToolName: "push", Args: rawjson.Value(`{}`)}}},
					ToolCalls:  []event.ToolCall{call},
				}} {
					record(body)
				}
				conn.Decide(t.Context(), engine.CallRequest{RunID: "run", Call: call})
				record(event.ApprovalRequested{ToolCallID: "c", Digest: "push{}"})
				if err := s.inbox.Answer(engine.RunAnswer{RunID: "run", ApprovalAnswered: tt.answer}); err != nil {
					t.Error(err)
				}
				said, err := conn.Ask(t.Context(), event.Request{RunID: "run", Approval: &event.Approval{Call: call}})
				if err != nil || said.Allow != tt.answer.Allow {
					t.Errorf("%+v, %v", said, err)
				}
				for _, body := range tt.then {
					if !record(body) {
						return
					}
				}
				_ = conn.Send(hostlink.Up{End: &hostlink.End{}})
			})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if answers := records[event.ApprovalAnswered](s); len(answers) != 1 || answers[0].Allow != tt.answer.Allow {
				t.Errorf("recorded %+v", answers)
			}
		})
	}
}
