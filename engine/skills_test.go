package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// A server is a skill whose functions a test can replace.
type server struct {
	name   string
	list   func(context.Context) ([]skill.Tool, error)
	call   func(context.Context, event.ToolCall) (event.ToolResult, error)
	onStop func()
}

func (s *server) Name() string { return s.name }

func (s *server) Tools(ctx context.Context) ([]skill.Tool, error) {
	if s.list == nil {
		return []skill.Tool{{Name: s.name + "Tool"}}, nil
	}
	return s.list(ctx)
}

func (s *server) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	if s.call == nil {
		return event.ToolResult{}, nil
	}
	return s.call(ctx, call)
}

func (s *server) Close() error {
	if s.onStop != nil {
		s.onStop()
	}
	return nil
}

// box returns a Skills function for sources.
func box(sources ...skill.Source) func(context.Context, SkillRequest) (*skill.Toolbox, error) {
	return func(ctx context.Context, _ SkillRequest) (*skill.Toolbox, error) {
		return skill.NewToolbox(ctx, sources, slog.New(slog.DiscardHandler))
	}
}

// skillEvents lists the skill events of the newest run, as type:skill.
func (b *bench) skillEvents() []string {
	var all []string
	for _, e := range b.events {
		switch body := e.Body.(type) {
		case event.SkillStarting:
			all = append(all, "starting:"+body.SkillName)
		case event.SkillConnected:
			all = append(all, "connected:"+body.SkillName)
		case event.SkillStderr:
			all = append(all, "stderr:"+body.Message)
		case event.SkillDisconnected:
			all = append(all, "disconnected:"+body.SkillName)
		}
	}
	return all
}

// Reports of skills are published immediately, whatever the Run is doing: each report here must
// arrive before the work that made it continues.
func TestReportsAreShownAtOnce(t *testing.T) {
	b := newBench(t, does("sTool"), says("done"))
	shown := make(map[string]chan struct{})
	for _, place := range []string{"start", "ready", "call", "stop"} {
		shown[place] = make(chan struct{})
	}
	b.emit = func(e event.Event) error {
		if line, ok := e.Body.(event.SkillStderr); ok {
			close(shown[line.Message])
		}
		return nil
	}
	b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
		say := func(place string) {
			req.Report(event.SkillStderr{SkillName: "s", Message: place})
			<-shown[place]
		}
		s := &server{
			name: "s",
			call: func(context.Context, event.ToolCall) (event.ToolResult, error) {
				say("call")
				return event.ToolResult{}, nil
			},
			onStop: func() { say("stop") },
		}
		lazy := &server{name: "lazy", list: func(context.Context) ([]skill.Tool, error) { say("ready"); return nil, nil }}
		say("start")
		return box(skill.Source{Skill: s}, skill.Source{Skill: lazy, Background: true})(ctx, req)
	}
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted {
		t.Errorf("%+v", r)
	}
}

// The listener is called from one goroutine, whichever goroutine reports. The race detector
// checks it.
func TestReportsFromManyGoroutines(t *testing.T) {
	b := newBench(t, does("sTool"), says("done"))
	told := 0
	b.emit = func(event.Event) error {
		told++ // without a lock
		return nil
	}
	b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
		chatter := func() {
			var all sync.WaitGroup
			for i := range 8 {
				name := fmt.Sprint("s", i)
				all.Go(func() {
					req.Report(event.SkillStarting{SkillName: name})
					for range 20 {
						req.Report(event.SkillStderr{SkillName: name, Message: "line"})
					}
					if i < 4 {
						req.Report(event.SkillConnected{SkillName: name})
					}
				})
			}
			all.Wait()
		}
		chatter()
		return box(skill.Source{Skill: &server{name: "s", call: func(context.Context, event.ToolCall) (event.ToolResult, error) {
			chatter() // the servers are started again
			return event.ToolResult{}, nil
		}}})(ctx, req)
	}
	b.must(job.Input{Query: "go"})
	all := b.skillEvents()
	for i := range 8 {
		name := fmt.Sprint("s", i)
		connected := slices.Index(all, "connected:"+name)
		if connected >= 0 && connected < slices.Index(all, "starting:"+name) {
			t.Errorf("%s was connected before it started", name)
		}
		if got := strings.Count(strings.Join(all, " ")+" ", "disconnected:"+name+" "); (got == 1) != (i < 4) || got > 1 {
			t.Errorf("%s, connected %t: %d times disconnected", name, connected >= 0, got)
		}
	}
	if n := strings.Count(strings.Join(all, " "), "stderr:line"); n != 2*8*20 {
		t.Errorf("%d lines", n)
	}
}

