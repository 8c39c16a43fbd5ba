package engine

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

// grace is how long an interrupted run waits for its tools to stop.
const grace = 5 * time.Second

// A flight is the tool calls of one turn that this process carries out. The tools run
// on goroutines of their own; what they report comes through channels, so that the
// loop remains the only one that records.
type flight struct {
	calls   map[string]stage
	running int

	results  chan event.ToolResult // with room for all: a tool is never held up
	notes    chan note
	stop     context.CancelFunc // of all calls
	deadline *time.Timer        // set when they were told to stop
}

// A note is a tool's progress.
type note struct{ callID, text string }

// A stage is how far this process is with a call.
type stage int

const (
	sound     stage = iota + 1 // its arguments were checked
	announced                  // its start is recorded
	launched                   // it was started
)

func (f *flight) has(callID string, s stage) bool { return f.calls[callID] >= s }

func (f *flight) mark(callID string, s stage) {
	if f.calls == nil {
		f.calls = make(map[string]stage)
	}
	f.calls[callID] = s
}

// clear makes room for the calls of another turn.
func (f *flight) clear() {
	if f.stop != nil {
		f.stop()
	}
	*f = flight{}
}

// launch starts calls whose start is recorded. Before a call with effects starts, the
// record is made to survive a power cut.
func (r *run) launch(ctx context.Context, calls []Call) error {
	effects := slices.ContainsFunc(calls, func(c Call) bool {
		tool, _, _ := r.toolbox.Lookup(c.ToolName)
		return !tool.Repeatable
	})
	if effects {
		if err := r.commit(); err != nil {
			return err
		}
	}
	f := &r.flight
	if f.results == nil {
		f.results = make(chan event.ToolResult, len(r.state.Step.Calls))
		f.notes = make(chan note, 64)
	}
	ctx, cancel := context.WithCancel(ctx)
	earlier := f.stop
	f.stop = func() {
		cancel()
		if earlier != nil {
			earlier()
		}
	}
	results, notes := f.results, f.notes
	ctx = skill.WithProgress(ctx, func(callID, text string) {
		select {
		case notes <- note{callID, text}:
		default: // nobody reads: a note may be lost, a tool may not be held up
		}
	})
	for _, c := range calls {
		f.mark(c.ID, launched)
		f.running++
		go func() { results <- r.call(ctx, c.ToolCall) }()
	}
	return nil
}

// call runs one tool. Whatever happens becomes a result that the model can read. It
// runs beside the loop and therefore makes no ids: landed does.
func (r *run) call(ctx context.Context, call event.ToolCall) (result event.ToolResult) {
	failed := func(text string) event.ToolResult {
		return event.ToolResult{Result: []event.Part{{Type: event.TextPart, Text: "Error: " + text}}, IsError: true}
	}
	defer func() {
		if p := recover(); p != nil {
			r.Log.Error("panic in a tool", "tool", call.ToolName, "value", p, "stack", string(debug.Stack()))
			result = failed(fmt.Sprintf("the tool %s failed inside: %v", call.ToolName, p))
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

// await waits for the next result and publishes notes meanwhile. It is cut short when
// the run is told to stop.
func (r *run) await(ctx context.Context) event.Body {
	for {
		if h, stop := r.halted(ctx); stop {
			return r.settle(h)
		}
		select {
		case <-ctx.Done():
		case <-r.reports.news():
			r.tell()
		case result := <-r.flight.results:
			r.flight.running--
			return r.landed(result)
		case n := <-r.flight.notes:
			r.tell()
			r.show(event.ToolProgress{ToolCallID: n.callID, Message: validText(n.text)})
		}
	}
}

// landed takes a result from its tool: its parts get their ids, its text is made fit
// for the journal, and what the skill remembers now goes along.
func (r *run) landed(result event.ToolResult) event.EndToolCall {
	for i := range result.Result {
		result.Result[i].ID = r.Source.NewID()
		result.Result[i].Text = validText(result.Result[i].Text)
	}
	// The memory of now, not of when the tool ended: of two calls that ran side by
	// side, the one recorded last must not bring back the older state.
	memory := r.redactMemory(r.toolbox.Memory(result.SkillName))
	if bytes.Equal(memory, r.state.Memory[result.SkillName]) {
		memory = nil
	}
	return event.EndToolCall{ToolResult: result, Memory: memory}
}

// stopOne tells the running tools to stop and returns the result of the next one that
// does. It is false when none runs any more, or the grace is over.
func (f *flight) stopOne() (event.ToolResult, bool) {
	if f.running == 0 {
		return event.ToolResult{}, false
	}
	f.stop()
	if f.deadline == nil {
		f.deadline = time.NewTimer(grace)
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

// textResult is a result made by the engine itself.
func (r *run) textResult(call event.ToolCall, text string) event.ToolResult {
	return event.ToolResult{ID: call.ID, SkillName: call.SkillName, ToolName: call.ToolName, Result: []event.Part{r.textPart(text)}}
}

func (r *run) errorResult(call event.ToolCall, text string) event.ToolResult {
	result := r.textResult(call, text)
	result.IsError = true
	return result
}
