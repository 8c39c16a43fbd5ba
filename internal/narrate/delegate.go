package narrate

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/wording"
)

// This file tells of delegation: one row for each delegate, and one when all have
// returned. What a delegate does has rows in its own Run, which are told apart by the name
// and the depth of the Run.

// name gives the Run of a delegate its name and depth. Runs of one Expert are numbered,
// since side by side they could not be told apart.
func (n *Narrator) name(v *run, parentRunID, expertKey string) {
	if v.depth == 0 {
		v.depth = 1
		if above := n.runs[parentRunID]; above != nil && above != v {
			v.depth = above.depth + 1
		}
	}
	if v.name != "" || expertKey == "" {
		return
	}
	n.numbers[expertKey]++
	v.name = expertKey
	if number := n.numbers[expertKey]; number > 1 {
		v.name += " #" + strconv.Itoa(number)
	}
}

// callDelegate shows the delegates of a turn, each once: a Run that resumes names those
// again that have not returned. Their Runs get their names here, because the skills of a
// Run have rows before it starts.
func (b *batch) callDelegate(body event.CallDelegate) {
	given := make(map[string]event.ToolCall)
	for _, c := range body.ToolCalls {
		given[c.ID] = c
	}
	for _, d := range body.Delegates {
		if d.RunID != b.event.RunID {
			b.narrator.name(b.narrator.at(d.RunID), b.event.RunID, d.Expert.Key)
		}
		if c := b.run.calls[d.ToolCallID]; c != nil && c.shown {
			continue
		}
		b.delegate(d, given[d.ToolCallID])
	}
}

func (b *batch) delegate(d event.DelegateRun, given event.ToolCall) {
	c := b.run.calls[d.ToolCallID]
	if c == nil { // on a branch, the call was made in the Run that the branch left
		if before := b.run.find(d.ToolCallID); before != nil && given.ID == "" {
			given = before.tool
		}
		given.ID = d.ToolCallID
		c = b.learn(given)
	}
	query := strings.TrimSpace(parse(c.tool.Args).text("query"))
	child := b.narrator.at(d.RunID)
	key := cmp.Or(child.name, d.Expert.Key, c.tool.SkillName)
	if query == "" && key == "" {
		return
	}
	r := Row{Kind: Delegate, State: Running, Label: key, Summary: query, Child: d.RunID, Began: b.event.Timestamp}
	if d.From != nil {
		r.Body = append(r.Body, Text{Text: fmt.Sprintf("continues from checkpoint %s of run %s", d.From.CheckpointID, d.From.RunID)})
	}
	if d.Query != "" {
		r.Body = append(r.Body, Text{Text: `you added: "` + d.Query + `"`})
	}
	child.task = cmp.Or(d.Query, query)
	b.update(c, r)
	c.shown = true
	b.run.expect(d.ToolCallID, c)
}

// expect adds a call to those that delegates work on.
func (v *run) expect(callID string, c *call) {
	if v.delegates == nil {
		v.delegates = make(map[string]*call)
	}
	v.delegates[callID] = c
}

// delegateReturned takes what a delegate returned. The delegate may have been called in an
// earlier part of the Run that was not seen; then there is no row to change. The same holds
// if the id was that of a question before, of which only the answer was seen.
func (b *batch) delegateReturned(result event.ToolResult) {
	c := b.run.calls[result.ID]
	if c == nil || c.tool.ID != result.ID {
		c = b.learn(event.ToolCall{ID: result.ID, ToolName: result.ToolName})
	}
	if b.run.delegates[result.ID] == nil {
		c.row, c.failed = Row{ID: c.row.ID}, false
		b.run.expect(result.ID, c)
	}
	c.shown = true // the arguments stay: a branch may call the delegate again
	why := result.ErrorText()
	c.returned, c.failed = true, c.failed || why != ""
	r := c.row
	r.Kind, r.State, r.Label, r.Summary = Delegate, Done, cmp.Or(r.Label, strings.TrimPrefix(result.SkillName, event.DelegateSkill)), "returned"
	r.Body = []Text{{Text: event.FirstText(result.Result), Show: Prose}}
	if why != "" {
		r.State, r.Summary, r.Body = Failed, "failed", []Text{{why, Bad, Prose}}
	}
	b.update(c, r)
}

func (v *run) allReturned() bool {
	for _, d := range v.delegates {
		if !d.returned {
			return false
		}
	}
	return len(v.delegates) > 0
}

// settled is asked before each event of a Run. After [event.ResumeToolCalls], all delegates
// that are known may have returned; but where the turn itself was not seen there may be
// others, and the next event names them.
func (b *batch) settled() {
	if !b.run.settling {
		return
	}
	b.run.settling = false
	if _, more := b.event.Body.(event.CallDelegate); !more {
		b.returned()
	}
}

// returned says that the delegates of a turn have returned, and how many failed.
func (b *batch) returned() {
	count, failed := len(b.run.delegates), 0
	if count == 0 {
		return
	}
	for _, d := range b.run.delegates {
		if d.failed {
			failed++
		}
	}
	b.run.delegates = nil
	r := Row{Kind: Returned, Label: "Delegation Complete", Summary: "(" + wording.Count(count, "delegate") + " returned)"}
	switch {
	case failed == count:
		r.State, r.Summary = Warning, fmt.Sprintf("(%d failed)", failed)
	case failed > 0:
		r.State, r.Summary = Warning, fmt.Sprintf("(%d answered, %d failed)", count-failed, failed)
	}
	b.add(r)
}
