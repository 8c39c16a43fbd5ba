package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// records returns the journal's lines.
func (b *bench) records() []string {
	b.t.Helper()
	var lines []string
	for r, err := range b.store.Read(context.Background(), "job", 0) {
		if err != nil {
			b.t.Fatal(err)
		}
		lines = append(lines, string(r.Line))
	}
	return lines
}

// point finds the checkpoint that the nth event of a type left, of an Expert.
func (b *bench) point(expert string, kind event.Type, nth int) Point {
	b.t.Helper()
	h := NewHistory()
	for r, err := range b.store.Read(context.Background(), "job", 0) {
		if err != nil {
			b.t.Fatal(err)
		}
		before, after := h.Apply(r)
		if r.Event.ExpertKey != expert || r.Event.Type() != kind {
			continue
		}
		if nth--; nth >= 0 {
			continue
		}
		if !r.Event.IsTerminal() {
			after = before
		}
		p, ok := h.At(after.CheckpointID)
		if !ok {
			b.t.Fatalf("%s of %s left no checkpoint", kind, expert)
		}
		return p
	}
	b.t.Fatalf("no %s of %s", kind, expert)
	return Point{}
}

// family is a job of four Experts: writer delegates to helper and other, helper to deep.
func family(t testing.TB) *bench {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`helper {"query":"help"}`, `other {"query":"too"}`), says("done"), says("done again")},
		"helper": {does("read"), does(`deep {"query":"deeper"}`), says("helped"), says("helped again")},
		"other":  {says("otherwise")},
		"deep":   {does("read"), says("deep down"), says("deeper still")},
	})
	if r := b.must(job.Input{Query: "go"}); r.Text != "done" {
		t.Fatalf("%+v", r)
	}
	return b
}

// A branch from a checkpoint of a delegate returns to a branch of its parent, and so on up to
// the coordinator. Everything recorded is kept, and so are the answers of its siblings.
func TestBranchOfADelegate(t *testing.T) {
	tests := []struct {
		name  string
		from  func(*bench) Point
		query string
		want  string // story
		asked string // the last query of the branch's own Expert
	}{
		{"in the middle", func(b *bench) Point { return b.point("deep", "continueToNextStep", 0) }, "",
			`w:startRun@3 w:resumeToolCalls@3 w:callDelegate@3 w:stopRunByDelegate@3
			h:startRun@4 h:resumeToolCalls@4 h:callDelegate@4 h:stopRunByDelegate@4
			d:startRun@5 d:startGeneration@5 d:completeRun@5
			h:startRun@6 h:finishAllToolCalls@6 h:continueToNextStep@6 h:startGeneration@7 h:completeRun@7
			w:startRun@8 w:finishAllToolCalls@8 w:continueToNextStep@8 w:startGeneration@9 w:completeRun@9`, "did read"},
		{"with a query at the end", func(b *bench) Point { return b.point("deep", "completeRun", 0) }, "and more?",
			`w:startRun@3 w:resumeToolCalls@3 w:callDelegate@3 w:stopRunByDelegate@3
			h:startRun@4 h:resumeToolCalls@4 h:callDelegate@4 h:stopRunByDelegate@4
			d:startRun@6 d:startGeneration@6 d:completeRun@6
			h:startRun@7 h:finishAllToolCalls@7 h:continueToNextStep@7 h:startGeneration@8 h:completeRun@8
			w:startRun@9 w:finishAllToolCalls@9 w:continueToNextStep@9 w:startGeneration@10 w:completeRun@10`, "and more?"},
		{"of a child that had delegated", func(b *bench) Point { return b.point("helper", "stopRunByDelegate", 0) }, "",
			`w:startRun@3 w:resumeToolCalls@3 w:callDelegate@3 w:stopRunByDelegate@3
			h:startRun@4 h:resumeToolCalls@4 h:callDelegate@4 h:stopRunByDelegate@4
			d:startRun@5 d:startGeneration@5 d:callTools@5 d:resolveToolResults@5 d:finishToolCall@5 d:continueToNextStep@5 d:startGeneration@6 d:completeRun@6
			h:startRun@7 h:finishAllToolCalls@7 h:continueToNextStep@7 h:startGeneration@8 h:completeRun@8
			w:startRun@9 w:finishAllToolCalls@9 w:continueToNextStep@9 w:startGeneration@10 w:completeRun@10`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := family(t)
			before, from := b.records(), tt.from(b)
			ids := b.runIDs()
			requests := len(b.script.requests)
			r := b.must(job.Input{Continue: true, From: from.State.CheckpointID, Query: tt.query})
			if want := strings.Join(strings.Fields(tt.want), " "); b.story() != want {
				t.Errorf("story\n%s\nwant\n%s", b.story(), want)
			}
			if r.Status != event.StatusCompleted || r.Text != "done" {
				t.Errorf("%+v", r)
			}
			if after := b.records(); !slices.Equal(after[:len(before)], before) {
				t.Error("what was recorded has changed")
			}
			for _, e := range b.events {
				if slices.Contains(ids, e.RunID) {
					t.Fatalf("%s of the old run %s", e.Type(), e.RunID)
				}
			}
			first := b.script.requests[requests]
			if said := first.Messages[len(first.Messages)-1]; tt.asked != "" && !strings.Contains(said.Text()+event.FirstText(said.Contents[0].Contents), tt.asked) {
				t.Errorf("the branch continues with %+v", said)
			}
			if got := b.answers(len(b.script.requests) - 1); len(got) != 2 || got[1] != "c2 otherwise" {
				t.Errorf("the coordinator is told %q", got)
			}
			b.checkJournal()
			b.checkFold()
			b.checkTree()
			// The branch is the head now.
			if again := b.must(job.Input{Continue: true, Query: "once more"}); again.Text != "done again" || last[event.StartRun](b).From.CheckpointID != r.CheckpointID {
				t.Errorf("%+v", again)
			}
		})
	}
}

