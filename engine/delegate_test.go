package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/delegate"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
)

// story lists the state events of the newest run as expert:type@step.
func (b *bench) story() string {
	var all []string
	for _, e := range b.events {
		if !e.IsRuntime() && e.IsKept() && !e.IsRecordOnly() {
			all = append(all, fmt.Sprintf("%s:%s@%d", e.ExpertKey[:1], e.Type(), e.StepNumber))
		}
	}
	return strings.Join(all, " ")
}

// The traces of runtime.md §13, H to K.
func TestDelegation(t *testing.T) {
	tests := []struct {
		name   string
		team   map[string][]turn
		answer string // to a question in the end
		want   string
	}{
		{"H one", map[string][]turn{
			"writer": {does(`helper {"query":"help"}`), says("done")}, "helper": {does("read"), says("helped")},
		}, "", `w:startRun@1 w:startGeneration@1 w:callTools@1 w:callDelegate@1 w:stopRunByDelegate@1
			h:startRun@2 h:startGeneration@2 h:callTools@2 h:resolveToolResults@2 h:finishToolCall@2 h:continueToNextStep@2 h:startGeneration@3 h:completeRun@3
			w:startRun@4 w:finishAllToolCalls@4 w:continueToNextStep@4 w:startGeneration@5 w:completeRun@5`},
		{"I nested", map[string][]turn{
			"writer": {does(`helper {"query":"help"}`), says("done")}, "helper": {does(`other {"query":"deeper"}`), says("helped")}, "other": {says("deep")},
		}, "", `w:startRun@1 w:startGeneration@1 w:callTools@1 w:callDelegate@1 w:stopRunByDelegate@1
			h:startRun@2 h:startGeneration@2 h:callTools@2 h:callDelegate@2 h:stopRunByDelegate@2
			o:startRun@3 o:startGeneration@3 o:completeRun@3
			h:startRun@4 h:finishAllToolCalls@4 h:continueToNextStep@4 h:startGeneration@5 h:completeRun@5
			w:startRun@6 w:finishAllToolCalls@6 w:continueToNextStep@6 w:startGeneration@7 w:completeRun@7`},
		{"J parallel", map[string][]turn{
			"writer": {does(`helper {"query":"help"}`, `other {"query":"too"}`), says("done")}, "helper": {does("read"), says("helped")}, "other": {says("deep")},
		}, "", `w:startRun@1 w:startGeneration@1 w:callTools@1 w:callDelegate@1 w:stopRunByDelegate@1
			h:startRun@2 h:startGeneration@2 h:callTools@2 h:resolveToolResults@2 h:finishToolCall@2 h:continueToNextStep@2 h:startGeneration@3 h:completeRun@3
			o:startRun@2 o:startGeneration@2 o:completeRun@2
			w:startRun@4 w:finishAllToolCalls@4 w:continueToNextStep@4 w:startGeneration@5 w:completeRun@5`},
		{"K mixed", map[string][]turn{
			"writer": {does("ask", `helper {"query":"help"}`, "read"), says("done")}, "helper": {says("helped")},
		}, "blue", `w:startRun@1 w:startGeneration@1 w:callTools@1 w:callDelegate@1 w:stopRunByDelegate@1
			h:startRun@2 h:startGeneration@2 h:completeRun@2
			w:startRun@3 w:resumeToolCalls@3 w:callInteractiveTool@3 w:stopRunByInteractiveTool@3
			w:startRun@4 w:finishAllToolCalls@4 w:continueToNextStep@4 w:startGeneration@5 w:completeRun@5`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newTeam(t, tt.team)
			result := b.must(job.Input{Query: "go"})
			story := b.story()
			if tt.answer != "" {
				result = b.must(job.Input{Continue: true, Answer: &event.ToolAnswer{Text: tt.answer}})
				story += " " + b.story()
			}
			if want := strings.Join(strings.Fields(tt.want), " "); story != want {
				t.Errorf("story\n%s\nwant\n%s", story, want)
			}
			if result.Status != event.StatusCompleted || result.Text != "done" {
				t.Errorf("%+v", result)
			}
			b.checkJournal()
			b.checkFold()
		})
	}
}

// answers returns what the newest tool message of a request says, by call.
func (b *bench) answers(request int) []string {
	var all []string
	messages := b.script.requests[request].Messages
	for _, m := range messages[len(messages)-1:] {
		for _, p := range m.Contents {
			text := event.FirstText(p.Contents)
			if p.IsError {
				text = "!" + text
			}
			all = append(all, p.ToolCallID+" "+text)
		}
	}
	return all
}

