package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

const (
	// hardCap is how many times the limit of a call it may last, however much progress
	// the server reports.
	hardCap = 10
	// maxNotes is how many notes of progress of one call are passed on. Later ones still
	// show that the server works.
	maxNotes = 1_000
)

// Why a call was given up.
var (
	errSilent  = errors.New("no news for too long")
	errTooLong = errors.New("it takes too long")
	errGone    = errors.New("the server is gone")
)

// A problemError is what a server has against a call. The library has errors of the same
// type for what happens on the way, so this one is told apart by hand.
type problemError struct{ said *jsonrpc.Error }

func (e *problemError) Error() string {
	return fmt.Sprintf("%s (code %d)", e.said.Message, e.said.Code)
}

// Call runs a tool, and starts the server if it does not run. What goes wrong with the
// server or the tool is a result that the model reads. An error means that the run is
// over: it was stopped, the skill was closed, or the server is not the one that was
// installed.
func (s *Skill) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	if s.isLocked() && !(&listing{tools: s.o.Locked}).has(call.ToolName) {
		return s.failure(call, s.named(fmt.Errorf("there is no tool %q", call.ToolName))), nil
	}
	sv, err := s.ready(ctx)
	if err == nil {
		err = sv.settle(ctx)
	}
	_, changed := errors.AsType[*ChangedError](err)
	switch {
	case err != nil && (ctx.Err() != nil || changed || errors.Is(err, errClosed)):
		return event.ToolResult{}, err
	case err != nil:
		return s.failure(call, err), nil
	}
	s.mu.Lock()
	listed, final := s.listed, s.final
	s.mu.Unlock()
	if changed, ok := errors.AsType[*ChangedError](final); ok {
		return event.ToolResult{}, changed
	}
	if !listed.has(call.ToolName) {
		return s.failure(call, s.named(fmt.Errorf("the server does not offer a tool %q", call.ToolName))), nil
	}
	raw, err := sv.call(ctx, call)
	if err != nil {
		return s.judge(ctx, call, sv, err)
	}
	s.answered()
	result := s.result(call)
	result.Result, result.IsError = convert(raw, s.o.Redact)
	return result, nil
}

// judge says what became of a call that got no result.
func (s *Skill) judge(ctx context.Context, call event.ToolCall, sv *server, err error) (event.ToolResult, error) {
	limit := s.o.CallTimeout
	problem, isProblem := errors.AsType[*problemError](err)
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return event.ToolResult{}, fmt.Errorf("the call of %s was stopped: %w", call.ToolName, context.Cause(ctx))
	case closed: // we ended the server: that is no death
		return event.ToolResult{}, s.named(errClosed)
	case isProblem:
		s.answered()
		return s.failure(call, fmt.Errorf("the call of %s failed: %w", call.ToolName, problem)), nil
	case errors.Is(err, errSilent):
		return s.failure(call, fmt.Errorf("the tool %s reported nothing for %v and was cancelled; its outcome is unknown (callTimeout sets the limit)", call.ToolName, limit)), nil
	case errors.Is(err, errTooLong):
		return s.failure(call, fmt.Errorf("the tool %s took longer than %v and was cancelled; its outcome is unknown (callTimeout sets a tenth of the limit)", call.ToolName, hardCap*limit)), nil
	}
	if isEnd(err) || errors.Is(err, errGone) {
		err = errEnded
	}
	sv.die(err) // if it has not yet: a connection that broke once is not used again
	if changed, ok := errors.AsType[*ChangedError](sv.reason); ok {
		return event.ToolResult{}, changed
	}
	if errors.Is(sv.reason, errClosed) { // closed only just now
		return event.ToolResult{}, s.named(errClosed)
	}
	return s.failure(call, sv.epitaph("during the call, whose outcome is unknown")), nil
}

func (s *Skill) result(call event.ToolCall) event.ToolResult {
	return event.ToolResult{ID: call.ID, SkillName: s.o.Name, ToolName: call.ToolName}
}

func (s *Skill) failure(call event.ToolCall, err error) event.ToolResult {
	r := s.result(call)
	r.Result, r.IsError = []event.Part{text("Error: " + err.Error())}, true
	return r
}

// call sends a call and waits for its result, as the server sent it. The error is one of
// those above, one of the server's, or one of the connection.
func (s *server) call(ctx context.Context, call event.ToolCall) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := s.skill.o.CallTimeout
	silence := time.AfterFunc(limit, func() { cancel(errSilent) })
	defer silence.Stop()
	defer time.AfterFunc(hardCap*limit, func() { cancel(errTooLong) }).Stop()
	defer context.AfterFunc(s.ctx, func() { cancel(errGone) })()

	params := &sdk.CallToolParams{Name: call.ToolName, Arguments: call.Args}
	if len(call.Args) == 0 {
		params.Arguments = rawjson.Value("{}")
	}
	notes := 0
	token := s.onProgress(func(note string) {
		silence.Reset(limit)
		if notes++; notes <= maxNotes && note != "" {
			skill.Report(ctx, note)
		}
	})
	defer s.offProgress(token)
	params.SetProgressToken(token)

	q := &question{canned: `{"content":[]}`}
	defer s.guard.forget(q)
	if _, err := s.session.CallTool(asking(ctx, q), params); err != nil {
		if said := q.problem.Load(); said != nil {
			return nil, &problemError{said}
		}
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, err
	}
	return q.result, nil
}

// onProgress has a function called for each note of progress that bears the token it
// returns. It is called by one goroutine, that which reads.
func (s *server) onProgress(heard func(note string)) (token int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens++
	s.progresses[s.tokens] = heard
	return s.tokens
}

func (s *server) offProgress(token int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.progresses, token)
}
