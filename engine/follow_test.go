package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

// written returns the records of the job; nil if there are none or they cannot be read.
func (b *bench) written() (all []store.Record) {
	for r, err := range b.store.Read(b.t.Context(), "job", 0) {
		if err != nil {
			return nil
		}
		all = append(all, r)
	}
	return all
}

// follow has a Follower write down what an engine has just done, as if that had been
// in another place: it must accept all of it, and history, told events and result must be
// the same. Every test that runs a job to its end does this on the side.
func (b *bench) follow(spec job.Spec, before []store.Record, result Result) {
	b.t.Helper()
	after := b.written()
	if len(after) <= len(before) {
		return
	}
	if b.inbox != nil {
		return // answers from elsewhere are the host's to record
	}
	if slices.ContainsFunc(after, func(r store.Record) bool { return r.Event.IsRuntime() }) {
		return // an engine in a container has no such reports: the host makes them itself
	}
	copied := memory.New()
	copyRecords(b.t, copied, before)
	var told []event.Event
	spec.RunID = result.RunID
	var history *History
	if spec.Input.Continue && len(before)%2 == 1 {
		history = b.load(copied)
	}
	f, err := Follow(b.t.Context(), spec, Parts{
		History: history, Store: copied, Source: FixedSource(time.UnixMilli(0)),
		Lean: b.lean, Emit: func(e event.Event) error { told = append(told, e); return nil },
	})
	if err != nil {
		b.t.Errorf("follow: %v", err)
		return
	}
	defer f.Close()
	if f.RunID() != result.RunID {
		b.t.Errorf("the Follower plans the Run %s, the engine ran %s", f.RunID(), result.RunID)
	}
	records := after[len(before):]
	for _, e := range b.events { // published events come in between, in the order of publication
		if !e.IsKept() {
			if err := f.Show(e); err != nil {
				b.t.Errorf("the Follower does not show %s of %s: %v", e.Type(), e.RunID, err)
				return
			}
			continue
		}
		for len(records) > 0 && records[0].Event.ID != e.ID { // recorded but not published
			if !b.append(f, records[0]) {
				return
			}
			records = records[1:]
		}
		if len(records) > 0 {
			if !b.append(f, records[0]) {
				return
			}
			records = records[1:]
		}
	}
	for _, r := range records {
		if !b.append(f, r) {
			return
		}
	}
	result.Limit, result.Err = nil, nil // they are not recorded
	if d := cmp.Diff(result, f.Result()); d != "" {
		b.t.Errorf("the Follower has another result (-engine +follower):\n%s", d)
	}
	if !f.Ended() {
		b.t.Error("the Follower does not know that the job has ended")
	}
	if b.emit == nil { // otherwise it may have closed the listener
		if d := cmp.Diff(keptOf(b.t, b.events), keptOf(b.t, told)); d != "" {
			b.t.Errorf("the Follower told other events (-engine +follower):\n%s", d)
		}
	}
}

// append gives a record to the Follower, which must write the same record.
func (b *bench) append(f *Follower, r store.Record) bool {
	b.t.Helper()
	got, err := f.Append(r.Event)
	switch {
	case err != nil:
		b.t.Errorf("the Follower does not accept %s of %s: %v", r.Event.Type(), r.Event.RunID, err)
	case string(got.Line) != string(r.Line):
		b.t.Errorf("it wrote another record:\n%s\n%s", got.Line, r.Line)
	default:
		return true
	}
	return false
}

func copyRecords(t testing.TB, to store.Store, records []store.Record) {
	t.Helper()
	if len(records) == 0 {
		return
	}
	j, err := to.Open(t.Context(), "job")
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for _, r := range records {
		if _, err := j.Append(t.Context(), r.Event); err != nil {
			t.Fatal(err)
		}
	}
}

// keptOf encodes the events that are recorded.
func keptOf(t testing.TB, events []event.Event) (lines []string) {
	for _, e := range events {
		if e.IsKept() && !e.IsRuntime() {
			line, err := event.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(line))
		}
	}
	return lines
}

