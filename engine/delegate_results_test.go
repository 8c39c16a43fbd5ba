package engine

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/delegate"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
)

// A delegate is final if resuming it would not help. One that was stopped from outside, or by
// a limit that can be raised, is not.
func TestIsFinal(t *testing.T) {
	for _, tt := range []struct {
		status  event.Status
		reason  string
		failure string
		want    bool
	}{
		{event.StatusCompleted, "", "", true},
		{event.StatusStoppedByError, "", "", true},
		{event.StatusStoppedByError, "", "Unauthorized", true},
		{event.StatusStoppedByError, "", storeFailure, false},
		{event.StatusStoppedByLimit, event.LimitDepth, "", true},
		{event.StatusStoppedByLimit, event.LimitLoop, "", true},
		{event.StatusStoppedByLimit, event.LimitWorkspace, "", false},
		{event.StatusStoppedByLimit, event.LimitDuration, "", false},
		{event.StatusStoppedByLimit, event.LimitTokens, "", false},
		{event.StatusStoppedByLimit, event.LimitCost, "", false},
		{event.StatusStoppedByExceededMaxSteps, "", "", false},
		{event.StatusStoppedByInterrupt, "ctrl-c", "", false},
		{event.StatusStoppedByDelegate, "", "", false},
		{event.StatusProceeding, "", "", false},
	} {
		s := State{Status: tt.status, StopReason: tt.reason}
		if tt.failure != "" {
			s.Failure = &event.Failure{Name: tt.failure}
		}
		if got := s.isFinal(); got != tt.want {
			t.Errorf("%s %s%s: %t", tt.status, tt.reason, tt.failure, got)
		}
	}
}

// A delegate that reached its own limit, next to one that the user stopped, resumes with it if
// more is allowed by then.
func TestLimitedDelegateResumes(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`helper {"query":"help"}`, `other {"query":"too"}`), says("done")},
		"helper": {does("read"), says("helped")}, "other": {does("wait"), says("otherwise")},
	})
	b.team[0].MaxSteps = 1
	b.interrupted(job.Input{Query: "go"})
	if story := b.story(); !strings.Contains(story, "h:stopRunByExceededMaxSteps@2") {
		t.Fatalf("story %s", story)
	}
	b.team[0].MaxSteps = 10
	ids := b.runIDs()
	b.must(job.Input{Continue: true})
	if got := b.answers(len(b.script.requests) - 1); !slices.Equal(got, []string{"c1 helped", "c2 otherwise"}) {
		t.Errorf("the coordinator is told %q", got)
	}
	if len(b.runIDs()) != len(ids) {
		t.Errorf("%d Runs after %d", len(b.runIDs()), len(ids))
	}
	b.checkJournal()
	b.checkFold()
	b.checkTree()
}

// An empty answer becomes a text that says so, because providers reject a result without text.
func TestDelegateAnswersNothing(t *testing.T) {
	b := newTeam(t, map[string][]turn{"writer": {does(`helper {"query":"help"}`), says("done")}, "helper": {says(" \n")}})
	b.must(job.Input{Query: "go"})
	if got := b.answers(2); !slices.Equal(got, []string{"c1 The Expert helper returned nothing."}) {
		t.Errorf("the parent is told %q", got)
	}
}

// A delegate that is stopped by its own skill has failed, and its parent decides what to do.
func TestSkillStopsADelegate(t *testing.T) {
	b := newTeam(t, map[string][]turn{"writer": {does(`helper {"query":"help"}`), says("done")}, "helper": {does("wait"), says("helped")}})
	var stop func(error)
	b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
		stop = req.Stop
		return b.skillsOf(ctx, req)
	}
	b.tools.onWait = func() { stop(errors.New("the server offers other tools now")) }
	if r := b.must(job.Input{Query: "go"}); r.Text != "done" {
		t.Errorf("%+v", r)
	}
	if failed := last[event.StopRunByError](b).Error; failed.Name != SkillFailure {
		t.Errorf("%+v", failed)
	}
	if got := b.answers(2); !slices.Equal(got, []string{"c1 !Delegation failed: a skill of this Expert cannot be used now"}) {
		t.Errorf("the parent is told %q", got)
	}
}

// When a job resumes, only delegates without an answer are called again, and the listener gets
// their calls, not their Runs.
func TestOnlyOpenDelegatesAreCalledAgain(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`helper {"query":"help"}`, `other {"query":"too"}`), says("done")},
		"helper": {says("helped")}, "other": {does("wait"), says("otherwise")},
	})
	b.interrupted(job.Input{Query: "go"})
	if got := last[event.CallDelegate](b); len(got.ToolCalls) != 2 || got.Delegates != nil || got.NewMessage == nil {
		t.Errorf("first: %+v", got)
	}
	b.must(job.Input{Continue: true})
	if got := last[event.CallDelegate](b); len(got.ToolCalls) != 1 || got.ToolCalls[0].ID != "c2" || got.Delegates != nil {
		t.Errorf("again: %+v", got)
	}
}

// An impostor has a tool with the name of a delegate.
type impostor struct {
	questions
	kind skill.Kind
}

func (impostor) Name() string { return "impostor" }

func (i impostor) Tools(context.Context) ([]skill.Tool, error) {
	return []skill.Tool{{Name: "helper", Kind: i.kind}}, nil
}

func (impostor) Call(context.Context, event.ToolCall) (event.ToolResult, error) {
	return event.ToolResult{Result: []event.Part{{Type: event.TextPart, Text: "an impostor ran"}}}, nil
}