// A delegate that fails gives its parent an error result. Its siblings keep their results, and
// the parent decides what to do.
func TestDelegateFails(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`helper {"query":"a"}`, `other {"query":"b"}`, `helper {"query":"  "}`, `helper {}`, "read"), says("done")},
		"helper": {turn{fail: []error{errors.New("the model is on strike")}}},
		"other":  {says("fine")},
	})
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted {
		t.Fatalf("%+v", r)
	}
	got := b.answers(len(b.script.requests) - 1)
	want := []string{
		"c1 !Delegation failed: the model is on strike", "c2 fine",
		"c3 !Error: the query is empty. Put everything that the Expert needs to know into it.",
	}
	if len(got) != 5 || !slices.Equal(got[:3], want) || !strings.HasPrefix(got[3], "c4 !Error: ") || got[4] != "c5 did read" {
		t.Errorf("the parent is told %q, want %q", got, want)
	}
	var names []string
	for _, a := range last[event.StartRun](b).Answers {
		names = append(names, a.SkillName)
	}
	if !slices.Equal(names, []string{"delegate/helper", "delegate/other"}) {
		t.Errorf("answers of %q", names)
	}
	stop := last[event.StopRunByDelegate](b).Checkpoint
	if to := stop.DelegateTo; len(to) != 2 || to[1].Expert.Key != "other" || to[1].Query != "b" || to[1].ToolCallID != "c2" || stop.PendingToolCalls != nil || len(stop.PartialToolResults) != 3 {
		t.Errorf("checkpoint %+v", stop)
	}
	b.checkJournal()
	b.checkFold()
}

// R1: apart from query and answer, nothing of one Expert's conversation is in a request of
// another. Todo lists are not shared either.
func TestContextsAreNotShared(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`todo {"newTodos":["canary-writer"]}`), does(`helper {"query":"query-helper"}`, `other {"query":"query-other"}`).with(func(a *model.Answer) {
			a.Parts = thought("canary-writer", "", said("canary-writer", a.Parts...)...)
		}), does("todo {}"), says("done")},
		"helper": {does(`act {"secret":"canary-helper"}`).with(func(a *model.Answer) { a.Parts = said("canary-helper", a.Parts...) }), does(`other {"query":"query-nested"}`), does("attemptCompletion"), says("answer-helper")},
		"other":  {does(`act {"secret":"canary-other"}`), says("answer-other")},
	})
	b.expert.Instruction += " canary-writer"
	for _, e := range b.team {
		e.Instruction += " canary-" + e.Key
	}
	b.atOnce = 16
	if r := b.must(job.Input{Query: "canary-writer"}); r.Text != "done" {
		t.Fatalf("%+v", r)
	}
	for _, req := range b.script.requests {
		text, err := json.Marshal(req.Messages)
		if err != nil {
			t.Fatal(err)
		}
		for _, who := range []string{"writer", "helper", "other"} {
			if found := strings.Contains(string(text), "canary-"+who); found != (who == req.Expert) {
				t.Errorf("turn %d of %s: the words of %s are there: %t", req.Turn, req.Expert, who, found)
			}
		}
	}
	told := ""
	for _, m := range b.script.requests[len(b.script.requests)-1].Messages {
		for _, p := range m.Contents {
			told += event.FirstText(p.Contents) + "\n"
		}
	}
	if !strings.Contains(told, "answer-helper\n") || !strings.Contains(told, "answer-other\n") {
		t.Errorf("the answers did not come back: %q", told)
	}
}

// A path of delegation that is too long, or that repeats itself, is stopped at that point.
func TestDelegationIsBounded(t *testing.T) {
	t.Run("depth", func(t *testing.T) {
		b := newTeam(t, map[string][]turn{
			"writer": {does(`helper {"query":"1"}`), says("done")}, "helper": {does(`other {"query":"2"}`), says("helped")}, "other": {says("never")},
		})
		b.maxDepth = 2
		b.must(job.Input{Query: "go"})
		if got := b.story(); !strings.Contains(got, "o:startRun@3 o:limitWarning@3 o:stopRunByLimit@3 h:startRun@4") || !strings.HasSuffix(got, "w:completeRun@7") {
			t.Errorf("story %s", got)
		}
		if l := last[event.StopRunByLimit](b); l.Limit != event.LimitDepth {
			t.Errorf("%+v", l)
		}
		if len(b.delegated) != 2 {
			t.Errorf("skills were started %d times; of what must not begin none are", len(b.delegated))
		}
	})
	t.Run("circle", func(t *testing.T) {
		b := newTeam(t, map[string][]turn{
			"writer": {does(`helper {"query":"the same"}`), says("done")}, "helper": {does(`writer {"query":"go"}`), says("helped")},
		})
		b.must(job.Input{Query: "go"})
		if got := b.story(); !strings.Contains(got, "h:stopRunByDelegate@2 w:startRun@3 w:limitWarning@3 w:stopRunByLimit@3 h:startRun@4") || !strings.HasSuffix(got, "w:completeRun@7") {
			t.Errorf("story %s", got)
		}
		if got := b.answers(2); len(got) != 1 || !strings.Contains(got[0], "!Delegation failed: it repeats itself") {
			t.Errorf("the parent is told %q", got)
		}
	})
}