func (b *bench) runIDs() []string {
	h, err := Load(context.Background(), b.store, "job")
	if err != nil {
		b.t.Fatal(err)
	}
	var ids []string
	for id := range h.runs {
		ids = append(ids, id)
	}
	return ids
}

// A branch that is killed at any record resumes as a branch: it does not start over, and the
// user's query is not lost.
func TestBranchIsResumed(t *testing.T) {
	whole := family(t)
	records := len(whole.records())
	whole.must(job.Input{Continue: true, From: whole.point("deep", "completeRun", 0).State.CheckpointID, Query: "and more?"})
	for kill := 1; kill < len(whole.records())-records; kill++ {
		b := family(t)
		inner := b.store
		b.store = &killedStore{Store: inner, left: kill}
		if _, err := b.run(t.Context(), job.Input{Continue: true, From: b.point("deep", "completeRun", 0).State.CheckpointID, Query: "and more?"}); !errors.Is(err, errDead) {
			t.Fatalf("kill %d: %v", kill, err)
		}
		b.store = inner
		b.script.requests = nil
		r := b.must(job.Input{Continue: true})
		if r.Text != "done" {
			t.Errorf("kill %d: %+v", kill, r)
		}
		b.checkJournal()
		b.checkTree()
		deep := 0
		for _, line := range b.records()[records:] {
			if strings.Contains(line, `"type":"startRun"`) && strings.Contains(line, `"expertKey":"deep"`) && strings.Contains(line, "and more?") {
				deep++
			}
		}
		if deep != 1 {
			t.Errorf("kill %d: the query stands %d times in the branch", kill, deep)
		}
	}
}

