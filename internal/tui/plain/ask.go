package plain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/approval"
	"github.com/perstack-go/perstack/internal/narrate"
)

// An asker hands what a job asks to the session. Its methods are called by other goroutines.
type asker struct {
	asks    chan *ask
	notices chan string

	mu   sync.Mutex
	over chan struct{} // closed when the job has ended
}

func newAsker() *asker { return &asker{asks: make(chan *ask), notices: make(chan string)} }

func (a *asker) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = make(chan struct{})
}

func (a *asker) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.over)
}

func (a *asker) done() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.over
}

// An ask is one question.
type ask struct {
	ctx     context.Context
	request event.Request
	confirm string // the question of Confirm; otherwise the request counts
	reply   chan reply
	shown   time.Time
	last    time.Time // when a line was entered
}

type reply struct {
	answer event.Answer
	yes    bool
	err    error
}

var noAnswer = reply{err: engine.ErrNoAnswer}

func (q *ask) isApproval() bool { return q.confirm != "" || q.request.Approval != nil }

func (q *ask) prompt() string {
	if q.isApproval() {
		return "Approval:"
	}
	return "Answer:"
}

// Ask implements [engine.Approver].
func (a *asker) Ask(ctx context.Context, request event.Request) (event.Answer, error) {
	r := a.put(&ask{ctx: ctx, request: request})
	return r.answer, r.err
}

// Confirm implements [tui.Asker].
func (a *asker) Confirm(ctx context.Context, question string) (bool, error) {
	r := a.put(&ask{ctx: ctx, confirm: question})
	if errors.Is(r.err, engine.ErrNoAnswer) {
		return false, nil
	}
	return r.yes, r.err
}

// Tell implements [tui.Asker].
func (a *asker) Tell(notice string) {
	select {
	case a.notices <- notice:
	case <-a.done():
	}
}

func (a *asker) put(q *ask) reply {
	q.reply = make(chan reply, 1)
	select {
	case a.asks <- q:
	case <-q.ctx.Done():
		return reply{err: context.Cause(q.ctx)}
	case <-a.done():
		return noAnswer
	}
	select {
	case r := <-q.reply:
		return r
	case <-q.ctx.Done():
		return reply{err: context.Cause(q.ctx)}
	case <-a.done():
		return noAnswer
	}
}

// showAsk shows the first question. Without a terminal, nothing is approved.
func (s *session) showAsk() {
	q := s.asks[0]
	if s.opts.Terminal {
		if q.isApproval() && s.opts.Flush != nil {
			s.opts.Flush()
		}
		s.out.ring = true
	}
	switch {
	case q.confirm != "":
		s.say("Approval", q.confirm+"\nType yes to allow it, no to refuse it.")
	case q.request.Approval != nil:
		s.showApproval(q)
	default:
		s.showQuestion(q.request)
	}
	q.shown = s.opts.Clock()
	if q.isApproval() && !s.opts.Terminal {
		s.say("Note", "nothing is approved without a terminal")
		s.answerAsk(noAnswer)
	} else if s.ended {
		s.answerAsk(noAnswer)
	}
}

func (s *session) showApproval(q *ask) {
	view := approval.Render(q.request.Approval, s.opts.Redact)
	text := []string{view.Title}
	for _, section := range view.Sections {
		if !section.Block && len(section.Lines) == 1 {
			text = append(text, section.Label+": "+section.Lines[0])
			continue
		}
		text = append(text, section.Label+":")
		for _, l := range section.Lines {
			text = append(text, "  "+l)
		}
	}
	if s.opts.Terminal {
		text = append(text, "To answer, "+q.how()+".")
	}
	s.say("Approval", strings.Join(text, "\n"))
}

// words are those that allow a request, by scope.
var words = map[string]string{event.ScopeOnce: "allow", event.ScopeJob: "allow job", event.ScopeProject: "allow project"}

// hints say which words allow a request, and for how long.
func hints(a *event.Approval) (all []string) {
	for _, scope := range approval.Scopes(a) {
		hint := `"` + words[scope] + `"`
		switch {
		case scope == event.ScopeJob:
			hint += " for this job"
		case scope == event.ScopeProject:
			hint += " for this project"
		case a.Effect.Kind == event.PathEffect: // it is too late for the call that asked
			hint += " for this Run"
		case a.Effect.Kind != event.PlanEffect && !a.Once:
			hint += " for this time"
		}
		all = append(all, hint)
	}
	return all
}