// The same query to different Experts is not a loop.
func TestQueryMayBePassedOn(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`helper {"query":"go"}`), says("done")}, "helper": {does(`other {"query":"go"}`), says("helped")}, "other": {says("otherwise")},
	})
	if r := b.must(job.Input{Query: "go"}); r.Text != "done" || len(b.limited(event.LimitLoop)) > 0 || len(b.runIDs()) != 3 {
		t.Errorf("%+v; story %s", r, b.story())
	}
}

// A loop is found although the job was killed in between, at any point.
func TestLoopAfterAResume(t *testing.T) {
	team := func() map[string][]turn {
		return map[string][]turn{
			"writer": {does(`helper {"query":"the same"}`), says("done")}, "helper": {does("read"), does(`writer {"query":"go"}`), says("helped")},
		}
	}
	whole := newTeam(t, team())
	whole.must(job.Input{Query: "go"})
	for kill := 1; kill < len(whole.records()); kill++ {
		b := newTeam(t, team())
		inner := b.store
		b.store = &killedStore{Store: inner, left: kill}
		if _, err := b.run(t.Context(), job.Input{Query: "go"}); !errors.Is(err, errDead) {
			t.Fatalf("kill %d: %v", kill, err)
		}
		b.store = inner
		if r := b.must(job.Input{Continue: true}); r.Text != "done" || len(b.runIDs()) != 3 {
			t.Errorf("kill %d: %+v with %d Runs, want 3", kill, r, len(b.runIDs()))
		}
		b.checkTree()
	}
}

// A thousand delegates queue for slots: never do more work than there are slots, and the
// answers come back in call order.
func TestManyDelegates(t *testing.T) {
	const n, seats = 1000, 7
	var calls, want []string
	for i := range n {
		calls = append(calls, fmt.Sprintf(`helper {"query":"%d"}`, i))
		want = append(want, fmt.Sprintf("c%d helped", i+1))
	}
	b := newTeam(t, map[string][]turn{"writer": {does(calls...), says("done")}, "helper": {says("helped")}})
	b.maxSteps, b.atOnce = 2*n, seats
	var atWork, most atomic.Int32
	b.script.onRequest = func() {
		now := atWork.Add(1)
		for {
			m := most.Load()
			if now <= m || most.CompareAndSwap(m, now) {
				break
			}
		}
		runtime.Gosched()
		atWork.Add(-1)
	}
	if r := b.must(job.Input{Query: "go"}); r.Text != "done" || r.TotalSteps != n+3 {
		t.Errorf("%+v", r)
	}
	if got := b.answers(n + 1); !slices.Equal(got, want) {
		t.Error("the answers are not in call order")
	}
	if most.Load() > seats {
		t.Errorf("%d were at work at once, with %d seats", most.Load(), seats)
	}
	b.checkTree()
}

// The skills of a parent keep running during delegation, and are used again afterwards.
func TestSkillsOfAParentKeepRunning(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does("echo"), does(`helper {"query":"help"}`), does("echo"), says("done")}, "helper": {does("echo"), says("helped")},
	})
	var opened []*server
	b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
		s := &server{name: "s", list: func(context.Context) ([]skill.Tool, error) { return []skill.Tool{{Name: "echo"}}, nil }}
		opened = append(opened, s)
		req.Report(event.SkillConnected{SkillName: "s"})
		var sources []skill.Source
		for _, d := range req.Delegates {
			sources = append(sources, skill.Source{Skill: delegate.All(d)[0]})
		}
		return box(append(sources, skill.Source{Skill: s})...)(ctx, req)
	}
	b.must(job.Input{Query: "go"})
	if len(opened) != 2 {
		t.Fatalf("skills were started %d times for two Experts", len(opened))
	}
	var connected, disconnected int
	for _, e := range b.events {
		switch e.Body.(type) {
		case event.SkillConnected:
			connected++
		case event.SkillDisconnected:
			disconnected++
		}
	}
	if connected != 2 || disconnected != 2 {
		t.Errorf("%d connected, %d disconnected", connected, disconnected)
	}
}

// By default, a path of delegation can have eight Experts.
func TestDefaultDepth(t *testing.T) {
	for depth, refused := range map[int]bool{1: false, 8: false, 9: true} {
		r := &run{spec: &job.Spec{}, depth: depth}
		if limit := r.checkPath(); (limit != nil) != refused || refused && (limit.Limit != event.LimitDepth || limit.Max != 8) {
			t.Errorf("depth %d: %+v", depth, limit)
		}
	}
}