// An invalid branch is refused, and nothing is written.
func TestBranchIsRefused(t *testing.T) {
	b := family(t)
	done := b.point("deep", "completeRun", 0).State.CheckpointID
	middle := b.point("deep", "continueToNextStep", 0).State.CheckpointID
	before := b.records()
	for name, tt := range map[string]struct {
		in   job.Input
		want string
	}{
		"completed, no query": {job.Input{Continue: true, From: done}, "give a query to continue from there"},
		"an answer":           {job.Input{Continue: true, From: middle, Answer: &event.ToolAnswer{Text: "x"}}, "cannot ask the user anything"},
		"unknown":             {job.Input{Continue: true, From: "nowhere"}, "checkpoint nowhere not found"},
	} {
		if _, err := b.run(t.Context(), tt.in); err == nil || !isInput(err) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	helper := b.team[slices.IndexFunc(b.team, func(e *expert.Expert) bool { return e.Key == "helper" })]
	delegates := helper.Delegates
	helper.Delegates = []string{"writer"}
	if _, err := b.run(t.Context(), job.Input{Continue: true, From: done, Query: "and more?"}); !isInput(err) || !strings.Contains(err.Error(), "helper can no longer delegate to it") {
		t.Errorf("an Expert that its parent does not have any more: %v", err)
	}
	helper.Delegates = delegates
	b.team = slices.DeleteFunc(b.team, func(e *expert.Expert) bool { return e.Key == "deep" })
	if _, err := b.run(t.Context(), job.Input{Continue: true, From: middle}); err == nil || !strings.Contains(err.Error(), "can no longer delegate to it") {
		t.Errorf("an Expert that is gone: %v", err)
	}
	if !slices.Equal(b.records(), before) {
		t.Error("something was written")
	}
}

// A job that was stopped during delegation resumes with its delegates, whatever stopped it.
// The checkpoint of a delegate names the same place.
func TestResumeInsideDelegation(t *testing.T) {
	for _, byCheckpoint := range []bool{false, true} {
		b := newTeam(t, map[string][]turn{
			"writer": {does(`helper {"query":"help"}`, `other {"query":"too"}`), says("done")},
			"helper": {does("wait"), says("helped")}, "other": {says("otherwise")},
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		b.tools.onWait = func() { cancel(errors.New("ctrl-c")) }
		r, err := b.run(ctx, job.Input{Query: "go"})
		if err != nil || r.Status != event.StatusStoppedByInterrupt || r.Reason != "ctrl-c" {
			t.Fatalf("%+v, %v", r, err)
		}
		if got := b.story(); !strings.HasSuffix(got, "h:stopRunByInterrupt@2 w:startRun@2 w:stopRunByInterrupt@2") {
			t.Errorf("story %s", got)
		}
		in := job.Input{Continue: true}
		if byCheckpoint {
			in.From = b.point("helper", "stopRunByInterrupt", 0).State.CheckpointID
		}
		ids := b.runIDs()
		if r := b.must(in); r.Text != "done" || r.Status != event.StatusCompleted {
			t.Fatalf("%+v", r)
		}
		want := `w:startRun@3 w:resumeToolCalls@3 w:callDelegate@3 w:stopRunByDelegate@3
			h:startRun@3 h:finishAllToolCalls@3 h:continueToNextStep@3 h:startGeneration@4 h:completeRun@4
			o:startRun@4 o:startGeneration@4 o:completeRun@4
			w:startRun@5 w:finishAllToolCalls@5 w:continueToNextStep@5 w:startGeneration@6 w:completeRun@6`
		if got := b.story(); got != strings.Join(strings.Fields(want), " ") {
			t.Errorf("story %s", got)
		}
		for _, e := range b.events { // the sibling had no Run yet, but it had its name
			if !e.IsRuntime() && e.ExpertKey != "other" && !slices.Contains(ids, e.RunID) {
				t.Errorf("%s of the new run %s", e.Type(), e.RunID)
			}
		}
		b.checkJournal()
		b.checkFold()
		b.checkTree()
	}
}

// A new query after an interruption during delegation answers the open calls first.
func TestQueryInsideDelegation(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`other {"query":"first"}`, `helper {"query":"help"}`, `other {"query":"never"}`), says("done")},
		"helper": {does("wait"), says("helped")}, "other": {says("otherwise")},
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	b.tools.onWait = func() { cancel(errors.New("ctrl-c")) }
	if _, err := b.run(ctx, job.Input{Query: "go"}); err != nil {
		t.Fatal(err)
	}
	if r := b.must(job.Input{Continue: true, Query: "something else"}); r.Text != "done" {
		t.Fatalf("%+v", r)
	}
	messages := b.script.requests[len(b.script.requests)-1].Messages
	var told []string
	for _, p := range messages[len(messages)-2].Contents {
		told = append(told, event.FirstText(p.Contents))
	}
	if want := []string{"otherwise", delegateSkipped, callSkipped}; !slices.Equal(told, want) {
		t.Errorf("the model is told %q, want %q", told, want)
	}
	b.checkJournal()
	b.checkFold()
}

// A changed definition of a delegate is reported when it resumes.
func TestDefinitionOfADelegateChanged(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`helper {"query":"help"}`), says("done")}, "helper": {does("wait"), says("helped")},
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	b.tools.onWait = func() { cancel(errors.New("ctrl-c")) }
	if _, err := b.run(ctx, job.Input{Query: "go"}); err != nil {
		t.Fatal(err)
	}
	b.team[0].Instruction = "Be another helper."
	b.must(job.Input{Continue: true})
	if c := last[event.DefinitionChanged](b); c.Expert != "helper" || c.Before == c.After {
		t.Errorf("%+v", c)
	}
	helper := b.script.requests[len(b.script.requests)-2]
	if !strings.Contains(helper.Messages[0].Text(), "Be another helper.") {
		t.Error("the helper continues with its old instruction")
	}
}
