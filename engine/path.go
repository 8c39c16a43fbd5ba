package engine

import (
	"slices"

	"github.com/perstack-go/perstack/event"
)

// origin finds the checkpoint to go on from. A Run that a crash left open counts as
// stopped where its journal ends.
func (h *History) origin(job Job) (Point, error) {
	from := job.Input.From
	point, ok := h.Head()
	if open := h.Open(); len(open) > 0 && open[0].DelegatedBy == nil {
		point, ok = h.crashPoint(open[0]), true
	}
	if from != "" && from != point.State.CheckpointID {
		point, ok = h.At(from)
	}
	switch {
	case !ok && from != "":
		return Point{}, inputError("checkpoint %s not found in job %s; perstack log %s lists its checkpoints", from, job.ID, job.ID)
	case !ok:
		return Point{}, inputError("job %s has no checkpoint to continue from", job.ID)
	}
	root := h.Root(point).State
	if root.DelegatedBy != nil {
		return Point{}, inputError("checkpoint %s belongs to the delegate %s, and the journal does not say who asked it; choose one of another Expert", point.State.CheckpointID, root.Expert.Key)
	}
	if key := root.Expert.Key; key != job.Expert.Key {
		return Point{}, inputError("checkpoint expert key %s does not match input expert key %s; run %s, or leave the expert out", key, job.Expert.Key, key)
	}
	return point, nil
}

// path returns the checkpoints at which the parents of a delegate waited for it, the
// coordinator's first, and p itself.
func (h *History) path(p Point) []Point {
	path := []Point{p}
	seen := map[string]bool{p.State.RunID: true} // a damaged journal may lead in a circle
	for s := p.State; s.DelegatedBy != nil; s = path[len(path)-1].State {
		parent, ok := h.points[s.DelegatedBy.CheckpointID]
		if !ok || seen[parent.State.RunID] {
			break
		}
		seen[parent.State.RunID] = true
		path = append(path, parent)
	}
	slices.Reverse(path)
	return path
}

// Root returns the coordinator's checkpoint that p belongs to: p itself, or the one at
// which the coordinator waited for the delegate.
func (h *History) Root(p Point) Point { return h.path(p)[0] }

// waitsFor reports whether the Runs of a path are just where their checkpoints are, so that
// the job can go on there without a branch.
func (h *History) waitsFor(path []Point) bool {
	for i, p := range path {
		s := h.runs[p.State.RunID]
		if i == len(path)-1 {
			return s.CheckpointID == p.State.CheckpointID
		}
		child := path[i+1].State.RunID
		if !slices.ContainsFunc(s.open(), func(c Call) bool { return c.Result == nil && c.Child != nil && c.Child.RunID == child }) {
			return false
		}
	}
	return false
}

func (p Point) address() *event.Origin {
	return &event.Origin{RunID: p.State.RunID, CheckpointID: p.State.CheckpointID, Seq: p.Seq}
}