// M10: lines that the listener does not read in time do not pile up.
func TestReportsAreBounded(t *testing.T) {
	var q reportQueue
	for i := range 1500 {
		q.add(event.SkillStderr{SkillName: "loud", Message: fmt.Sprint(i)})
	}
	for range maxNotes + 10 {
		q.add(event.ToolProgress{Message: "on it"})
	}
	if got := len(q.waiting); got != maxStderrLines+maxNotes {
		t.Errorf("%d lines and notes", got)
	}
	q.waiting = q.waiting[:maxStderrLines]
	q.add(event.SkillConnected{SkillName: "loud"})
	all := q.take()
	if len(all) != maxStderrLines+2 {
		t.Fatalf("%d reports", len(all))
	}
	if _, ok := all[maxStderrLines].body.(event.SkillConnected); !ok {
		t.Errorf("an event of another kind was lost: %+v", all[maxStderrLines])
	}
	if note, ok := all[maxStderrLines+1].body.(event.SkillStderr); !ok || note.SkillName != "loud" || !strings.Contains(note.Message, "500 more lines") {
		t.Errorf("note %+v", all[maxStderrLines+1])
	}
	q.add(event.SkillStderr{Message: "again"})
	if all := q.take(); len(all) != 1 {
		t.Errorf("after it: %+v", all)
	}
	q.close()
	q.add(event.SkillStderr{Message: "too late"})
	if all := q.take(); len(all) != 0 {
		t.Errorf("after the end: %+v", all)
	}
}

// If a skill stops the Run, for example because its tools changed, the result of the call is
// recorded, the Run ends with an error that says why, and the model is not asked again.
func TestStop(t *testing.T) {
	pulled := errors.New("the tools are not those of the lockfile: + rm")
	limit := &LimitError{Limit: event.LimitWorkspace, Used: 2, Max: 1}
	tests := []struct {
		name    string
		err     error
		status  event.Status
		failure string
	}{
		{"plain", pulled, event.StatusStoppedByError, "SkillError"},
		{"named", fmt.Errorf("x: %w", &StopError{Name: "RugPull", Err: pulled}), event.StatusStoppedByError, "RugPull"},
		{"a limit", limit, event.StatusStoppedByLimit, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, does("sTool"), says("done"))
			b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
				return box(skill.Source{Skill: &server{name: "s", call: func(ctx context.Context, _ event.ToolCall) (event.ToolResult, error) {
					req.Stop(tt.err)
					<-ctx.Done()
					return event.ToolResult{}, errors.New("the skill was stopped")
				}}})(ctx, req)
			}
			r := b.must(job.Input{Query: "go"})
			if r.Status != tt.status || len(b.script.requests) != 1 {
				t.Errorf("status %s after %d requests", r.Status, len(b.script.requests))
			}
			if tt.failure != "" && (r.Failure == nil || r.Failure.Name != tt.failure || r.Failure.Message != pulled.Error()) {
				t.Errorf("failure %+v", r.Failure)
			}
			history, err := Load(t.Context(), b.store, "job")
			if err != nil {
				t.Fatal(err)
			}
			head, _ := history.Head()
			if done := results(head.State.Step.Calls); len(done) != 1 || event.FirstText(done[0].Result) != "Error: the skill was stopped" {
				t.Errorf("results %+v", done)
			}
			b.checkJournal()
			b.checkFold()
		})
	}
}

