package tui

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// A stage is a job whose events and questions come when the test says so.
type stage struct {
	events  chan event.Event
	asks    chan event.Request
	confirm chan string
	answers chan given
	tasks   chan Task
	fails   error // with which the job ends
}

// A given is what the job got for an answer.
type given struct {
	answer event.Answer
	yes    bool
	err    error
}

func newStage() *stage {
	return &stage{make(chan event.Event), make(chan event.Request), make(chan string), make(chan given, 10), make(chan Task, 10), nil}
}

func (s *stage) run(ctx context.Context, t Task, a Asker, yield func(event.Event, error) bool) {
	events := s.events // a test can prepare the next job
	s.tasks <- t
	for {
		select {
		case e, ok := <-events:
			if !ok {
				if fails := s.fails; fails != nil {
					yield(event.Event{}, fails)
				}
				return
			}
			yield(e, nil)
		case r := <-s.asks:
			go func() {
				answer, err := a.Ask(ctx, r)
				s.answers <- given{answer: answer, err: err}
			}()
		case q := <-s.confirm:
			go func() {
				yes, err := a.Confirm(ctx, q)
				s.answers <- given{yes: yes, err: err}
			}()
		case <-ctx.Done():
			yield(happened("R", 4, event.StopRunByInterrupt{}), nil)
			return
		}
	}
}

// happened is an event of a Run, named after its step.
func happened(run string, step int, body event.Body) event.Event {
	e := event.Event{ID: fmt.Sprintf("e%d", eventNumber()), JobID: "r58pyt00", RunID: run, Timestamp: begun.UnixMilli() + int64(step)*1000, Body: body}
	if !e.IsRuntime() {
		e.ExpertKey, e.StepNumber = map[string]string{"R": "lead", "F": "finder", "H": "hotels"}[run], step
		if e.ExpertKey == "" {
			e.ExpertKey = strings.ToLower(run)
		}
	}
	return e
}

// eventNumber counts events, over all tests, so that no two have the same id.
func eventNumber() int64 { return eventCount.Add(1) }

var eventCount atomic.Int64

func says(kind event.MessageType, text string, calls ...event.ToolCall) *event.Message {
	m := &event.Message{Type: kind, Contents: []event.Part{{Type: event.TextPart, Text: text}}}
	for _, c := range calls {
		m.Contents = append(m.Contents, event.Part{Type: event.ToolCallPart, ToolCallID: c.ID, ToolName: c.ToolName, Args: c.Args})
	}
	return m
}

func asks(t *testing.T, text string) event.StartRun {
	t.Helper()
	spec := job.Spec{Prices: map[string]expert.Price{"claude": {Input: 10, Output: 100}}}
	spec.Limits.MaxSteps, spec.Limits.MaxCost = 100, 0.5
	recorded, err := spec.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	return event.StartRun{InputMessages: []*event.Message{says(event.UserMessage, text)}, Provider: "anthropic", Model: "claude", Spec: recorded}
}

func calls(text string, all ...event.ToolCall) event.CallTools {
	return event.CallTools{NewMessage: says(event.ExpertMessage, text, all...), ToolCalls: all, Usage: event.Usage{InputTokens: 9000, OutputTokens: 300}}
}

func returned(c event.ToolCall, text string) event.EndToolCall {
	return event.EndToolCall{ToolResult: event.ToolResult{ID: c.ID, SkillName: c.SkillName, ToolName: c.ToolName, Result: []event.Part{{Type: event.TextPart, Text: text}}}}
}

func readCall() event.ToolCall {
	return event.ToolCall{ID: "c1", SkillName: event.BaseSkill, ToolName: "readTextFile", Args: []byte(`{"path":"notes.txt"}`)}
}

func removeCall() event.ToolCall {
	return event.ToolCall{ID: "c2", SkillName: event.BaseSkill, ToolName: "exec", Args: []byte(`{"command":"rm","args":["-r","old drafts"],"cwd":"."}`)}
}

