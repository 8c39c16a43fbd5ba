package event

import "strings"

// This file shows delegation from the side of the parent: to whom it hands work, and
// that all of them have returned. What a delegate does is shown in its own Run.

// callDelegate shows the delegates of a turn. A Run that resumes names those again that
// are unfinished; each is shown once.
//
// In full output the results of the turn's other calls come with the event that follows
// at once, and in earlier releases the keys of the Experts do; the delegates are held
// until then.
func (n *note) callDelegate(b CallDelegate) {
	n.run.learn(b.ToolCalls, b.NewMessage, false)
	runs := b.Delegates
	if len(runs) == 0 {
		for _, c := range b.ToolCalls {
			runs = append(runs, DelegateRun{ToolCallID: c.ID})
		}
	}
	for _, d := range runs {
		seen := n.run.calls[d.ToolCallID]
		call, known := n.run.delegateCall(d)
		if seen != nil && seen.shown || !known {
			continue
		}
		n.run.calls[call.ID] = &callView{ToolCall: call, shown: true}
		n.run.expect(call.ID)
		n.run.held = append(n.run.held, Activity{
			ID:                call.ID,
			DelegateExpertKey: d.Expert.Key,
			SkillName:         call.SkillName,
			Query:             strings.TrimSpace(parseMembers(call.Args).text("query")),
		})
	}
	if b.NewMessage == nil {
		n.delegate(nil)
	}
}

// delegateCall finds the call that d works on. On a branch it stands in the Run that the
// branch left; in a stream that begins in the middle nothing but d speaks of it.
func (v *runView) delegateCall(d DelegateRun) (ToolCall, bool) {
	for run := v; run != nil; run = run.origin {
		if seen := run.calls[d.ToolCallID]; seen != nil && seen.ID != "" {
			return seen.ToolCall, true
		}
	}
	return ToolCall{ID: d.ToolCallID}, d.Expert.Key != ""
}

// delegate shows the delegates that were held. They share the reasoning of their turn.
func (n *note) delegate(cp *Checkpoint) {
	for _, h := range n.run.held {
		key := h.DelegateExpertKey
		if key == "" && cp != nil {
			for _, d := range cp.DelegateTo {
				if d.ToolCallID == h.ID {
					key = d.Expert.Key
				}
			}
		}
		if key == "" {
			key = h.SkillName
		}
		n.add(Activity{Type: ActivityDelegate, Reasoning: n.run.reasoning, DelegateExpertKey: key, Query: h.Query}, "delegate-"+h.ID)
	}
	n.run.held = nil
}

// expect adds a call to those that the Run waits for.
func (v *runView) expect(callID string) {
	if v.delegates == nil {
		v.delegates = make(map[string]bool)
	}
	if _, ok := v.delegates[callID]; !ok {
		v.delegates[callID] = false
	}
}

// returned takes note of results that delegates gave.
func (v *runView) returned(results []ToolResult) {
	for _, r := range results {
		if _, ok := v.delegates[r.ID]; ok {
			v.delegates[r.ID] = true
		}
	}
}

func (v *runView) allReturned() bool {
	for _, returned := range v.delegates {
		if !returned {
			return false
		}
	}
	return true
}

// delegateAnswered takes an answer that a delegate gave. It was shown when the delegate
// ended, so it is not shown again, nor are the events that repeat it.
func (v *runView) delegateAnswered(r ToolResult) {
	v.expect(r.ID) // it may be by an earlier stretch, or in the Run that this branch left
	v.delegates[r.ID] = true
	if v.calls[r.ID] == nil {
		v.calls[r.ID] = &callView{}
	}
	v.calls[r.ID].shown = true
}

// delegationComplete says that the delegates have returned.
func (n *note) delegationComplete(eventID string) {
	if count := len(n.run.delegates); count > 0 {
		n.run.delegates = nil
		n.add(Activity{Type: ActivityDelegationComplete, Count: count}, "delegation-complete-"+eventID)
	}
}

// resume shows what a turn has so far. All delegates that are known may have returned;
// but where the turn itself was not seen, there may be others, and the next event names
// them. So it is waited for.
func (n *note) resume(b ResumeToolCalls) {
	n.results(b.PartialToolResults)
	n.run.returned(b.PartialToolResults)
	if n.run.allReturned() {
		n.run.completing = n.event.ID
	}
}

// resumed is told of the event behind [ResumeToolCalls].
func (n *note) resumed() {
	if id := n.run.completing; id != "" {
		n.run.completing = ""
		if _, more := n.event.Body.(CallDelegate); !more {
			n.delegationComplete(id)
		}
	}
}