// The same holds while skills start, while one starts in the background, during a generation,
// and for a stop from outside.
func TestStopElsewhere(t *testing.T) {
	pulled := errors.New("not the tools that were installed")
	stopped := func(t *testing.T, r Result) {
		t.Helper()
		if r.Status != event.StatusStoppedByError || r.Failure == nil || r.Failure.Message != pulled.Error() {
			t.Errorf("%s: %+v", r.Status, r.Failure)
		}
	}
	t.Run("start", func(t *testing.T) {
		b := newBench(t, says("done"))
		b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
			req.Stop(pulled)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		stopped(t, b.must(job.Input{Query: "go"}))
	})
	t.Run("background", func(t *testing.T) {
		b := newBench(t, says("done"))
		b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
			return box(skill.Source{Background: true, Skill: &server{name: "s", list: func(ctx context.Context) ([]skill.Tool, error) {
				req.Stop(pulled)
				<-ctx.Done()
				return nil, ctx.Err()
			}}})(ctx, req)
		}
		stopped(t, b.must(job.Input{Query: "go"}))
	})
	t.Run("generation", func(t *testing.T) {
		b := newBench(t, turn{block: true})
		var stop func(error)
		b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
			stop = req.Stop
			return box()(ctx, req)
		}
		b.script.onRequest = func() { stop(pulled) }
		stopped(t, b.must(job.Input{Query: "go"}))
	})
	t.Run("outside", func(t *testing.T) {
		b := newBench(t, turn{block: true})
		ctx, cancel := context.WithCancelCause(t.Context())
		b.script.onRequest = func() { cancel(&StopError{Name: "X", Err: pulled}) }
		r, err := b.run(ctx, job.Input{Query: "go"})
		if err != nil {
			t.Fatal(err)
		}
		stopped(t, r)
	})
}

// Skills that fail or panic end the Run with a record, not the process. The record says that it
// was a skill, at the start as well as later, when a skill that started in the background has a
// list of tools that cannot be used.
func TestSkillsDoNotStart(t *testing.T) {
	fail := func(fail func() error) func(context.Context, SkillRequest) (*skill.Toolbox, error) {
		return func(context.Context, SkillRequest) (*skill.Toolbox, error) { return nil, fail() }
	}
	same := func(context.Context) ([]skill.Tool, error) { return []skill.Tool{{Name: "same"}}, nil }
	for want, skills := range map[string]func(context.Context, SkillRequest) (*skill.Toolbox, error){
		"no such program":               fail(func() error { return errors.New("no such program") }),
		"a bug in it":                   fail(func() error { panic("a bug in it") }),
		`skills "one" and "two"`:        box(skill.Source{Skill: &server{name: "one", list: same}}, skill.Source{Skill: &server{name: "two", list: same}}),
		`skills "early" and "late"`:     box(skill.Source{Skill: &server{name: "early", list: same}}, skill.Source{Background: true, Skill: &server{name: "late", list: same}}),
		`a name of the base skill "@pe`: box(skill.Source{Background: true, Skill: &server{name: "late", list: func(context.Context) ([]skill.Tool, error) { return []skill.Tool{{Name: "exec"}}, nil }}}),
	} {
		b := newBench(t, says("done"))
		b.skills = skills
		r := b.must(job.Input{Query: "go"})
		if r.Status != event.StatusStoppedByError || !strings.Contains(r.Failure.Message, want) || len(b.script.requests) != 0 {
			t.Errorf("%s: %+v", want, r)
		}
		if got := last[event.StopRunByError](b).Error; got.Name != SkillFailure || got.IsRetryable || !strings.Contains(got.Message, want) {
			t.Errorf("%s: recorded as %+v", want, got)
		}
		b.checkJournal()
		b.checkFold()
	}
}

// lazyInit without a lockfile: startRun does not wait, the first generation does; what
// did not start is told to the model that asks for it.
func TestBackgroundSkills(t *testing.T) {
	b := newBench(t, does("fineTool", "brokenTool"), says("done"))
	started := make(chan struct{})
	b.emit = func(e event.Event) error {
		if e.Type() == "startRun" {
			close(started)
		}
		return nil
	}
	b.skills = box(
		skill.Source{Background: true, Skill: &server{name: "fine", list: func(context.Context) ([]skill.Tool, error) {
			<-started
			return []skill.Tool{{Name: "fineTool"}}, nil
		}}},
		skill.Source{Background: true, Skill: &server{name: "broken", list: func(context.Context) ([]skill.Tool, error) {
			return nil, errors.New("exit status 3")
		}}},
	)
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted {
		t.Fatalf("%+v", r)
	}
	if got := b.script.requests[0].Tools; len(got) != 1 || got[0].Name != "fineTool" {
		t.Errorf("tools of the first request: %+v", got)
	}
	message := last[event.FinishToolCall](b).NewMessages[0]
	want := `Error: there is no tool named "brokenTool". Some skills did not start, so their tools are missing: skill "broken": list tools: exit status 3`
	if got := event.FirstText(message.Contents[1].Contents); got != want {
		t.Errorf("result %q\nwant %q", got, want)
	}
}

