package log

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/store"
)

// A transcript shows a job as `perstack run` did, in the order in which it happened: each row once,
// when nothing more is to come of it. Texts are whole. Dim lines name what run and restore take:
// Runs, checkpoints and snapshots.
type transcript struct {
	survey  *survey
	out     *printer
	lines   *lines.Printer
	teller  *teller
	picker  *picker
	window  window
	tracker history.Tracker
	since   int64                  // the last record when the command began
	heads   map[string]*head       // of the Runs that began
	apart   bool                   // something is left out before the next row
	resting map[string]bool        // Runs that wait for delegates
	latest  map[string]narrate.Row // of each Run
	shown   map[string]bool        // Runs with a row since their last checkpoint
}

// lineOptions are those of the rows of a transcript. They say which rows it has, too.
func (o *Options) lineOptions() lines.Options {
	return lines.Options{
		Color:    o.Host.StdoutIsTerminal && o.Host.Colors(),
		Width:    o.Host.Width,
		Verbose:  o.Verbose,
		Texts:    true,
		Whole:    o.Verbose,
		Markdown: true,
		Times:    true,
		Redact:   o.Host.Secrets.Redact,
	}
}

func (v *survey) newTranscript(w *bufio.Writer) *transcript {
	t := &transcript{
		survey: v, out: &printer{w: w, verbose: v.opts.Verbose}, lines: lines.New(w, v.opts.lineOptions()), teller: newTeller(), picker: newPicker(v.opts), window: v.window(),
		since: v.last, heads: make(map[string]*head), resting: make(map[string]bool), latest: make(map[string]narrate.Row), shown: make(map[string]bool),
	}
	t.window.apart = func() { t.apart = true }
	return t
}

func (v *survey) transcript(ctx context.Context, w *bufio.Writer) error {
	t := v.newTranscript(w)
	p := t.out
	v.printHead(p)
	if err := v.reread(ctx, t.add); err != nil {
		return err
	}
	if t.window.shown > 0 {
		p.blank()
	}
	v.printEnd(p)
	if !v.follows() {
		v.printFooter(p, t.window.matched, "row")
	}
	return nil
}

// add shows what a record adds to the transcript.
func (t *transcript) add(r store.Record, known, selected bool) error {
	if !known {
		return nil
	}
	e, told := r.Event, t.teller.tell(r.Event)
	t.start(e)
	for _, row := range told.own {
		t.latest[row.Run] = row
	}
	if err := t.running(r.Seq, told.own); err != nil {
		return err
	}
	for row, selected := range t.picker.pick(told.own, selected) {
		head := t.heads[row.Run]
		if err := t.window.add(selected, func() error { return t.show(row, head) }); err != nil {
			return err
		}
	}
	var notes []string
	for _, f := range files(r.Seq, e.Body) {
		notes = append(notes, strings.ToLower(f.name[:1])+f.name[1:]+" "+f.value)
	}
	id := t.tracker.Reached(e)
	if id != "" {
		notes = append(notes, fmt.Sprintf("checkpoint %s, step %d", t.survey.short(id), e.StepNumber))
	}
	if len(notes) == 0 || !t.survey.opts.in(e) {
		return nil
	}
	show := func() error { return t.note(e.RunID, notes, id != "") }
	if n := len(t.window.before); n > 0 && !t.shown[e.RunID] {
		last := t.window.before[n-1]
		t.window.before[n-1] = func() error {
			if err := last(); err != nil {
				return err
			}
			return show()
		}
		return nil
	}
	return show()
}

// start notes that a Run has started. A Run that resumes after its delegates has not stopped for
// the user.
func (t *transcript) start(e event.Event) {
	b, ok := e.Body.(event.StartRun)
	if ok && b.DelegatedBy == nil && !t.resting[e.RunID] {
		t.heads[e.RunID] = &head{lines: t.survey.headOf(e, b)}
	}
	if !e.IsRuntime() {
		_, rests := e.Body.(event.StopRunByDelegate)
		t.resting[e.RunID] = rests
	}
}

// running says that calls have started which can take their time, while the job is followed.
func (t *transcript) running(seq int64, rows []narrate.Row) error {
	if seq <= t.since || t.survey.opts.Run != "" || !t.survey.opts.Filter.all() {
		return nil
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(r narrate.Row) bool { return r.Kind != narrate.Tool || r.State != narrate.Running })
	return t.lines.Print(rows)
}

// A head is what comes before the rows of a Run.
type head struct {
	lines []string
	shown bool
}

// show shows a row, and before the first one of a Run its head.
func (t *transcript) show(row narrate.Row, head *head) error {
	first := head != nil && !head.shown
	if t.apart || first && t.window.shown > 1 {
		t.out.blank()
	}
	t.apart = false
	if first {
		head.shown = true
		for _, text := range head.lines {
			if err := t.lines.Note(narrate.Row{Run: row.Run}, ruled(text)); err != nil {
				return err
			}
		}
	}
	t.shown[row.Run] = true
	return t.lines.Print([]narrate.Row{row})
}

// note shows what comes after the rows of a step, if one of them was shown.
func (t *transcript) note(runID string, notes []string, ends bool) error {
	if !t.shown[runID] && !(t.survey.opts.Filter.all() && t.window.inside()) {
		return nil
	}
	if ends {
		delete(t.shown, runID)
	}
	for _, text := range notes {
		if err := t.lines.Note(t.latest[runID], ruled(text)); err != nil {
			return err
		}
	}
	return nil
}

// ruled makes a text stand out from the rows.
func ruled(text string) string { return "── " + text }

// headOf returns the lines above the rows of a Run.
func (v *survey) headOf(e event.Event, b event.StartRun) []string {
	at := timestamp(e.Timestamp) + " UTC"
	if b.From != nil && b.From.RunID == e.RunID {
		return []string{fmt.Sprintf("run %s resumes after checkpoint %s, %s", e.RunID, v.short(b.From.CheckpointID), at)}
	}
	words := []string{"run " + e.RunID, at}
	if n := v.tree.runs[e.RunID]; n != nil {
		words = append(words, strings.TrimSpace(n.ExpertKey+" "+n.version))
		if n.model != "" {
			words = append(words, n.model)
		}
	}
	head := []string{strings.Join(words, ", ")}
	if origin := v.origin(e.RunID, v.short); origin != "" {
		head = append(head, origin)
	}
	return head
}

// origin says where a Run comes from; "" if it began without another one. name writes the id of a
// checkpoint.
func (v *survey) origin(runID string, name func(string) string) string {
	n := v.tree.runs[runID]
	switch {
	case n == nil || n.From == nil:
		return ""
	case n.hung == inARow:
		return fmt.Sprintf("continues run %s after checkpoint %s", n.From.RunID, name(n.From.CheckpointID))
	}
	return fmt.Sprintf("branch from checkpoint %s of run %s", name(n.From.CheckpointID), n.From.RunID)
}

// leastShort is how many characters of an id are shown at least, where its beginning is enough. They
// are more than what names a checkpoint today, since others will come.
const leastShort = 8

// short returns the beginning of the id of a checkpoint that no other checkpoint of the job has.
func (v *survey) short(id string) string {
	least := leastShort
	at, _ := slices.BinarySearch(v.checkpoints, id)
	for _, i := range []int{at - 1, at + 1} {
		if i >= 0 && i < len(v.checkpoints) {
			least = max(least, common(id, v.checkpoints[i])+1)
		}
	}
	return id[:min(least, len(id))]
}

// common is how many bytes two texts have in common at their beginning.
func common(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
