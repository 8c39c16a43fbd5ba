package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/skills/delegate"
	"github.com/perstack-go/perstack/internal/skills/proposal"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

// A turn is one scripted generation: failures by attempt, then an answer.
type turn struct {
	fail   []error
	answer *model.Answer
	first  *model.Answer // of the first attempt, if it has another
	block  bool          // wait until the context is done
	panics bool
	chunks []model.Chunk // streamed before the answer
	cut    bool          // the first attempt ends after the chunks

	disobeys bool // it calls tools even if only text is requested
}

// A script is a model that answers by turn number. Like a provider it keeps no
// conversation, so a resumed run finds its place.
type script struct {
	turns    []turn
	team     map[string][]turn // of Experts by key, if there are several
	mu       sync.Mutex
	requests []*model.Request

	onRequest func()
}

func (s *script) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		s.mu.Lock()
		s.requests = append(s.requests, req)
		s.mu.Unlock()
		if s.onRequest != nil {
			s.onRequest()
		}
		turns := s.turns
		if own, ok := s.team[req.Expert]; ok {
			turns = own
		}
		if req.Turn >= len(turns) {
			yield(model.Chunk{}, fmt.Errorf("script has no turn %d for %s", req.Turn, req.Expert))
			return
		}
		t := turns[req.Turn]
		for _, c := range t.chunks {
			if !yield(c, nil) {
				return
			}
		}
		switch {
		case t.panics:
			panic("a bug in a client")
		case t.cut && req.Attempt == 0:
		case t.block:
			<-ctx.Done()
			yield(model.Chunk{}, ctx.Err())
		case req.Attempt < len(t.fail):
			yield(model.Chunk{}, t.fail[req.Attempt])
		default:
			if t.answer.Text() != "" && len(t.chunks) == 0 && !yield(model.Chunk{Text: t.answer.Text()}, nil) {
				return
			}
			answer := t.answer
			if t.first != nil && req.Attempt == 0 {
				answer = t.first
			}
			if req.TextOnly && !t.disobeys {
				words := *answer
				words.Parts = said(answer.Text())
				if words.Finish == model.FinishToolCalls {
					words.Finish = model.FinishStop
				}
				answer = &words
			}
			yield(model.Chunk{Answer: answer}, nil)
		}
	}
}

func says(text string) turn {
	return turn{answer: &model.Answer{Parts: said(text), Finish: model.FinishStop, Usage: spent(10)}}
}

// does is a turn of tool calls, each "tool" or "tool {json}".
func does(calls ...string) turn {
	answer := &model.Answer{Finish: model.FinishToolCalls, Usage: spent(5)}
	for i, c := range calls {
		tool, args, _ := strings.Cut(c, " ")
		answer.Parts = append(answer.Parts, event.Part{Type: event.ToolCallPart, ToolCallID: fmt.Sprintf("c%d", i+1), ToolName: tool, Args: []byte(args)})
	}
	return turn{answer: answer}
}

// said is a text as parts of an answer, before others.
func said(text string, then ...event.Part) []event.Part {
	if text == "" {
		return then
	}
	return append([]event.Part{{Type: event.TextPart, Text: text}}, then...)
}

// thought is a thought as parts of an answer, before others.
func thought(text, signature string, then ...event.Part) []event.Part {
	return append([]event.Part{{Type: event.ThinkingPart, Thinking: text, Signature: signature}}, then...)
}

func (t turn) with(change func(*model.Answer)) turn {
	a := *t.answer
	change(&a)
	t.answer = &a
	return t
}

func spent(n int) event.Usage {
	return event.Usage{InputTokens: n, OutputTokens: 1, TotalTokens: n + 1}
}

// tools is a skill whose tools fail in every way that the engine must handle.
type tools struct {
	name    string
	mu      sync.Mutex
	ran     []string // ids of the calls that were carried out
	todos   string
	onWait  func() // called when "wait" has begun to wait
	onSleep func() // what "sleep" does, stubbornly
}