// A list that changed in the middle of a run is fetched before the model is asked again;
// otherwise the tools are not made again.
func TestToolsAreMadeOnce(t *testing.T) {
	b := newBench(t, does("sTool"), does("sTool"), does("new"), says("done"))
	tools := []skill.Tool{{Name: "sTool"}}
	var toolbox *skill.Toolbox
	calls := 0
	s := &server{name: "s", list: func(context.Context) ([]skill.Tool, error) { return tools, nil }}
	s.call = func(context.Context, event.ToolCall) (event.ToolResult, error) {
		if calls++; calls == 2 {
			tools = []skill.Tool{{Name: "new"}}
			toolbox.Changed("s")
		}
		return event.ToolResult{}, nil
	}
	b.skills = func(ctx context.Context, req SkillRequest) (_ *skill.Toolbox, err error) {
		toolbox, err = box(skill.Source{Skill: s})(ctx, req)
		return toolbox, err
	}
	b.must(job.Input{Query: "go"})
	r := b.script.requests
	if len(r) != 4 || &r[0].Tools[0] != &r[1].Tools[0] {
		t.Error("the tools were made again without a reason")
	}
	if r[2].Tools[0].Name != "new" || calls != 3 {
		t.Errorf("after the change: %+v, %d calls", r[2].Tools, calls)
	}
}

// If a server adds a tool whose name another server has, the Run ends before the model is asked
// again.
func TestChangedListEndsTheRun(t *testing.T) {
	b := newBench(t, does("sTool"), says("done"))
	var toolbox *skill.Toolbox
	tools := []skill.Tool{{Name: "sTool"}}
	s := &server{name: "s", list: func(context.Context) ([]skill.Tool, error) { return tools, nil }}
	s.call = func(context.Context, event.ToolCall) (event.ToolResult, error) {
		tools = []skill.Tool{{Name: "otherTool"}}
		toolbox.Changed("s")
		return event.ToolResult{}, nil
	}
	b.skills = func(ctx context.Context, req SkillRequest) (_ *skill.Toolbox, err error) {
		toolbox, err = box(skill.Source{Skill: s}, skill.Source{Skill: &server{name: "other"}})(ctx, req)
		return toolbox, err
	}
	r := b.must(job.Input{Query: "go"})
	if r.Status != event.StatusStoppedByError || len(b.script.requests) != 1 {
		t.Fatalf("%s after %d requests", r.Status, len(b.script.requests))
	}
	want := `skill "s" changed its list of tools in the middle of the run, and the new one cannot be used: skills "s" and "other" both offer a tool named "otherTool"`
	if r.Failure.Name != SkillFailure || !strings.HasPrefix(r.Failure.Message, want) {
		t.Errorf("failure %+v", r.Failure)
	}
	b.checkJournal()
	b.checkFold()
}

// With arguments that violate the schema, the tool is not started, the question is not shown,
// and the model is told what is wrong.
func TestArgumentsAreChecked(t *testing.T) {
	b := newBench(t, does(`act {"n":"many"}`, `ask {"q":"why"}`, "read"), does(`act {"n":1}`), says("done"))
	r := b.must(job.Input{Query: "go"})
	if r.Status != event.StatusCompleted || len(r.Pending) != 0 {
		t.Fatalf("%+v", r)
	}
	if got := strings.Join(b.tools.ran, ","); got != "c3,c1" {
		t.Errorf("carried out: %s", got)
	}
	for _, e := range b.events {
		if s, ok := e.Body.(event.StartToolCall); ok && s.ToolCallID == "c2" {
			t.Error("a call was started that cannot be carried out")
		}
	}
	var told []string
	for _, m := range b.script.requests[1].Messages {
		for _, p := range m.Contents {
			if p.Type == event.ToolResultPart && p.IsError {
				told = append(told, event.FirstText(p.Contents))
			}
		}
	}
	want := []string{
		"Error: the arguments do not fit the input schema of the tool act, so it was not called.\n- n: expected number, got string \"many\"",
		"Error: the arguments do not fit the input schema of the tool ask, so it was not called.\n- q: expected number, got string \"why\"",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told %q\nwant %q", told, want)
	}
}