// A compromised container can report anything. Events that do not belong to the job's own Runs
// are not written.
func TestFollowerRefusesForgedEvents(t *testing.T) {
	b := newBench(t, does("act"), says("done"))
	b.must(job.Input{Query: "go"})
	honest := b.written()
	start, rest := honest[0].Event, honest[1:]

	alter := func(e event.Event, change func(*event.Event)) event.Event {
		change(&e)
		return e
	}
	startWith := func(change func(*event.StartRun)) event.Event {
		return alter(start, func(e *event.Event) {
			body := e.Body.(event.StartRun)
			change(&body)
			e.Body = body
		})
	}
	for name, c := range map[string]struct {
		before []event.Event
		forged event.Event
	}{
		"another job":           {nil, alter(start, func(e *event.Event) { e.JobID = "other" })},
		"another Run":           {nil, alter(start, func(e *event.Event) { e.RunID = "other" })},
		"another Expert":        {nil, startWith(func(b *event.StartRun) { b.Expert.Key = "other" })},
		"an unknown checkpoint": {nil, startWith(func(b *event.StartRun) { b.From = &event.Origin{CheckpointID: "nowhere"} })},
		"another runtime":       {nil, startWith(func(b *event.StartRun) { b.Runtime = "local" })},
		"more steps for the next time": {nil, startWith(func(b *event.StartRun) {
			b.Spec = []byte(strings.Replace(string(b.Spec), `"maxSteps":100`, `"maxSteps":1000000`, 1))
		})},
		"another provider": {nil, startWith(func(b *event.StartRun) { b.Provider = "openai" })},
		"variables for the next time": {nil, startWith(func(b *event.StartRun) {
			b.Spec = []byte(strings.Replace(string(b.Spec), `"limits"`, `"isolation":{"env":["TOKEN"]},"limits"`, 1))
		})},
		"no Spec":                     {nil, startWith(func(b *event.StartRun) { b.Spec = nil })},
		"no checkpoint":               {nil, startWith(func(b *event.StartRun) { b.CheckpointID = "../x" })},
		"a Run that has not begun":    {nil, rest[0].Event},
		"a path as id":                {[]event.Event{start}, alter(rest[0].Event, func(e *event.Event) { e.ID = "../../x" })},
		"a Run that begins twice":     {[]event.Event{start}, start},
		"an unknown parent":           {[]event.Event{start}, alter(startWith(func(b *event.StartRun) { b.DelegatedBy = &event.Parent{RunID: "nobody"} }), func(e *event.Event) { e.RunID = "child" })},
		"a second coordinator":        {[]event.Event{start}, alter(start, func(e *event.Event) { e.RunID = "second" })},
		"a decision of the proxy":     {[]event.Event{start}, alter(start, func(e *event.Event) { e.Body = event.ProxyAccess{Action: "allowed"} })},
		"a check of the sandbox":      {nil, alter(start, func(e *event.Event) { e.Body = event.SandboxCheck{OK: true} })},
		"a piece of a stream":         {[]event.Event{start}, alter(start, func(e *event.Event) { e.Body = event.StreamRunResult{} })},
		"the end of somebody's Run":   {[]event.Event{start}, alter(start, func(e *event.Event) { e.RunID, e.Body = "other", event.StopRunByInterrupt{} })},
		"more after the end":          {append([]event.Event{start}, eventsOf(rest)...), rest[0].Event},
		"a new start after the end":   {append([]event.Event{start}, eventsOf(rest)...), start},
		"an event of another Expert?": {nil, alter(rest[0].Event, func(e *event.Event) { e.RunID = "" })},
	} {
		t.Run(name, func(t *testing.T) {
			s := memory.New()
			f, err := Follow(t.Context(), b.specOf(start.RunID), Parts{Store: s, Source: FixedSource(time.UnixMilli(0))})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for _, e := range c.before {
				if _, err := f.Append(e); err != nil {
					t.Fatal(err)
				}
			}
			count := len((&bench{t: t, store: s}).written())
			if _, err := f.Append(c.forged); !errors.Is(err, ErrForged) {
				t.Errorf("it was not refused: %v", err)
			}
			if now := len((&bench{t: t, store: s}).written()); now != count {
				t.Errorf("%d records became %d", count, now)
			}
		})
	}
}

