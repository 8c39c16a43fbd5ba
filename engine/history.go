package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/store"
)

// A History is the fold of a job's journal: the state of each of its Runs, and every
// checkpoint. The engine folds a live job in the same way, so a resumed job cannot differ
// from one that never stopped.
type History struct {
	Job event.Job

	runs   map[string]State // newest state of each Run
	points map[string]Point // by checkpoint id
	head   Point            // the newest checkpoint of the coordinator
	last   store.Record     // the newest record, without its event
	sealed string           // the project that sealed it
	files  fileHistory
	starts map[string]RunStart // of the coordinator's Runs
	spec   rawjson.Value       // of the newest start of the coordinator

	rewound     bool // the user took Runs back
	beganToPlan bool // the newest conversation without an origin only planned at first

	grants []grant                  // of the user, for the rest of the job
	denied []event.ApprovalAnswered // to programs that wanted to leave the sandbox

	toolCalls int // that models have made in all Runs, without those that say that an Expert is done
}

// A Point is a checkpoint: the state there, and the number of the record that made it.
type Point struct {
	State State
	Seq   int64
}

// NewHistory returns the history of a job that has no records yet.
func NewHistory() *History {
	return &History{runs: make(map[string]State), points: make(map[string]Point), starts: make(map[string]RunStart)}
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

// openHistory returns the history of a job whose journal is open, so that no other process
// can write to it: that of [Parts] if the caller has folded it before, provided that nothing
// was recorded since.
func openHistory(ctx context.Context, journal store.Journal, spec job.Spec, parts Parts) (*History, error) {
	if !spec.Input.Continue {
		return NewHistory(), nil
	}
	h := parts.History
	if j, ok := journal.(interface{ Head() store.Head }); ok && h != nil {
		if err := h.checkHead(spec, j.Head()); err != nil {
			return h, err
		}
		return h, h.checkImported()
	}
	// This journal cannot say what its last record is, so it is read again.
	loaded, err := Load(ctx, parts.Store, spec.JobID)
	if err != nil {
		return nil, StoreError(err)
	}
	if h != nil {
		err = h.checkHead(spec, loaded.lastHead())
	}
	if err == nil {
		err = loaded.checkImported()
	}
	return loaded, err
}

// checkImported refuses a job that another program recorded. Its files can say anything, and do
// not say what the job was allowed to do.
func (h *History) checkImported() error {
	if h.Job.Imported == nil {
		return nil
	}
	return jobError(JobImported, h.Job.ID)
}

// checkHead returns an error if h was folded from other records than those up to head. The
// digest covers the job id and all records before.
func (h *History) checkHead(spec job.Spec, head store.Head) error {
	if h.lastHead() != head {
		return inputError("job %s was changed by another process while this one was starting; try again", spec.JobID)
	}
	return nil
}

// CheckSeal returns a [*store.SealError] if the job must not be continued. The store checks it
// again when the job is opened; here nothing has been started or asked yet.
func (h *History) CheckSeal(ctx context.Context, s store.Store, sealer *store.Sealer) error {
	chain := store.ChainAt(h.Job.ID, h.sealed, h.last)
	keeper, ok := s.(store.HeadKeeper)
	if !ok {
		return StoreError(sealer.Check(chain, nil))
	}
	recorded, err := keeper.RecordedHead(ctx, h.Job.ID)
	if err == nil {
		err = sealer.Check(chain, &recorded)
	}
	return StoreError(err)
}

func (h *History) lastHead() store.Head { return store.Head{Seq: h.last.Seq, Digest: h.last.Digest()} }

// Apply folds in one more record, and returns the states of its Run before and after.
func (h *History) Apply(r store.Record) (before, after State) {
	e := r.Event
	b, starts := e.Body.(event.StartRun)
	if starts && b.TrustedHistory {
		h.forgetAnswers()
	}
	before = h.runs[e.RunID]
	if starts && b.From != nil {
		before = h.points[b.From.CheckpointID].State
	}
	after = before
	if !e.IsRuntime() {
		after = before.apply(e)
		h.runs[e.RunID] = after
	}
	if b, ok := e.Body.(event.CallTools); ok {
		h.toolCalls += len(slices.DeleteFunc(slices.Clone(b.ToolCalls), isCompletion))
	}
	h.Job = h.Job.Apply(e)
	h.files.apply(r, h.runs)
	h.noteStart(r, after)
	h.noteAnswer(e, before, after)
	h.last = store.Record{Seq: r.Seq, Line: r.Line, Seal: r.Seal}
	h.sealed = cmp.Or(r.Project, h.sealed)

	switch b := e.Body.(type) {
	case event.ContinueToNextStep:
		h.addPoint(Point{before, r.Seq})
	case event.Rewound:
		h.head, h.rewound = h.points[b.Head], true
	default:
		if e.IsTerminal() {
			h.addPoint(Point{after, r.Seq})
		}
	}
	return before, after
}

// addPoint adds a checkpoint. The head is the checkpoint that was recorded last, not the one
// with the highest step number: after a branch, the head is on the new branch.
func (h *History) addPoint(p Point) {
	h.points[p.State.CheckpointID] = p
	if p.State.DelegatedBy == nil {
		h.head = p
	}
}

// Expand folds a record in and returns its event in full form.
func (h *History) Expand(r store.Record) event.Event {
	before, after := h.Apply(r)
	return expand(before, after, r.Event)
}

// At returns the checkpoint of that id.
func (h *History) At(checkpointID string) (Point, bool) {
	p, ok := h.points[checkpointID]
	return p, ok
}

// Head returns the checkpoint that the job continues from by default. It is false for a job
// that has not finished a step yet.
func (h *History) Head() (Point, bool) { return h.head, h.head.Seq > 0 }

// Open returns the Runs that have not ended at the end of the journal, the coordinator's
// first. Their process died or is still running.
func (h *History) Open() []State {
	var coordinators, delegates []State
	for _, id := range slices.Sorted(maps.Keys(h.runs)) {
		switch s := h.runs[id]; {
		case s.phase == stopped || s.phase == notStarted:
		case s.DelegatedBy == nil:
			coordinators = append(coordinators, s)
		default:
			delegates = append(delegates, s)
		}
	}
	return append(coordinators, delegates...)
}

// latest returns the newest checkpoint of a Run. A Run that has not ended counts as stopped.
func (h *History) latest(runID string) Point {
	s := h.runs[runID]
	if s.phase != stopped {
		return h.crashPoint(s)
	}
	return h.points[s.CheckpointID]
}

// crashPoint returns the checkpoint that closing an open Run will leave. The record that
// closes it is the next one.
func (h *History) crashPoint(s State) Point {
	s.phase, s.Status = stopped, event.StatusStoppedByInterrupt
	return Point{s, h.last.Seq + 1}
}

// withDelegates adds what each Run has used to its parent, once, from the bottom up. If a
// damaged journal names a Run as its own ancestor, the Runs of that cycle are not added.
func (h *History) withDelegates(all map[string]expense) map[string]expense {
	children := make(map[string]int) // that are not added yet
	for _, s := range h.runs {
		children[s.parentID()]++
	}
	var ready []string
	for id := range h.runs {
		if children[id] == 0 {
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
		all[parent] = expense{sum.Steps + all[id].Steps, sum.Usage.Add(all[id].Usage), sum.cost + all[id].cost}
		if children[parent]--; children[parent] == 0 {
			ready = append(ready, parent)
		}
	}
	return all
}

// Origin returns the checkpoint that a job would be continued from: the one of that id, or
// the newest if it is empty. A Run that a crash left open counts as stopped at the end of
// its journal.
func (h *History) Origin(checkpointID string) (Point, bool) {
	point, ok := h.Head()
	if open := h.Open(); len(open) > 0 && open[0].DelegatedBy == nil {
		point, ok = h.crashPoint(open[0]), true
	}
	if checkpointID != "" && checkpointID != point.State.CheckpointID {
		return h.At(checkpointID)
	}
	return point, ok
}

// Spec returns what the job ran when a checkpoint was made.
func (h *History) Spec(p Point) (job.Spec, error) {
	return job.ParseRecorded(h.Root(p).State.Spec)
}
