package engine

import (
	"maps"
	"slices"
	"sort"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
)

// A FileState is a state of the workspace that the journal names. The states of a job are in the
// order of its records: all its Runs and branches share the workspace.
type FileState struct {
	Seq    int64  // of the record
	Tree   string // id of the state
	Reason string // as [event.WorkspaceSnapshot] has it; empty after a restore
	By     Author // who made what is different from the state before
	// Restored is the id of the state that a restore went back to; empty for other states.
	Restored string
}

// An Author is who changed files.
type Author int

// The authors.
const (
	JobAuthor     Author = iota // tool calls of the job, or a restore
	OtherAuthor                 // the user, or programs that do not belong to the job
	UnknownAuthor               // one or the other
)

// An OpenRestore is a restore of files that has begun and not ended.
type OpenRestore struct {
	Seq int64 // of the record
	event.FilesRestoreStarted
	Back bool // it takes back another one, which did not end
}

// A RunStart is where a Run of the coordinator begins.
type RunStart struct {
	RunID string
	Seq   int64         // of its first record
	From  *event.Origin // the checkpoint that it continues; nil for a new conversation
	Task  string        // the query of the user
}

// fileHistory is what a journal says about files.
type fileHistory struct {
	states  []FileState
	restore *OpenRestore
	called  bool // a call was started since the last state
	crashed bool // and the process died before another state was stored
}

// apply folds in one record.
func (f *fileHistory) apply(r store.Record, runs map[string]State) {
	switch b := r.Event.Body.(type) {
	case event.StartToolCall:
		f.called = true
	case event.StopRunByInterrupt:
		f.crashed = f.crashed || f.called && b.Reason == crashed
	case event.WorkspaceSnapshot:
		f.called, f.crashed = len(b.Busy) > 0 || callsRun(runs), false
		f.states = append(f.states, FileState{Seq: r.Seq, Tree: b.Tree, Reason: b.Reason, By: author(b)})
	case event.FilesRestoreStarted:
		f.restore = &OpenRestore{r.Seq, b, f.restore != nil}
	case event.FilesRestored:
		if f.restore != nil {
			f.states = append(f.states, FileState{Seq: r.Seq, Tree: f.restore.Goal, Restored: f.restore.Target})
			f.restore = nil
			f.called, f.crashed = false, false
		}
	}
}

// callsRun reports whether a call has started and has no result.
func callsRun(runs map[string]State) bool {
	for _, s := range runs {
		if slices.ContainsFunc(s.open(), func(c Call) bool { return c.Started && c.Result == nil }) {
			return true
		}
	}
	return false
}

func author(b event.WorkspaceSnapshot) Author {
	switch {
	case b.Unsure:
		return UnknownAuthor
	case b.Outside:
		return OtherAuthor
	}
	return JobAuthor
}

// Files returns the states of the workspace that the job recorded, oldest first.
func (h *History) Files() []FileState { return h.files.states }

// FilesUnsure reports that calls ran after the newest state, and that the process died before it could
// store another one. What differs from that state can be the work of the job or of others.
func (h *History) FilesUnsure() bool {
	return h.files.crashed || h.files.called && len(h.Open()) > 0
}

// FilesBefore returns the newest state before a record: that of a checkpoint if seq is its record.
func (h *History) FilesBefore(seq int64) (FileState, bool) {
	i := sort.Search(len(h.files.states), func(i int) bool { return h.files.states[i].Seq >= seq })
	if i == 0 {
		return FileState{}, false
	}
	return h.files.states[i-1], true
}

// OpenRestore returns the restore that has begun and not ended; nil if there is none.
func (h *History) OpenRestore() *OpenRestore { return h.files.restore }

// LastRun returns the coordinator's Run that the job continues by default. It is false if there is
// none, because the job has not begun or was rewound to its beginning.
func (h *History) LastRun() (RunStart, bool) {
	p, ok := h.Origin("")
	if !ok {
		return RunStart{}, false
	}
	start, ok := h.starts[p.State.RunID]
	return start, ok
}

// AtBeginning reports whether all Runs were taken back: the job is continued with a new conversation.
func (h *History) AtBeginning() bool {
	_, ok := h.Origin("")
	return h.rewound && !ok
}

// PlansAtBeginning reports whether all Runs were taken back, and the first of them only planned. The
// answer of the user was taken back with them, so a new conversation only plans, too.
func (h *History) PlansAtBeginning() bool { return h.beganToPlan && h.AtBeginning() }

// Recorded returns what the job ran where it is continued from, as [History.Origin] has it. A job
// whose Runs were all taken back keeps what it ran last. It is zero if there is no such checkpoint.
func (h *History) Recorded(checkpointID string) (job.Spec, error) {
	if point, ok := h.Origin(checkpointID); ok {
		return h.Spec(point)
	}
	if checkpointID == "" && h.AtBeginning() {
		return h.NewestSpec()
	}
	return job.Spec{}, nil
}

// NewestSpec returns what the job ran last, even if it was rewound since.
func (h *History) NewestSpec() (job.Spec, error) { return job.ParseRecorded(h.spec) }

// Checkpoints returns the ids of all checkpoints, in no order.
func (h *History) Checkpoints() []string { return slices.Collect(maps.Keys(h.points)) }

// noteStart notes the first record of a Run of the coordinator.
func (h *History) noteStart(r store.Record, after State) {
	b, ok := r.Event.Body.(event.StartRun)
	if !ok || b.DelegatedBy != nil {
		return
	}
	h.spec = after.Spec
	if b.From == nil {
		h.beganToPlan = b.Plan
	}
	if _, known := h.starts[r.Event.RunID]; !known {
		h.starts[r.Event.RunID] = RunStart{RunID: r.Event.RunID, Seq: r.Seq, From: b.From, Task: after.Task}
	}
}

// Interrupts returns the events that end the Runs which a crash left open, the coordinator's last.
func (h *History) Interrupts(source Source) (all []event.Event) {
	for _, s := range h.Open() {
		all = append([]event.Event{s.interruptEvent(source, h.Job.ID, crashed)}, all...)
	}
	return all
}