// If one of two questions has invalid arguments, the other is asked, and both are answered
// together.
func TestInvalidQuestionBesideAnother(t *testing.T) {
	b := newBench(t, does(`ask {"q":"why"}`, `ask {"q":2}`, "confirm"), says("done"))
	r := b.must(job.Input{Query: "go"})
	if len(r.Pending) != 2 || r.Pending[0].ID != "c2" {
		t.Fatalf("waiting: %+v", r.Pending)
	}
	asked := len(b.script.requests)
	if r = b.must(job.Input{Continue: true, Answer: &event.ToolAnswer{ToolCallID: "c3", Text: "yes"}}); len(r.Pending) != 1 || len(b.script.requests) != asked {
		t.Fatalf("waiting: %+v; the model was asked %d times", r.Pending, len(b.script.requests)-asked)
	}
	b.must(job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "two"}})
	var texts []string
	for _, p := range last[event.FinishAllToolCalls](b).NewMessages[0].Contents {
		text, _, _ := strings.Cut(event.FirstText(p.Contents), ":")
		texts = append(texts, text)
	}
	if got := strings.Join(texts, ","); got != "Error,two,yes" {
		t.Errorf("results %s", got)
	}
	b.checkJournal()
}

// The listener can show each question, including one that the model asked in an earlier
// process. The journal has only its id.
func TestQuestionsCanBeShown(t *testing.T) {
	for _, lean := range []bool{false, true} {
		b := newBench(t, does(`ask {"q":1}`, `ask {"q":2}`), says("done"))
		b.lean = lean
		for i, in := range []job.Input{{Query: "go"}, {Continue: true, Answer: &event.ToolAnswer{Text: "one"}}} {
			b.must(in)
			asked := last[event.CallInteractiveTool](b).ToolCall
			if want := fmt.Sprintf(`{"q":%d}`, i+1); asked == nil || asked.ToolName != "ask" || string(asked.Args) != want {
				t.Errorf("lean %t: asked %+v, want %s", lean, asked, want)
			}
		}
		for record, err := range b.store.Read(t.Context(), "job", 0) {
			if err != nil {
				t.Fatal(err)
			}
			if body, ok := record.Event.Body.(event.CallInteractiveTool); ok && (body.ToolCall != nil || body.ToolCallID == "") {
				t.Errorf("recorded %+v", body)
			}
		}
	}
}

// C9: a delegate is told that it cannot ask the user.
func TestDelegatedExpertCannotAsk(t *testing.T) {
	b := newTeam(t, map[string][]turn{"writer": {does(`helper {"query":"help"}`), says("done")}, "helper": {says("helped")}})
	rules := []*expert.Skill{
		{Name: "user", Type: expert.InteractiveSkill, Rule: "Ask politely."}, {Name: "s", Type: expert.StdioSkill, Rule: "Use it well."},
	}
	b.expert.Skills, b.team[0].Skills = rules, rules
	b.must(job.Input{Query: "go"})
	if text := b.script.requests[0].Messages[0].Text(); strings.Contains(text, strings.TrimSpace(delegateText)) || !strings.Contains(text, "Ask politely.") {
		t.Errorf("the coordinator is told:\n%s", text)
	}
	text := b.script.requests[1].Messages[0].Text()
	if !strings.Contains(text, strings.TrimSpace(delegateText)) || strings.Contains(text, "Ask politely.") || !strings.Contains(text, "Use it well.") {
		t.Errorf("the delegate is told:\n%s", text)
	}
	if !slices.Equal(b.delegated, []bool{false, true}) {
		t.Errorf("delegated: %v", b.delegated)
	}
}

// Secrets in a schema do not reach the provider. The test looks at the request itself.
func TestSchemasAreRedacted(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","description":"secret"}`: `{"type":"object","description":"***"}`,
		`{"type":"object","title":"quote"}`:        `{"type":"object"}`, // no JSON is left
		`{}`:                                       `{}`,
	} {
		b := newBench(t, says("done"))
		b.redact = strings.NewReplacer("secret", "***", "quote", `"`).Replace
		b.skills = box(skill.Source{Skill: &server{name: "s", list: func(context.Context) ([]skill.Tool, error) {
			return []skill.Tool{{Name: "tell", Description: "a secret", InputSchema: rawjson.Value(schema)}}, nil
		}}})
		b.must(job.Input{Query: "go"})
		tools := b.script.requests[0].Tools
		if len(tools) != 1 || string(tools[0].InputSchema) != want || tools[0].Description != "a ***" {
			t.Errorf("%s: the model is shown %+v, want the schema %s", schema, tools, want)
		}
	}
	r := &run{parts: &Parts{Secrets: redactor(strings.ToUpper)}}
	if got := r.redactSchema(nil); got != nil {
		t.Errorf("no schema became %s", got)
	}
}