func (s *tools) Name() string { return s.name }
func (s *tools) Close() error { return nil }

func (s *tools) Tools(context.Context) ([]skill.Tool, error) {
	if s.name == event.BaseSkill {
		return []skill.Tool{
			{Name: "attemptCompletion", Repeatable: true},
			{Name: "todo"},
		}, nil
	}
	return []skill.Tool{
		{Name: "read", Repeatable: true}, {Name: "act", InputSchema: rawjson.Value(`{"properties":{"n":{"type":"number"}}}`)}, {Name: "fail"}, {Name: "boom"}, {Name: "broken"}, {Name: "nothing"}, {Name: "wait"}, {Name: "sleep"},
	}, nil
}

func (s *tools) Memory() rawjson.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.todos == "" {
		return nil
	}
	return rawjson.Value(s.todos)
}

func (s *tools) Recall(memory rawjson.Value) error {
	s.todos = string(memory)
	return nil
}

func (s *tools) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	s.mu.Lock()
	s.ran = append(s.ran, call.ID)
	switch call.ToolName {
	case "wait":
		s.mu.Unlock()
		s.onWait()
		<-ctx.Done()
		s.mu.Lock()
	case "sleep":
		s.mu.Unlock()
		s.onSleep()
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	text := func(t string) event.ToolResult {
		return event.ToolResult{Result: []event.Part{{Type: event.TextPart, Text: t}}}
	}
	switch call.ToolName {
	case "attemptCompletion":
		if s.todos != "" && s.todos != "null" {
			return text(`{"remainingTodos":[{"id":0,"title":"x","completed":false}]}`), nil
		}
		return text("{}"), nil
	case "todo":
		s.todos = string(call.Args)
		if s.todos == "{}" {
			s.todos = "null"
		}
		return text(`{"todos":[]}`), nil
	case "fail":
		r := text(`{"error":"no such thing"}`)
		r.IsError = true
		return r, nil
	case "boom":
		panic("boom")
	case "broken":
		return event.ToolResult{}, errors.New("transport closed")
	case "nothing":
		return event.ToolResult{}, nil
	case "wait":
		r := text("stopped")
		r.IsError = true
		return r, nil
	}
	return text("did " + call.ToolName), nil
}

// questions is an interactive skill.
type questions struct{}

func (questions) Name() string { return "user" }
func (questions) Close() error { return nil }
func (questions) Tools(context.Context) ([]skill.Tool, error) {
	return []skill.Tool{{Name: "ask", Kind: skill.Interactive, InputSchema: rawjson.Value(`{"properties":{"q":{"type":"number"}}}`)}, {Name: "confirm", Kind: skill.Interactive}}, nil
}
func (questions) Call(context.Context, event.ToolCall) (event.ToolResult, error) {
	return event.ToolResult{}, errors.New("interactive tools are not called")
}

// A bench is one job in memory that can be run, stopped and continued.
type bench struct {
	t      testing.TB
	store  store.Store
	script *script
	model  model.Model // instead of the script
	tools  *tools
	base   *tools
	source Source
	expert *expert.Expert

	mu        sync.Mutex
	team      []*expert.Expert // the other Experts, which they can delegate to
	delegated []bool           // of the requests for skills
	planned   []bool           // the same
	plan      bool             // the job only plans at first
	container bool             // the engine runs in one
	limits    expert.Limits    // but for steps
	maxDepth  int
	toolCalls int // limit
	atOnce    int // Runs
	price     expert.Price
	prices    map[string]expert.Price // by provider, instead of the one price
	provider  string
	runtime   string
	isolation job.Isolation

	maxSteps, maxRetries int
	parallel             int
	timeout              time.Duration
	window               int
	emit                 func(event.Event) error
	record               func(store.Record) error
	redact               func(string) string
	approver             Approver
	files                Snapshots
	log                  *slog.Logger
	snapshots            job.Snapshots
	approvals            Approvals
	inbox                *Inbox
	grantedPaths         func(expertKey, skillName string) []string
	attached             map[string][]byte
	lean                 bool
	skills               func(context.Context, SkillRequest) (*skill.Toolbox, error) // instead of the usual ones
	events               []event.Event                                               // of the newest run
}

