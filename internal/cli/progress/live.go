package progress

import (
	"cmp"
	"strings"

	"github.com/perstack-go/perstack/event"
)

// This file shows what is under way. Nothing is redrawn: a call that takes its time
// gets a dim line when it starts, more while it prints, and its row when it is over.
//
// Only calls that can be slow get these lines: exec, and all tools outside of the base
// skill. The other base tools read and write single files; their rows come at once.

const (
	firstGap = 1_000  // ms before the first note of a call is shown: quick ones stay quiet
	maxGap   = 30_000 // ms; the gap doubles from note to note up to this
)

// A callKey names a call: parallel Runs may use the same ids.
type callKey struct{ run, call string }

// A watch says when the next note of a running call is due. It goes by the times of
// events, so that the same events always print the same.
type watch struct{ last, gap int64 }

// live prints what e says about things that are not over.
func (p *Printer) live(e event.Event) {
	switch b := e.Body.(type) {
	case event.CompleteStreamingReasoning:
		delete(p.thought, e.RunID) // a repeated generation thinks anew
		p.reasoning(p.timeline.Head(e.RunID), b.Text)
	case event.CallTools:
		p.reasoning(p.timeline.Head(e.RunID), b.NewMessage.Thinking())
	case event.StartToolCall:
		p.watches[callKey{e.RunID, b.ToolCallID}] = &watch{e.Timestamp, firstGap}
		if a, ok := p.timeline.Pending(e.RunID, b.ToolCallID); ok && isSlow(a) {
			p.title(p.enterOf(a), "… "+p.pending(a))
		}
	case event.EndToolCall:
		delete(p.watches, callKey{e.RunID, b.ToolResult.ID})
	case event.ToolProgress:
		if p.isDue(e, b.ToolCallID) {
			p.title(p.enterOf(p.timeline.Head(e.RunID)), "  │ "+b.Message)
		}
	}
}

// reasoning prints what the model thought, once a generation, as soon as it is known.
func (p *Printer) reasoning(of event.Activity, text string) {
	if strings.TrimSpace(text) == "" || p.thought[of.RunID] {
		return
	}
	p.thought[of.RunID] = true
	p.draw(p.enterOf(of), p.prose(row{label: "Reasoning"}, text, dim))
}

// forget lets go of what only counted until e.
func (p *Printer) forget(e event.Event) {
	switch e.Body.(type) {
	case event.StartRun, event.StartGeneration, event.AttemptCompletion, event.Retry:
		delete(p.thought, e.RunID) // another generation follows
	}
	if e.IsTerminal() {
		delete(p.working, e.RunID)
		for key := range p.watches {
			if key.run == e.RunID {
				delete(p.watches, key)
			}
		}
	}
}

func isSlow(a event.Activity) bool {
	switch a.Type {
	case event.ActivityExec:
		return true
	case event.ActivityGeneralTool:
		return !strings.HasPrefix(a.SkillName, event.BaseSkill)
	}
	return false
}

// pending names a call that has started.
func (p *Printer) pending(a event.Activity) string {
	if a.Type == event.ActivityExec {
		return "exec " + p.command(a)
	}
	return strings.TrimSpace(cmp.Or(a.ToolName, "tool") + " " + p.arguments(a, argsCut))
}

// isDue reports whether a note is shown. A command can print for hours, so notes come
// at growing distances; all of them are for those who asked for everything.
func (p *Printer) isDue(e event.Event, callID string) bool {
	if p.opts.Verbose {
		return true
	}
	w := p.watches[callKey{e.RunID, callID}]
	if w == nil || e.Timestamp-w.last < w.gap {
		return false
	}
	w.last, w.gap = e.Timestamp, min(2*w.gap, maxGap)
	return true
}
