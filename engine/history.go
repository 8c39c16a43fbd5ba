package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// A History is the fold of a job's journal: where each of its Runs stands, and every
// checkpoint that one can go back to. The engine drives a live job through the same
// fold, so that a resumed job cannot differ from one that never stopped.
type History struct {
	Job event.Job

	runs   map[string]State // newest state of each Run
	points map[string]Point // by checkpoint id
	head   Point            // the newest point of the job's own Expert
	last   int64            // number of the newest record
}

// A Point is a checkpoint's address: the state there, and the record it stands after.
type Point struct {
	State State
	Seq   int64
}

// NewHistory returns the history of a job of which nothing is recorded yet.
func NewHistory() *History {
	return &History{runs: make(map[string]State), points: make(map[string]Point)}
}

// Load folds the journal of a job.
func Load(ctx context.Context, s store.Store, jobID string) (*History, error) {
	h := NewHistory()
	for record, err := range s.Read(ctx, jobID, 0) {
		if err != nil {
			return nil, err
		}
		h.Apply(record)
	}
	return h, nil
}

// Apply folds one more record in, and returns the states of its Run before and after.
func (h *History) Apply(r store.Record) (before, after State) {
	e := r.Event
	before = h.runs[e.RunID]
	if b, ok := e.Body.(event.StartRun); ok && b.From != nil {
		before = h.points[b.From.CheckpointID].State
	}
	after = before
	if !e.IsRuntime() {
		after = before.apply(e)
		h.runs[e.RunID] = after
	}
	h.Job = h.Job.Apply(e)
	h.last = r.Seq

	switch {
	case e.IsTerminal():
		h.mark(Point{after, r.Seq})
	case e.Type() == event.ContinueToNextStep{}.Type():
		h.mark(Point{before, r.Seq})
	}
	return before, after
}

// mark remembers a checkpoint. "Latest" is what was recorded last, not the highest
// step number: after going back to an earlier checkpoint, the new branch is the head.
func (h *History) mark(p Point) {
	h.points[p.State.CheckpointID] = p
	if p.State.DelegatedBy == nil {
		h.head = p
	}
}

// Expand returns a record's event in its full form and folds the record in.
func (h *History) Expand(r store.Record) event.Event {
	before, after := h.Apply(r)
	return expand(before, after, r.Event)
}

// At returns the checkpoint of that id.
func (h *History) At(checkpointID string) (Point, bool) {
	p, ok := h.points[checkpointID]
	return p, ok
}

// Head returns the checkpoint that continuing the job goes on from. It is false for
// a job that has not finished a step yet.
func (h *History) Head() (Point, bool) { return h.head, h.head.Seq > 0 }

// Open returns the Runs that were under way when the journal ends, the job's own first:
// their process died, or is still at work.
func (h *History) Open() []State {
	var open []State
	for _, s := range h.runs {
		if s.Phase != Stopped && s.Phase != Init {
			open = append(open, s)
		}
	}
	slices.SortFunc(open, func(a, b State) int {
		if (a.DelegatedBy == nil) != (b.DelegatedBy == nil) {
			if a.DelegatedBy == nil {
				return -1
			}
			return 1
		}
		return strings.Compare(a.RunID, b.RunID)
	})
	return open
}

// newest returns where a Run stands. One that was under way counts as stopped there.
func (h *History) newest(runID string) Point {
	s := h.runs[runID]
	if s.Phase != Stopped {
		return h.crashPoint(s)
	}
	return h.points[s.CheckpointID]
}

// spent returns what each Run has used, with all that it delegated to. It goes from the
// last Runs up, each once: a journal that names a Run as its own ancestor ends there.
func (h *History) spent() map[string]Spent {
	all := make(map[string]Spent, len(h.runs))
	below := make(map[string]int) // children that are not added yet
	for id, s := range h.runs {
		all[id] = s.Spent
		below[s.parentID()]++
	}
	var ready []string
	for id := range h.runs {
		if below[id] == 0 {
			ready = append(ready, id)
		}
	}
	for len(ready) > 0 {
		id := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		parent := h.runs[id].parentID()
		if _, known := h.runs[parent]; !known {
			continue
		}
		sum := all[parent]
		all[parent] = Spent{sum.Steps + all[id].Steps, sum.Usage.Add(all[id].Usage)}
		if below[parent]--; below[parent] == 0 {
			ready = append(ready, parent)
		}
	}
	return all
}

// parentID is the Run that delegated; empty for the coordinator.
func (s State) parentID() string {
	if s.DelegatedBy == nil {
		return ""
	}
	return s.DelegatedBy.RunID
}

// crashPoint is the checkpoint that closing an open Run will leave. The closing record
// is the next one.
func (h *History) crashPoint(s State) Point {
	s.Phase, s.Status = Stopped, event.StatusStoppedByInterrupt
	return Point{s, h.last + 1}
}