func findCall() event.ToolCall {
	return event.ToolCall{ID: "c3", SkillName: "finder", ToolName: "finder", Args: []byte(`{"query":"Flights in May"}`)}
}

func askCall() event.ToolCall {
	return event.ToolCall{ID: "c4", SkillName: "user-io", ToolName: "askUser", Args: []byte(`{"question":"What is your budget?"}`)}
}

// tripEvents is the beginning of a job with a delegate.
func tripEvents(t *testing.T) []event.Event {
	return []event.Event{
		happened("R", 1, asks(t, "Plan a weekend in Lisbon")),
		happened("R", 1, event.StartGeneration{}),
		happened("R", 1, calls("I read your notes first.", readCall())),
		happened("R", 1, event.StartToolCall{ToolCallID: "c1"}),
		happened("R", 2, returned(readCall(), `{"content":"May, by plane"}`)),
		happened("R", 2, event.StartGeneration{}),
		happened("R", 3, calls("", findCall())),
		happened("R", 3, event.CallDelegate{ToolCalls: []event.ToolCall{findCall()}, Delegates: []event.DelegateRun{{ToolCallID: "c3", RunID: "F", Expert: event.ExpertRef{Key: "finder"}}}}),
		happened("F", 3, event.StartRun{DelegatedBy: &event.Parent{Expert: event.ExpertRef{Key: "lead"}, RunID: "R"}, InputMessages: []*event.Message{says(event.UserMessage, "Flights in May")}, Provider: "anthropic", Model: "claude"}),
		happened("F", 3, event.StartGeneration{}),
		happened("F", 3, event.StartStreamingText{}),
		happened("F", 4, event.StreamText{Delta: "There are **two** direct flights. The first one leaves at 7:40 and"}),
	}
}

// chatting drives a conversation whose job is a stage. Something was sent already.
func chatting(t *testing.T, width, height int, change ...func(*Options)) (*driver, *stage) {
	t.Helper()
	s := newStage()
	d := drive(t, &fakeProject{run: s.run, paths: []string{"notes.txt", "notes/", "notes/old.txt", "shot.png"}, inputs: []string{"an earlier input"}}, width, height,
		append([]func(*Options){func(o *Options) { o.Entry, o.Expert, o.Query = EntryChat, "lead", "Plan a weekend in Lisbon" }}, change...)...)
	<-s.tasks
	return d, s
}

// play lets the job emit events, and waits until the program has them.
func (d *driver) play(s *stage, events ...event.Event) {
	d.t.Helper()
	all := d.events + len(events)
	go func() {
		for _, e := range events {
			select {
			case s.events <- e:
			case <-d.t.Context().Done():
			}
		}
	}()
	d.until("the events are there", func() bool { return d.events == all })
}

// approvalRequest is a question about a command.
func approvalRequest() event.Request {
	c := removeCall()
	return event.Request{JobID: "r58pyt00", RunID: "R", ExpertKey: "lead", Approval: &event.Approval{
		Call: c, Experts: []string{"lead"}, Said: "The drafts are not needed any more.",
		ApprovalRequested: event.ApprovalRequested{
			ToolCallID: c.ID, ToolCall: &c, Digest: "d1", Rule: "commands ask", Sandbox: "landlock",
			Effect: event.Effect{Kind: event.CommandEffect, Program: "/bin/rm", Argv: []string{"rm", "-r", "old drafts"}, Dir: "."},
		},
	}}
}

// ask lets the job ask, and waits until the question is on the screen.
func (d *driver) ask(s *stage, r event.Request) {
	d.t.Helper()
	n := len(d.p.chat.asks)
	s.asks <- r
	d.until("the question is there", func() bool { return len(d.p.chat.asks) == n+1 })
}

// answered waits for what the job got.
func (d *driver) answered(s *stage) given {
	d.t.Helper()
	var g given
	d.until("the job has an answer", func() bool {
		select {
		case g = <-s.answers:
			return true
		default:
			return false
		}
	})
	return g
}