// showQuestion shows a question of an Expert as a row of the transcript.
func (s *session) showQuestion(r event.Request) {
	var story narrate.Narrator
	call := r.Question
	rows := narrate.Rows(story.Apply(event.Event{
		ID: "question", JobID: r.JobID, RunID: r.RunID, ExpertKey: r.ExpertKey, Body: event.CallInteractiveTool{ToolCallID: call.ID, ToolCall: &call},
	}))
	_ = s.printer.Print(rows) // the error is kept by the output
}

// quietAsk is how long after a question was shown a line cannot be an approval, since it was typed
// before. pause is how long no other line must come before one that approves: pasted text has several.
const (
	quietAsk = 300 * time.Millisecond
	pause    = 50 * time.Millisecond
)

// toAsk takes a line as the answer to the first question.
func (s *session) toAsk(l line) error {
	q := s.asks[0]
	text := strings.TrimSpace(l.text)
	before := q.last
	q.last = l.at
	if name, arg, ok := s.command(l.text); ok {
		return s.do(name, arg)
	}
	if !q.isApproval() {
		if text == "" {
			return nil
		}
		if s.opts.Terminal && l.at.Before(q.shown) {
			s.queue = append(s.queue, l.text)
			s.say("Queued", "it was entered before the question, so it is no answer; /unqueue takes it back")
			return nil
		}
		if !s.opts.Terminal {
			s.say("You", text)
		}
		s.answerAsk(reply{answer: event.Answer{Text: l.text}})
		return nil
	}
	r, ok := s.verdict(q, text)
	if !ok {
		if text != "" {
			s.say("Note", fmt.Sprintf("that is no answer; %s", q.how()))
		}
		return nil
	}
	if (r.answer.Allow || r.yes) && (l.at.Sub(q.shown) < quietAsk || l.at.Sub(before) < pause || s.another(q)) {
		s.say("Note", "that does not count: it was entered before the question could be read, or with other lines; type it again")
		if s.ended {
			s.dropAsks()
		}
		return nil
	}
	s.answerAsk(r)
	return nil
}

// another reports whether another line comes with the one that approves, and drops it.
func (s *session) another(q *ask) bool {
	select {
	case l := <-s.typed:
		q.last = l.at
		if l.err != nil {
			s.ended = true
		}
		return true
	case <-time.After(pause):
		return false
	}
}

func (q *ask) how() string {
	if q.confirm != "" {
		return "type yes or no"
	}
	return "type " + strings.Join(hints(q.request.Approval), ", ") + `, "deny" or "deny" and a reason, or "later"`
}

// verdict reads an answer to an approval. Only whole words count.
func (s *session) verdict(q *ask, text string) (reply, bool) {
	if q.confirm != "" {
		return reply{yes: text == "yes"}, text == "yes" || text == "no"
	}
	for _, scope := range approval.Scopes(q.request.Approval) {
		if strings.Join(strings.Fields(text), " ") == words[scope] {
			return reply{answer: event.Answer{Allow: true, Scope: scope}}, true
		}
	}
	switch word, reason, _ := strings.Cut(text, " "); {
	case word == "deny":
		return reply{answer: event.Answer{Reason: strings.TrimSpace(reason)}}, true
	case text == "later":
		return noAnswer, true
	}
	return reply{}, false
}

// answerAsk gives an answer to the first question and shows the next one.
func (s *session) answerAsk(r reply) {
	s.asks[0].reply <- r
	s.nextAsk()
}

// closeAsks drops questions that need no answer any more: the job stops, or the answer came from
// elsewhere.
func (s *session) closeAsks() {
	for len(s.asks) > 0 && s.asks[0].ctx.Err() != nil {
		s.say("Note", "the question is closed")
		s.nextAsk()
	}
}

// dropAsks leaves all questions without an answer: the input has ended.
func (s *session) dropAsks() {
	for len(s.asks) > 0 {
		s.answerAsk(noAnswer)
	}
}

func (s *session) nextAsk() {
	if s.asks = s.asks[1:]; len(s.asks) > 0 {
		s.showAsk()
	}
}
