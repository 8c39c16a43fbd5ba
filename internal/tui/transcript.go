package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/tui/pager"
)

// A transcript is what a person sees of a job: the rows that internal/narrate folds from its events,
// what models are writing, and how far each Run is.
type transcript struct {
	p        *program
	expert   string
	narrator narrate.Narrator
	pager    pager.Pager
	rows     map[string]narrate.Row
	streams  map[string]*stream // by Run
	runs     []narrate.Run      // in the order in which they began
	runAt    map[string]int     // in runs
	totals   narrate.Totals
	open     []narrate.Row // questions without an answer
	notices  int
	last     string         // the newest checkpoint of the coordinator
	steps    map[string]int // of checkpoints
}

func newTranscript(p *program, expert string) *transcript {
	return &transcript{
		p: p, expert: expert, rows: make(map[string]narrate.Row), streams: make(map[string]*stream), runAt: make(map[string]int), steps: make(map[string]int),
	}
}

// apply takes in an event.
func (t *transcript) apply(e event.Event) {
	t.tellBranch(e)
	for _, c := range t.narrator.Apply(e) {
		switch c := c.(type) {
		case narrate.Row:
			t.put(c)
		case narrate.Run:
			t.putRun(c)
		case narrate.Totals:
			t.totals = c
		case narrate.Stream:
			t.stream(c)
		case narrate.Ask:
			if c.Settled {
				t.settle(c.Row)
			} else {
				t.open = append(t.open, c.Row)
			}
		}
	}
}

// tellBranch says that a Run does not continue after what is above it.
func (t *transcript) tellBranch(e event.Event) {
	start, ok := e.Body.(event.StartRun)
	if !ok || start.From == nil || start.DelegatedBy != nil || start.From.CheckpointID == t.last {
		return
	}
	if step, known := t.steps[start.From.CheckpointID]; known {
		t.tell(fmt.Sprintf("branch from step %d", step))
	}
}

// put shows a row, or another state of it.
func (t *transcript) put(r narrate.Row) {
	if r.Checkpoint != "" && r.Depth == 0 {
		t.last, t.steps[r.Checkpoint] = r.Checkpoint, r.Step
	}
	switch {
	case r.Repeats, r.Minor:
		return
	case r.Kind == narrate.Skill && r.State == narrate.Running:
		return // the phase of the Run says so
	case r.Kind == narrate.Network && !isPowerOfTen(r.Times):
		return // a program that tries again and again must not fill the transcript
	case r.Kind == narrate.Image: // one row for all of its steps
		r.ID = "image-" + r.Run
		if r.State == narrate.Done {
			t.pager.Remove(r.ID)
			return
		}
	case r.Kind == narrate.Delegate && r.State != narrate.Running:
		before, ok := t.rows[r.ID]
		if !ok {
			return // it was called in the Run that this one branched from
		}
		r.Label, r.Summary = before.Label, before.Summary // its answer has a row in its own Run
	}
	t.rows[r.ID] = r
	t.pager.Put(r.ID, &row{t.p, t.expert, r})
}

func isPowerOfTen(n int) bool {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}

// settle takes in an answer. Its row takes the place of that of a permission, which says the same. A
// question of an Expert stays.
func (t *transcript) settle(answer narrate.Row) {
	at := slices.IndexFunc(t.open, func(q narrate.Row) bool { return q.Run == answer.Run && subject(q) == subject(answer) })
	if at < 0 {
		return
	}
	q := t.open[at]
	t.open = slices.Delete(t.open, at, at+1)
	if isPermission(q) {
		t.pager.Remove(q.ID)
		delete(t.rows, q.ID)
		return
	}
	q.State = narrate.Done
	t.put(q)
}

// isPermission reports whether a question is about a call: not one of an Expert, and no plan.
func isPermission(q narrate.Row) bool { return strings.HasPrefix(q.Label, "Permission") }

// subject is what a question and its answer are about. Their labels differ before the colon.
func subject(r narrate.Row) string {
	_, what, ok := strings.Cut(r.Label, ": ")
	if !ok && r.Label == "Plan" {
		what = r.Label
	}
	return strings.Join(append([]string{what, r.Summary, r.Dir}, r.Argv...), "\x00")
}

// isAsked reports whether a question of an Expert has no answer.
func (t *transcript) isAsked() bool {
	return slices.ContainsFunc(t.open, func(q narrate.Row) bool { return q.Args != nil })
}

// stream shows what a model is writing, until a row has it.
func (t *transcript) stream(c narrate.Stream) {
	id := "stream-" + c.Run
	s := t.streams[c.Run]
	if c.Ended {
		delete(t.streams, c.Run)
		t.pager.Remove(id)
		return
	}
	if s == nil {
		name, depth := t.expert, 0
		if i, ok := t.runAt[c.Run]; ok {
			name, depth = t.runs[i].Expert, t.runs[i].Depth
		}
		s = &stream{p: t.p, name: t.p.cleanLine(name), kind: c.Kind, indent: min(depth*rowIndent, maxIndent)}
		t.streams[c.Run] = s
	}
	s.add(c.Delta)
	t.pager.Put(id, s)
}

// tell adds a notice that is no event.
func (t *transcript) tell(notice string) {
	t.notices++
	id := fmt.Sprintf("notice-%d", t.notices)
	t.pager.Put(id, &row{t.p, t.expert, narrate.Row{ID: id, Kind: narrate.Start, Label: "Note", Summary: notice}})
}

// fail adds why the job could not run, or be read.
func (t *transcript) fail(err error) {
	t.notices++
	id := fmt.Sprintf("error-%d", t.notices)
	t.put(narrate.Row{ID: id, Kind: narrate.Failure, State: narrate.Failed, Label: "Error", Body: []narrate.Text{{Text: err.Error(), Show: narrate.Whole}}})
}

func (t *transcript) putRun(r narrate.Run) {
	i, ok := t.runAt[r.ID]
	if !ok {
		t.runAt[r.ID] = len(t.runs)
		t.runs = append(t.runs, r)
		return
	}
	t.runs[i] = r
}

// coordinator is the newest Run of the Expert that the user talks to.
func (t *transcript) coordinator() (r narrate.Run) {
	for i := len(t.runs) - 1; i >= 0; i-- {
		if t.runs[i].Depth == 0 {
			return t.runs[i]
		}
	}
	return r
}