func newBench(t testing.TB, turns ...turn) *bench {
	return &bench{
		t:          t,
		store:      memory.New(),
		script:     &script{turns: turns},
		tools:      &tools{name: "tools"},
		base:       &tools{name: event.BaseSkill},
		source:     FixedSource(time.UnixMilli(1_767_000_000_000)),
		expert:     &expert.Expert{Key: "writer", Name: "writer", Version: "1.0.0", Instruction: "Write."},
		maxSteps:   100,
		maxRetries: 5,
	}
}

// skillsOf are the usual skills of an Expert.
func (b *bench) skillsOf(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
	b.mu.Lock()
	b.delegated, b.planned = append(b.delegated, req.Delegated), append(b.planned, req.Plan)
	b.mu.Unlock()
	base := b.base
	if req.Delegated {
		base = &tools{name: event.BaseSkill} // todo lists are not shared
	}
	sources := []skill.Source{{Skill: base}, {Skill: b.tools}}
	for _, d := range req.Delegates {
		sources = append(sources, skill.Source{Skill: delegate.All(d)[0]})
	}
	if req.Plan && !req.Delegated {
		sources = append(sources, skill.Source{Skill: proposal.New()})
	}
	if !req.Delegated {
		sources = append(sources, skill.Source{Skill: questions{}})
	}
	return skill.NewToolbox(ctx, sources, slog.New(slog.DiscardHandler))
}

// newTeam is a bench with several Experts. "writer" is the coordinator; each can delegate to
// all the others.
func newTeam(t testing.TB, team map[string][]turn) *bench {
	b := newBench(t)
	b.script.team = team
	keys := slices.Sorted(maps.Keys(team))
	b.atOnce = 1 // so that two runs are alike
	for _, key := range keys {
		e := b.expert
		if key != "writer" {
			e = &expert.Expert{Key: key, Name: key, Version: "1.0.0", Description: "Is good at " + key + ".", Instruction: "Be the " + key + "."}
			b.team = append(b.team, e)
		}
		e.Delegates = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == key })
	}
	return b
}

// spec is the job as it is set up now.
func (b *bench) spec(in job.Input) job.Spec {
	limits := job.Limits{Limits: b.limits, MaxToolCalls: b.toolCalls, MaxDepth: b.maxDepth, MaxParallel: b.atOnce, MaxRetries: b.maxRetries, Timeout: b.timeout}
	limits.MaxSteps = b.maxSteps
	if b.maxRetries == 0 {
		limits.MaxRetries = job.None
	}
	spec := job.Spec{
		JobID: "job", Expert: b.expert.Key, Experts: append([]*expert.Expert{b.expert}, b.team...), Input: in,
		Settings:   job.Settings{Provider: b.provider, Model: b.provider, Limits: limits, Runtime: b.runtime, Isolation: b.isolation, Snapshots: b.snapshots, Approvals: job.Approvals{Plan: b.plan}},
		Workspace:  job.Workspace{Dir: "/ws"},
		Models:     map[string]expert.ModelEntry{b.provider: {ContextWindow: b.window}},
		Prices:     b.prices,
		Sequential: b.parallel == 1,
	}
	if b.prices == nil && b.price != (expert.Price{}) {
		spec.Prices = map[string]expert.Price{b.provider: b.price}
	}
	return spec
}

// A redactor hides what a function takes out of text.
type redactor func(string) string

func (r redactor) Add(string, string)                 {}
func (r redactor) AddKey(string, string)              {}
func (r redactor) AddIfRandom(string, string)         {}
func (r redactor) Redact(text string) string          { return r(text) }
func (r redactor) Within(...string) map[string]string { return nil }

