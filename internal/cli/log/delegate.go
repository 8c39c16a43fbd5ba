package log

import (
	"slices"

	"github.com/perstack-go/perstack/event"
)

// delegates prints to whom a Run hands work, and which Runs do it. The full form of the
// event has the calls.
func (p *printer) delegates(e event.Event, runs []event.DelegateRun) {
	calls := make(map[string]event.ToolCall)
	if b, ok := e.Body.(event.CallDelegate); ok {
		for _, c := range b.ToolCalls {
			calls[c.ID] = c
		}
	}
	for _, d := range runs {
		call := calls[d.ToolCallID]
		key := d.Expert.Key
		if key == "" {
			key = call.SkillName
		}
		p.field("  Delegate to", key+", run "+d.RunID)
		if q := queryOf(call); q != "" {
			p.text("    ", "Query: ", `"`, q, queryCut)
		}
		if d.From != nil {
			p.field("    Goes on from", "checkpoint "+d.From.CheckpointID+" of run "+d.From.RunID)
		}
		if d.Query != "" {
			p.text("    ", "You added: ", `"`, d.Query, queryCut)
		}
	}
}

// isDelegation reports whether e is about work that is handed to another Expert: that it
// is, that the other begins or goes on, and that results come back.
func isDelegation(e event.Event, brought []event.ToolResult) bool {
	switch b := e.Body.(type) {
	case event.CallDelegate, event.StopRunByDelegate:
		return true
	case event.StartRun:
		return b.DelegatedBy != nil || slices.ContainsFunc(brought, event.ToolResult.IsDelegates)
	}
	return false
}
