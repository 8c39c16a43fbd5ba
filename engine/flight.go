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

// A flight is the tool calls that run right now. The tools run on goroutines of
// their own; what they report comes through one channel, so that the loop remains the
// only one that records and publishes.
type flight struct {
	running   int
	announced []string // ids of calls whose start this process has recorded
	launched  []string // ids of calls that it has started
	reports   chan report
	cancels   []context.CancelFunc
}

// A report is a note of progress, or a result.
type report struct {
	callID string
	note   string
	result *event.ToolResult
}

func (f *flight) hasAnnounced(callID string) bool { return slices.Contains(f.announced, callID) }
func (f *flight) hasLaunched(callID string) bool  { return slices.Contains(f.launched, callID) }

// launch starts calls whose start is recorded. Before a call with effects starts, the
// record is made to survive a power cut.
func (r *run) launch(ctx context.Context, calls []Call) error {
	for _, c := range calls {
		if tool, _, _ := r.toolbox.Lookup(c.ToolName); !tool.Repeatable {
			if err := r.commit(); err != nil {
				return err
			}
			break
		}
	}
	if r.flight.reports == nil {
		r.flight.reports = make(chan report, 64)
	}
	ctx, cancel := context.WithCancel(ctx)
	r.flight.cancels = append(r.flight.cancels, cancel)
	reports := r.flight.reports
	ctx = skill.WithProgress(ctx, func(callID, note string) {
		select {
		case reports <- report{callID: callID, note: note}:
		default: // nobody is waiting: a note may be lost, a tool may not be held up
		}
	})
	for _, c := range calls {
		r.flight.launched = append(r.flight.launched, c.ID)
		r.flight.running++
		call := c.ToolCall
		go func() {
			result := r.call(ctx, call)
			reports <- report{callID: call.ID, result: &result}
		}()
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
		if reason, stop := r.interrupted(ctx); stop {
			return r.settle(reason)
		}
		select {
		case <-ctx.Done():
		case rep := <-r.flight.reports:
			if rep.result != nil {
				r.flight.running--
				return r.landed(*rep.result)
			}
			r.publish(event.ToolProgress{ToolCallID: rep.callID, Message: rep.note})
		}
	}
}

// landed takes a result from its tool and gives its parts their ids.
func (r *run) landed(result event.ToolResult) event.EndToolCall {
	for i := range result.Result {
		result.Result[i].ID = r.Source.NewID()
	}
	// The memory of now, not of when the tool ended: of two calls that ran side by
	// side, the one recorded last must not bring back the older state.
	memory := r.toolbox.Memory(result.SkillName)
	if bytes.Equal(memory, r.state.Memory[result.SkillName]) {
		memory = nil
	}
	return event.EndToolCall{ToolResult: result, Memory: memory}
}

// grace is how long an interrupted run waits for its tools to stop.
const grace = 5 * time.Second

// settle takes the results of tools that stop because the run is interrupted. What
// does not stop in time is left without a result: its outcome is unknown.
func (r *run) settle(reason string) event.Body {
	if result, ok := r.flight.stopOne(); ok {
		return r.landed(result)
	}
	return event.StopRunByInterrupt{Reason: reason}
}

// stopOne tells the running tools to stop and returns the result of the next one that
// does. It is false when none runs any more, or none stops in time.
func (f *flight) stopOne() (event.ToolResult, bool) {
	for _, cancel := range f.cancels {
		cancel()
	}
	f.cancels = nil
	timeout := time.NewTimer(grace)
	defer timeout.Stop()
	for f.running > 0 {
		select {
		case rep := <-f.reports:
			if rep.result != nil {
				f.running--
				return *rep.result, true
			}
		case <-timeout.C:
			f.running = 0
		}
	}
	return event.ToolResult{}, false
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
