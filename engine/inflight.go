package engine

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

// stopTimeout is how long an interrupted Run waits for its tools to stop.
const stopTimeout = 5 * time.Second

// inFlight is the tool calls of one turn that this process carries out. Each tool runs on a
// goroutine of its own and returns its result through a channel, so that only the loop records.
type inFlight struct {
	stages    map[string]callStage // by call id
	decisions map[string]Decision  // by call id
	running   int

	ctx      context.Context       // of all calls
	cancel   context.CancelFunc    // of ctx
	results  chan event.ToolResult // buffered for all calls, so that a tool never blocks
	deadline *time.Timer           // set when the calls were cancelled
}

// A callStage is how far this process is with a call.
type callStage int

const (
	stageChecked callStage = iota + 1 // its arguments were checked
	stageAsked                        // the user has to allow it
	stageAllowed                      // a rule or the user allows it
	stageReady                        // it was decided again, right before its start
	stageStarted                      // its tool was started
)

// reset prepares for the calls of another turn.
func (f *inFlight) reset() {
	if f.cancel != nil {
		f.cancel()
	}
	*f = inFlight{stages: make(map[string]callStage), decisions: make(map[string]Decision)}
}

// startCalls starts calls whose start is recorded. Before a call with effects starts, its
// record must survive a power cut.
func (r *run) startCalls(ctx context.Context, calls []Call) error {
	hasEffects := slices.ContainsFunc(calls, func(c Call) bool {
		tool, _, _ := r.toolbox.Lookup(c.ToolName)
		return !tool.Repeatable
	})
	if hasEffects {
		if err := r.recorder.commit(); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(calls, r.callChangesFiles) {
		r.exec.snapshots.await(ctx)
	}
	f := &r.inFlight
	if f.results == nil {
		f.results = make(chan event.ToolResult, len(r.state.Step.Calls))
		f.ctx, f.cancel = context.WithCancel(ctx)
	}
	ctx, results := f.ctx, f.results // a tool that does not stop can outlive the turn
	for _, c := range calls {
		f.stages[c.ID] = stageStarted
		f.running++
		changesFiles := r.callChangesFiles(c)
		if changesFiles {
			r.exec.snapshots.begin(callKey{r.runID, c.ID})
		}
		go func() {
			ctx, endNotes := r.withNotes(ctx)
			result := r.callTool(ctx, c.ToolCall)
			endNotes()
			if changesFiles {
				r.exec.snapshots.end(callKey{r.runID, c.ID})
			}
			results <- result
		}()
	}
	return nil
}

// withNotes returns a context by which a tool reports progress to the Run until endNotes is
// called. What a tool leaves running can report later. A model can use the same call id in
// another turn, so a late note would look like one of another call.
func (r *run) withNotes(ctx context.Context) (withNotes context.Context, endNotes func()) {
	var mu sync.Mutex
	ended := false
	withNotes = skill.WithProgress(ctx, func(callID, text string) {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			r.reports.add(event.ToolProgress{ToolCallID: callID, Message: validText(text)})
		}
	})
	return withNotes, func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
	}
}

// callTool runs one tool. Whatever happens becomes a result that the model can read. It does
// not run on the loop's goroutine, so it makes no ids: endToolCall does.
func (r *run) callTool(ctx context.Context, call event.ToolCall) (result event.ToolResult) {
	failed := func(text string) event.ToolResult {
		return event.ToolResult{Result: []event.Part{{Type: event.TextPart, Text: "Error: " + text}}, IsError: true}
	}
	defer func() {
		if p := recover(); p != nil {
			r.parts.Log.Error("panic in a tool", "tool", call.ToolName, "value", p, "stack", string(debug.Stack()))
			result = failed(fmt.Sprintf("internal error in the tool %s: %v", call.ToolName, p))
		}
		result.ID, result.SkillName, result.ToolName = call.ID, call.SkillName, call.ToolName
	}()
	result, err := r.toolbox.Call(ctx, call)
	if err != nil {
		return failed(err.Error())
	}
	if len(result.Result) == 0 {
		result.Result = []event.Part{{Type: event.TextPart, Text: "The tool " + call.ToolName + " returned nothing."}}
	}
	return result
}

// awaitResult waits for the next result, or until the Run must stop. Meanwhile it publishes
// reports.
func (r *run) awaitResult(ctx context.Context) event.Body {
	for {
		if reason := r.stopRequested(ctx); reason != nil {
			return r.stopRun(reason)
		}
		select {
		case <-ctx.Done():
		case <-r.reports.ready:
			r.publishReports()
		case result := <-r.inFlight.results:
			r.inFlight.running--
			r.publishReports() // what the tool said comes before its end
			return r.endToolCall(result)
		}
	}
}

// endToolCall makes the event for a result: it gives ids to its parts, makes its text valid
// for the journal, and adds the skill's memory.
func (r *run) endToolCall(result event.ToolResult) event.EndToolCall {
	for i := range result.Result {
		result.Result[i].ID = r.newID()
		result.Result[i].Text = validText(result.Result[i].Text)
	}
	// The memory is read now, not when the tool returned. Otherwise, of two parallel calls,
	// the one recorded last could restore the older memory.
	memory := r.redactMemory(r.toolbox.Memory(result.SkillName))
	if bytes.Equal(memory, r.state.Memory[result.SkillName]) {
		memory = nil
	}
	return event.EndToolCall{ToolResult: result, Memory: memory}
}

// stopNext cancels the running tools and returns the next result. It is false if none is
// running, or if stopTimeout has passed.
func (f *inFlight) stopNext() (event.ToolResult, bool) {
	if f.running == 0 {
		return event.ToolResult{}, false
	}
	f.cancel()
	if f.deadline == nil {
		f.deadline = time.NewTimer(stopTimeout)
	}
	select {
	case result := <-f.results:
		f.running--
		return result, true
	case <-f.deadline.C:
		f.running = 0
		return event.ToolResult{}, false
	}
}

// textResult returns a result that the engine makes itself.
func (r *run) textResult(call event.ToolCall, text string) event.ToolResult {
	return event.ToolResult{ID: call.ID, SkillName: call.SkillName, ToolName: call.ToolName, Result: []event.Part{r.textPart(text)}}
}

func (r *run) errorResult(call event.ToolCall, text string) event.ToolResult {
	result := r.textResult(call, text)
	result.IsError = true
	return result
}
