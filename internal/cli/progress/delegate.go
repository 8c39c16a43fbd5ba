package progress

import (
	"cmp"
	"strconv"

	"github.com/perstack-go/perstack/event"
)

// This file says whose rows are whose when Experts delegate.
//
// Rows of a delegate are indented below a line that names it, and the first time whoever
// asked it. As long as one is at work after the other, that is enough. While several are, their rows come
// as they happen, in any order: then each row names its Expert.

// maxDepth keeps rows of a deep delegation on the screen.
const maxDepth = 8

// A lane is what is known of a delegate's Run.
type lane struct {
	expert string
	by     string // who delegated
	depth  int    // of delegation; its rows are indented by it
	number int    // counts the Runs of one Expert
	shown  bool   // the line that names it was printed
}

// A place is where a row stands, and whose it is if that must be said.
type place struct {
	depth int
	tag   string
}

// follow learns from e who delegates to whom, and who is at work.
func (p *Printer) follow(e event.Event) {
	switch b := e.Body.(type) {
	case event.CallDelegate:
		// The Runs are named before they start: their skills may have rows before that.
		for _, d := range b.Delegates {
			p.name(p.lane(d.RunID, event.ActivityParent{ExpertKey: e.ExpertKey, RunID: e.RunID}), d.Expert.Key)
		}
	case event.InitializeRuntime:
		if l := p.lanes[e.RunID]; l != nil {
			p.name(l, b.ExpertName)
		}
	case event.StartRun:
		p.learnFailures(e.RunID, b)
		parent := b.DelegatedBy
		if parent == nil && b.InitialCheckpoint != nil {
			parent = b.InitialCheckpoint.DelegatedBy
		}
		if parent != nil {
			p.name(p.lane(e.RunID, event.ActivityParent{ExpertKey: parent.Expert.Key, RunID: parent.RunID}), e.ExpertKey)
			p.working[e.RunID] = true
		}
	}
}

// lane returns the lane of a delegate's Run.
func (p *Printer) lane(runID string, parent event.ActivityParent) *lane {
	l := p.lanes[runID]
	if l == nil {
		l = &lane{by: parent.ExpertKey, depth: 1}
		if above := p.lanes[parent.RunID]; above != nil {
			l.depth = min(above.depth+1, maxDepth)
		}
		p.lanes[runID] = l
	}
	return l
}

// name gives a lane the name of its Expert. The second Run of an Expert and those that
// follow get a number: side by side they could not be told apart.
func (p *Printer) name(l *lane, expertKey string) {
	if l.expert != "" || expertKey == "" {
		return
	}
	l.expert = expertKey
	p.runs[expertKey]++
	l.number = p.runs[expertKey]
}

func (l *lane) title() string {
	name := cmp.Or(l.expert, "delegate")
	if l.number > 1 {
		name += " #" + strconv.Itoa(l.number)
	}
	return "[" + name + "]"
}

// enter returns the place of the next row of a Run, and prints the line above it if there
// is to be one.
func (p *Printer) enter(runID string) place {
	l := p.lanes[runID]
	if l == nil {
		p.current = ""
		return place{}
	}
	several := len(p.working) > 1
	switch {
	case !l.shown:
		p.title(place{depth: l.depth}, l.title()+" Delegated by ["+l.by+"]")
		l.shown = true
	case !several && p.current != runID:
		p.title(place{depth: l.depth}, l.title())
	}
	p.current = runID
	if several {
		return place{l.depth, l.title() + " "}
	}
	return place{depth: l.depth}
}

// learnFailures counts the delegates that came back to a Run with an error. A turn may take
// several stretches, and each repeats what the ones before brought, or does not.
func (p *Printer) learnFailures(runID string, b event.StartRun) {
	failed := func(results []event.ToolResult) {
		for _, r := range results {
			if !r.IsDelegates() || r.ErrorText() == "" {
				continue
			}
			if p.failed[runID] == nil {
				p.failed[runID] = make(map[string]bool)
			}
			p.failed[runID][r.ID] = true
		}
	}
	failed(b.Answers)
	if b.InitialCheckpoint != nil {
		failed(b.InitialCheckpoint.PartialToolResults)
	}
}

// returned says how many delegates answered, and how many did not.
func (p *Printer) returned(a event.Activity) row {
	failed := min(len(p.failed[a.RunID]), a.Count)
	delete(p.failed, a.RunID) // the next turn has others
	r := row{bullet: green, label: "Delegation Complete", summary: "(" + plural(a.Count, "delegate") + " returned)"}
	switch {
	case failed == a.Count:
		r.bullet, r.summary = yellow, "("+strconv.Itoa(failed)+" failed)"
	case failed > 0:
		r.bullet, r.summary = yellow, "("+strconv.Itoa(a.Count-failed)+" answered, "+strconv.Itoa(failed)+" failed)"
	}
	return r
}

// enterOf is enter for a row of that activity, which may be the first that tells of its
// Run.
func (p *Printer) enterOf(a event.Activity) place {
	if a.DelegatedBy != nil {
		p.name(p.lane(a.RunID, *a.DelegatedBy), a.ExpertKey)
	}
	return p.enter(a.RunID)
}
