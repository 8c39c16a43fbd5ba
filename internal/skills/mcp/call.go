package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

const (
	// hardCap times callTimeout is the longest a call can take, whatever progress it reports.
	hardCap = 10
	// maxNotes is how many progress notes of one call are shown. Later ones still extend its time.
	maxNotes = 1_000
)

// Why a call was given up.
var (
	errSilent  = errors.New("no news for too long")
	errTooLong = errors.New("it takes too long")
	errGone    = errors.New("the server is gone")
)

// A problemError is the server's error about a call. The library uses the same type for errors
// of the connection.
type problemError struct{ said *jsonrpc.Error }

func (e *problemError) Error() string {
	return fmt.Sprintf("%s (code %d)", e.said.Message, e.said.Code)
}

// Call runs a tool, and starts the server if it does not run. A failure of the server or the tool
// is a result that the model reads. An error ends the run: it was stopped, the skill was closed,
// or the tools are not those that were installed.
func (s *Skill) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	if s.isLocked() && !(&listing{tools: s.o.Locked}).has(call.ToolName) {
		return s.failure(call, s.named(fmt.Errorf("there is no tool %q", call.ToolName))), nil
	}
	sv, err := s.ready(ctx)
	if err == nil {
		err = sv.waitForList(ctx)
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
		return s.callFailed(ctx, call, sv, err)
	}
	s.answered()
	result := s.result(call)
	result.Result, result.IsError = convert(raw, s.o.Redact)
	return result, nil
}

// callFailed returns the outcome of a call that got no result.
func (s *Skill) callFailed(ctx context.Context, call event.ToolCall, sv *server, err error) (event.ToolResult, error) {
	limit := s.o.CallTimeout
	problem, isProblem := errors.AsType[*problemError](err)
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return event.ToolResult{}, fmt.Errorf("the call of %s was stopped: %w", call.ToolName, context.Cause(ctx))
	case closed: // perstack has ended the server
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
	sv.fail(err) // a connection that broke once is not used again
	if changed, ok := errors.AsType[*ChangedError](sv.reason); ok {
		return event.ToolResult{}, changed
	}
	if errors.Is(sv.reason, errClosed) { // closed in the meantime
		return event.ToolResult{}, s.named(errClosed)
	}
	return s.failure(call, sv.endError("during the call, whose outcome is unknown")), nil
}

func (s *Skill) result(call event.ToolCall) event.ToolResult {
	return event.ToolResult{ID: call.ID, SkillName: s.o.Name, ToolName: call.ToolName}
}

func (s *Skill) failure(call event.ToolCall, err error) event.ToolResult {
	r := s.result(call)
	r.Result, r.IsError = []event.Part{text("Error: " + err.Error())}, true
	return r
}

// call sends a call and returns its result as the server sent it.
func (s *server) call(ctx context.Context, call event.ToolCall) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := s.skill.o.CallTimeout
	clock := s.skill.o.Clock
	silence := clock.AfterFunc(limit, func() { cancel(errSilent) })
	defer silence.Stop()
	defer clock.AfterFunc(hardCap*limit, func() { cancel(errTooLong) }).Stop()
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

	q := &pendingRequest{canned: `{"content":[]}`}
	defer s.guard.forget(q)
	if _, err := s.session.CallTool(withPending(ctx, q), params); err != nil {
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

// onProgress registers a function for progress notes with the token that it returns. The function
// is called by the goroutine that reads.
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