func (b *bench) run(ctx context.Context, in job.Input) (Result, error) {
	b.t.Helper()
	b.events = nil
	// A new process has new skills; what they remember comes from the journal.
	b.base = &tools{name: event.BaseSkill, ran: b.base.ran}
	spec := b.spec(in)
	var llm model.Model = b.script
	if b.model != nil {
		llm = b.model
	}
	skills := b.skillsOf
	if b.skills != nil {
		skills = b.skills
	}
	before := b.written()
	parts := Parts{
		History: b.folded(in, len(before)%2 == 0),
		Model:   llm,
		Store:   b.store,
		Source:  b.source,
		Log:     slog.New(slog.DiscardHandler),
		Lean:    b.lean,
		Record:  b.record,
		Emit: func(e event.Event) error {
			b.events = append(b.events, e)
			if b.emit != nil {
				return b.emit(e)
			}
			return nil
		},
		Approver:  b.approver,
		Snapshots: b.files,
		Approvals: b.approvals,
		Inbox:     b.inbox,

		GrantedPaths: b.grantedPaths,
		Attachments:  b.attached,
	}
	if b.container {
		parts.Container = &Container{}
	}
	if b.log != nil {
		parts.Log = b.log
	}
	if b.redact != nil {
		parts.Secrets = redactor(b.redact)
	}
	result, err := Execute(ctx, spec, parts, skills)
	if err == nil {
		b.follow(spec, before, result)
	}
	return result, err
}

// folded returns the history of the job if it is continued, as a caller that has folded it
// already hands it in; nil for a caller that has not.
func (b *bench) folded(in job.Input, handIn bool) *History {
	if !in.Continue || !handIn {
		return nil
	}
	h, err := Load(b.t.Context(), b.store, "job")
	if err != nil {
		return nil // Execute says why
	}
	return h
}

func (b *bench) load(s store.Store) *History {
	b.t.Helper()
	h, err := Load(b.t.Context(), s, "job")
	if err != nil {
		b.t.Fatal(err)
	}
	return h
}

// must runs and fails the test on an error.
func (b *bench) must(in job.Input) Result {
	b.t.Helper()
	r, err := b.run(b.t.Context(), in)
	if err != nil {
		b.t.Fatalf("run: %v", err)
	}
	return r
}

// interrupted runs until a tool waits, and is stopped there by the user.
func (b *bench) interrupted(in job.Input) Result {
	b.t.Helper()
	ctx, cancel := context.WithCancelCause(b.t.Context())
	defer cancel(nil)
	b.tools.onWait = func() { cancel(errors.New("ctrl-c")) }
	r, err := b.run(ctx, in)
	if err != nil || r.Status != event.StatusStoppedByInterrupt {
		b.t.Fatalf("stopped by the user: %+v, %v", r, err)
	}
	return r
}

// killedAfter runs until an Expert has recorded an event of a type, and is killed there.
func (b *bench) killedAfter(expert string, kind event.Type, in job.Input) {
	b.t.Helper()
	inner := b.store
	b.store = &killedStore{Store: inner, left: -1, until: func(e event.Event) bool { return e.ExpertKey == expert && e.Type() == kind }}
	_, err := b.run(b.t.Context(), in)
	b.store = inner
	if !errors.Is(err, errDead) {
		b.t.Fatalf("killed: %v", err)
	}
}

// trace lists the state events of the newest run as type@step.
func (b *bench) trace() string {
	var all []string
	for _, e := range b.events {
		if !e.IsRuntime() && e.IsKept() && !e.IsRecordOnly() {
			all = append(all, fmt.Sprintf("%s@%d", e.Type(), e.StepNumber))
		}
	}
	return strings.Join(all, " ")
}

// last returns the body of the newest event of its type.
func last[B event.Body](b *bench) B {
	b.t.Helper()
	for i := len(b.events) - 1; i >= 0; i-- {
		if body, ok := b.events[i].Body.(B); ok {
			return body
		}
	}
	var none B
	b.t.Fatalf("no %T among the events: %s", none, b.trace())
	return none
}
