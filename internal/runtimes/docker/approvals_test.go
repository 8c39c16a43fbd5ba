package docker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/replay"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/skills/delegate"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// byTool decides on the host by the name of the tool.
type byTool map[string]job.Verdict

func (v byTool) Decide(_ context.Context, q engine.CallRequest) engine.Decision {
	return engine.Decision{Do: v[q.Call.ToolName], By: "a rule", Why: "so", Digest: q.Call.ToolName + string(q.Call.Args), Effect: event.Effect{Kind: event.ToolEffect, Path: "s3cret-value"}}
}

type hostApprover func(event.Request) (event.Answer, error)

func (f hostApprover) Ask(_ context.Context, req event.Request) (event.Answer, error) { return f(req) }

// callsTools is an honest container whose model calls the tools read, write and push.
func (s *stage) callsTools(ran *[]string) func(io.Reader, io.Writer) {
	return s.playsScript("[[turn]]\n[[turn.call]]\ntool = 'read'\n[[turn.call]]\ntool = 'write'\n[[turn.call]]\ntool = 'push'\n[[turn]]\ntext = 'done'\n",
		func(tool string) { *ran = append(*ran, tool) })
}

// playsScript is an honest container whose model plays a script, with the tools read, write and push.
func (s *stage) playsScript(script string, call func(tool string)) func(io.Reader, io.Writer) {
	cassette, err := replay.Parse("answers", []byte(script))
	if err != nil {
		s.t.Fatal(err)
	}
	return func(in io.Reader, out io.Writer) {
		conn, err := hostlink.Dial(in, out)
		if err != nil {
			s.t.Errorf("dial: %v", err)
			return
		}
		go func() { _ = conn.Serve() }()
		_ = conn.Send(passed)
		_, err = engine.Execute(s.t.Context(), conn.Document().Spec, engine.Parts{
			Model: replay.New(cassette), Store: conn.Store(), Source: engine.SystemSource(), Log: slog.New(slog.DiscardHandler), Lean: true,
			Approvals: conn, Approver: conn, Inbox: conn.Inbox(),
		}, func(ctx context.Context, request engine.SkillRequest) (*skill.Toolbox, error) {
			var all []skill.Source
			for _, d := range request.Delegates {
				all = append(all, skill.Source{Skill: delegate.All(d)[0]})
			}
			for _, name := range []string{"read", "write", "push"} {
				all = append(all, skill.Source{Skill: skill.Func(name, name, func(context.Context, struct{}) (string, error) {
					call(name)
					return "ok", nil
				})})
			}
			return skill.NewToolbox(ctx, all, slog.New(slog.DiscardHandler))
		})
		end := &hostlink.End{}
		if err != nil {
			end.Error = err.Error()
		}
		_ = conn.Send(hostlink.Up{End: end})
	}
}

// The host decides about the calls of a container, and asks its user.
func TestHostDecides(t *testing.T) {
	s := newStage(t)
	s.spec.Sequential = true
	s.secret.Add("NAME", "s3cret-value")
	s.approvals = byTool{"read": job.Allow, "write": job.Deny, "push": job.Ask}
	var ran []string
	result, err := s.run(t.Context(), s.callsTools(&ran))
	if err != nil || result.Status != event.StatusStoppedByApproval || len(result.Waiting) != 1 || len(ran) != 0 {
		t.Fatalf("%+v, %v; ran %v", result, err, ran)
	}
	if path := result.Waiting[0].Request.Effect.Path; strings.Contains(path, "s3cret") || path == "" {
		t.Errorf("the effect is %q", path)
	}
	s.spec.Input, s.spec.RunID, s.stopped = job.Input{Continue: true}, "", make(chan struct{})
	var asked []string
	s.approver = hostApprover(func(req event.Request) (event.Answer, error) {
		asked = append(asked, req.Approval.Call.ToolName+" "+strings.Join(req.Approval.Experts, ">"))
		return event.Answer{Allow: true}, nil
	})
	result, err = s.run(t.Context(), s.callsTools(&ran))
	if err != nil || result.Status != event.StatusCompleted || !slices.Equal(ran, []string{"read", "push"}) || !slices.Equal(asked, []string{"push writer"}) {
		t.Fatalf("%+v, %v; ran %v; asked %v", result, err, ran, asked)
	}
	var allowed []string
	for r, err := range s.store.Read(t.Context(), stageJob, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := r.Event.Body.(event.StartToolCall); ok {
			allowed = append(allowed, b.AllowedBy)
		}
	}
	if !slices.Equal(allowed, []string{"a rule", "user"}) {
		t.Errorf("allowed by %q", allowed)
	}
}