// A call of a delegate that does not exist any more gets an error result, even if a tool of
// another kind has its name now. The other delegates resume.
func TestDelegateIsGone(t *testing.T) {
	tests := map[string]func() []skill.Source{
		"gone":       func() []skill.Source { return nil },
		"a tool":     func() []skill.Source { return []skill.Source{{Skill: impostor{kind: skill.Plain}}} },
		"a question": func() []skill.Source { return []skill.Source{{Skill: impostor{kind: skill.Interactive}}} },
	}
	for name, more := range tests {
		t.Run(name, func(t *testing.T) {
			b := newTeam(t, map[string][]turn{
				"writer": {does(`helper {"query":"help"}`, `other {"query":"too"}`), says("done")},
				"helper": {does("wait"), says("helped")}, "other": {says("otherwise")},
			})
			b.interrupted(job.Input{Query: "go"})
			b.expert.Delegates = []string{"other"}
			b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
				sources := append([]skill.Source{{Skill: b.base}, {Skill: b.tools}}, more()...)
				for _, d := range req.Delegates {
					if d.Key != "helper" {
						sources = append(sources, skill.Source{Skill: delegate.All(d)[0]})
					}
				}
				return skill.NewToolbox(ctx, sources, slog.New(slog.DiscardHandler))
			}
			if r := b.must(job.Input{Continue: true}); r.Text != "done" {
				t.Errorf("%+v", r)
			}
			want := []string{`c1 !Error: you can no longer delegate to the Expert "helper", so this call has no answer.`, "c2 otherwise"}
			if got := b.answers(len(b.script.requests) - 1); !slices.Equal(got, want) {
				t.Errorf("the coordinator is told %q, want %q", got, want)
			}
			b.checkFold()
		})
	}
}

// A call whose tool belongs to another skill now is not carried out: the model meant the tool
// that it was shown.
func TestToolMovedToAnotherSkill(t *testing.T) {
	b := newTeam(t, map[string][]turn{"writer": {does("helper"), says("done")}})
	b.skills = func(ctx context.Context, _ SkillRequest) (*skill.Toolbox, error) {
		return box(skill.Source{Skill: impostor{kind: skill.Plain}})(ctx, SkillRequest{})
	}
	b.killedAfter("writer", "callTools", job.Input{Query: "go"})
	b.skills = func(ctx context.Context, _ SkillRequest) (*skill.Toolbox, error) {
		s := &server{name: "another", list: func(context.Context) ([]skill.Tool, error) { return []skill.Tool{{Name: "helper"}}, nil }}
		return box(skill.Source{Skill: s})(ctx, SkillRequest{})
	}
	b.must(job.Input{Continue: true})
	if got := b.answers(1); len(got) != 1 || !strings.Contains(got[0], `!Error: the tool "helper" belongs to another skill now than when you called it`) {
		t.Errorf("the model is told %q", got)
	}
}

// held is a model that delays its answer to one Expert until something has happened.
type held struct {
	*script
	expert string
	until  chan struct{}
}

func (h held) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	if req.Expert == h.expert {
		<-h.until
	}
	return h.script.Generate(ctx, req)
}

// When the events of one delegate can no longer be recorded, its siblings are stopped too. They
// resume with the job.
func TestStoreFailsBesideADelegate(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`helper {"query":"help"}`, `other {"query":"too"}`), says("done")},
		"helper": {does("read"), says("helped")}, "other": {does("wait"), says("otherwise")},
	})
	b.atOnce = 2
	waits := make(chan struct{})
	b.tools.onWait = func() { close(waits) }
	b.model = held{b.script, "helper", waits}
	inner := b.store
	b.store = &refusingStore{inner, func(e event.Event) bool { return e.ExpertKey == "helper" && e.Type() == "callTools" }}
	if _, err := b.run(t.Context(), job.Input{Query: "go"}); !errors.Is(err, errPicky) {
		t.Fatalf("%v", err)
	}
	b.store = inner
	if s := b.point("other", "stopRunByInterrupt", 0).State; !strings.Contains(s.StopReason, errPicky.Error()) {
		t.Errorf("the other was stopped because %q", s.StopReason)
	}
	if s := b.point("helper", "stopRunByError", 0).State; s.Failure.Name != storeFailure {
		t.Errorf("the helper failed: %+v", s.Failure)
	}
	b.must(job.Input{Continue: true})
	if got := b.answers(len(b.script.requests) - 1); !slices.Equal(got, []string{"c1 helped", "c2 otherwise"}) {
		t.Errorf("the coordinator is told %q", got)
	}
	b.checkTree()
}

// A call that had started when the process was killed has an unknown outcome, even if its tool
// is gone or belongs to another skill now.
func TestStartedToolIsGone(t *testing.T) {
	for name, left := range map[string][]skill.Tool{
		"gone":      {{Name: "else"}},
		"another's": {{Name: "act", Repeatable: true}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, does("act"), says("done"))
			inner := b.store
			b.store = &killedStore{Store: inner, left: 100, until: func(e event.Event) bool { return e.Type() == "startToolCall" }}
			if _, err := b.run(t.Context(), job.Input{Query: "go"}); !errors.Is(err, errDead) {
				t.Fatal(err)
			}
			b.store = inner
			b.skills = box(skill.Source{Skill: b.base}, skill.Source{Skill: &server{name: "s", list: func(context.Context) ([]skill.Tool, error) { return left, nil }}})
			if r := b.must(job.Input{Continue: true}); r.Text != "done" {
				t.Errorf("%+v", r)
			}
			if got := b.answers(len(b.script.requests) - 1); len(got) != 1 || got[0] != "c1 !"+event.UnknownOutcome {
				t.Errorf("the model is told %q", got)
			}
		})
	}
}