// Events that are only shown must also belong to a Run of the job or to a delegate of one.
func TestFollowerRefusesForgedShows(t *testing.T) {
	b := newTeam(t, map[string][]turn{"writer": {does("helper {\"query\":\"help\"}"), says("done")}, "helper": {says("here")}})
	b.must(job.Input{Query: "go"})
	honest := eventsOf(b.written())
	f, err := Follow(t.Context(), b.specOf(honest[0].RunID), Parts{Store: memory.New(), Source: FixedSource(time.UnixMilli(0))})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	shown := func(runID string) event.Event {
		return event.Event{ID: "x", JobID: "job", RunID: runID, Body: event.SkillStarting{}}
	}
	refused := func(why string, e event.Event) {
		t.Helper()
		if err := f.Show(e); !errors.Is(err, ErrForged) {
			t.Errorf("%s: %v", why, err)
		}
	}
	var child string
	for _, e := range honest {
		if e.ExpertKey == "helper" && child == "" {
			child = e.RunID
			if err := f.Show(shown(child)); err != nil {
				t.Errorf("the delegate was asked, and may tell of its skills: %v", err)
			}
		}
		if child == "" && e.Type() == "startGeneration" {
			refused("it has no query yet", shown("later"))
		}
		if _, err := f.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if child == "" {
		t.Fatal("nothing was delegated")
	}
	refused("an unknown Run", shown("nobody"))
	refused("something to be recorded", honest[0])
	other := shown(child)
	other.JobID = "other"
	refused("another job", other)
}

func eventsOf(records []store.Record) (all []event.Event) {
	for _, r := range records {
		all = append(all, r.Event)
	}
	return all
}

// Events of the host before the job's first record are published at once and recorded after
// it. A job without a first record leaves nothing.
func TestFollowerKeepsNotesForLater(t *testing.T) {
	b := newBench(t, says("done"))
	b.must(job.Input{Query: "go"})
	honest := eventsOf(b.written())

	s := memory.New()
	var told []string
	f, err := Follow(t.Context(), b.specOf(honest[0].RunID), Parts{Store: s, Source: FixedSource(time.UnixMilli(0)),
		Lean: true, Emit: func(e event.Event) error { told = append(told, string(e.Type())); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	note := func(body event.Body) {
		if err := f.Note(body); err != nil {
			t.Fatal(err)
		}
	}
	note(event.DockerBuildProgress{Stage: "complete"})
	if len(told) != 1 || (&bench{t: t, store: s}).written() != nil {
		t.Fatalf("told %v, recorded %d", told, len((&bench{t: t, store: s}).written()))
	}
	if _, err := f.Append(honest[0]); err != nil {
		t.Fatal(err)
	}
	note(event.ProxyAccess{Action: "blocked", Domain: "evil.example"})
	var recorded []string
	for _, e := range eventsOf((&bench{t: t, store: s}).written()) {
		recorded = append(recorded, string(e.Type()))
	}
	if got, want := strings.Join(recorded, " "), "startRun dockerBuildProgress proxyAccess"; got != want {
		t.Errorf("recorded %s, want %s", got, want)
	}
	if got, want := strings.Join(told, " "), "dockerBuildProgress startRun proxyAccess"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
}

// When the remote engine is gone, the job counts as interrupted and can be resumed.
func TestFollowerAbandons(t *testing.T) {
	b := newBench(t, does("act"), says("done"))
	b.killedAfter("writer", "callTools", job.Input{Query: "go"})
	honest := eventsOf(b.written())

	s := memory.New()
	f, err := Follow(t.Context(), b.specOf(honest[0].RunID), Parts{Store: s, Source: FixedSource(time.UnixMilli(0))})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range honest {
		if _, err := f.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Abandon("the container ended"); err != nil {
		t.Fatal(err)
	}
	if r := f.Result(); r.Status != event.StatusStoppedByInterrupt || r.Reason != "the container ended" {
		t.Errorf("left as %+v", r)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b.store = s
	if r := b.must(job.Input{Continue: true}); r.Status != event.StatusCompleted || r.RunID != honest[0].RunID {
		t.Errorf("it continued to %+v", r)
	}
}

// specOf is the job with the coordinator's Run that another engine has chosen.
func (b *bench) specOf(runID string) job.Spec {
	spec := b.spec(job.Input{Query: "go"})
	spec.RunID = runID
	return spec
}