// An error of the approver is in the result, as with the runtime local.
func TestHostApproverFails(t *testing.T) {
	s := newStage(t)
	s.approvals = byTool{"read": job.Allow, "write": job.Allow, "push": job.Ask}
	gone := errors.New("the terminal is gone")
	s.approver = hostApprover(func(event.Request) (event.Answer, error) { return event.Answer{}, gone })
	var ran []string
	result, err := s.run(t.Context(), s.callsTools(&ran))
	if err != nil || result.Status != event.StatusStoppedByError || !errors.Is(result.Err, gone) || len(ran) != 0 {
		t.Errorf("%+v, %v; ran %v", result, err, ran)
	}
}

// A container that starts a call which the host did not allow, or answers for the user, ends the job.
func TestContainerDecidesItself(t *testing.T) {
	call := func(name string) []event.Body {
		id := "c-" + name
		return []event.Body{event.StartGeneration{}, event.CallTools{
			NewMessage: &event.Message{ID: "m", Type: event.ExpertMessage, Contents: []event.Part{{ID: "p", Type: event.ToolCallPart, ToolCallID: id, ToolName: name, Args: rawjson.Value(`{}`)}}},
			ToolCalls:  []event.ToolCall{{ID: id, SkillName: "s", ToolName: name}},
		}}
	}
	const digest = "push{}"
	requested := event.ApprovalRequested{ToolCallID: "c-push", Digest: digest}
	yes := event.ApprovalAnswered{ToolCallID: "c-push", Digest: digest, Allow: true, By: event.ByUser}
	start := func(name string) event.Body { return event.StartToolCall{ToolCallID: "c-" + name, AllowedBy: "me"} }
	decide := func(name string) hostlink.Up {
		return hostlink.Up{Decide: &hostlink.CallQuery{RunID: "run", CallID: "c-" + name}}
	}
	for _, tt := range []struct {
		name string
		tool string
		then []any // events, or lines
		want string
	}{
		{"undecided", "read", []any{start("read")}, "a call that was not allowed"},
		{"denied", "write", []any{decide("write"), start("write")}, "a call that was not allowed"},
		{"asked, not answered", "push", []any{decide("push"), requested, start("push")}, "a call that was not allowed"},
		{"answered by itself", "push", []any{decide("push"), requested, yes}, "an answer that the user did not give"},
		{"another request", "push", []any{decide("push"), event.ApprovalRequested{ToolCallID: "c-push", Digest: "other"}}, "need not be asked about"},
		{"a request that is not needed", "read", []any{decide("read"), event.ApprovalRequested{ToolCallID: "c-read", Digest: "read{}"}}, "need not be asked about"},
		{"the start is kept back", "read", []any{decide("read"), event.EndToolCall{ToolResult: event.ToolResult{ID: "c-read", SkillName: "s", ToolName: "read"}}}, "a call did that has not started"},
		{"the start is kept back, and the call denied", "write", []any{decide("write"), event.EndToolCall{ToolResult: event.ToolResult{ID: "c-write", SkillName: "s", ToolName: "write"}, Denied: true}}, "a call did that has not started"},
		{"twice", "read", []any{decide("read"), start("read"), start("read")}, "a call that was not allowed"},
		{"a decision about nothing", "read", []any{decide("nothing")}, "a call that is not open"},
		{"a question about nothing", "read", []any{hostlink.Up{Ask: &hostlink.CallQuery{RunID: "run", CallID: "c-read"}}}, "a call that does not wait"},
		{"allowed", "read", []any{decide("read"), start("read"), event.StopRunByInterrupt{Reason: "enough"}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			s.approvals = byTool{"read": job.Allow, "write": job.Deny, "push": job.Ask}
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
				id := 0
				for _, step := range append([]any{s.start()}, append(anys(call(tt.tool)), tt.then...)...) {
					switch step := step.(type) {
					case hostlink.Up:
						if step.Decide != nil {
							conn.Decide(t.Context(), engine.CallRequest{RunID: step.Decide.RunID, Call: event.ToolCall{ID: step.Decide.CallID}})
							continue
						}
						_ = conn.Send(step)
					case event.Body:
						id++
						e := event.Event{ID: "e" + strings.Repeat("x", id), JobID: stageJob, RunID: "run", ExpertKey: "writer", StepNumber: 1, Body: step}
						if _, err := journal.Append(t.Context(), e); err != nil {
							return // the host has hung up
						}
					}
				}
				_ = conn.Send(hostlink.Up{End: &hostlink.End{}})
			})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func anys(bodies []event.Body) (all []any) {
	for _, b := range bodies {
		all = append(all, b)
	}
	return all
}
