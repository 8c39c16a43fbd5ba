package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

// files is a workspace that is a text.
type files struct {
	mu    sync.Mutex
	text  string
	looks int
	err   error
	state event.WorkspaceSnapshot // the rest of it
	on    func()                  // called in each look
}

func (f *files) Take(ctx context.Context) (event.WorkspaceSnapshot, error) {
	if f.on != nil {
		f.on()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	state := f.state
	state.Tree = f.text
	return state, errors.Join(f.err, ctx.Err())
}

func (f *files) write(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text += text
}

// withFiles returns a bench with a workspace, and tools that read it, change it, or only remember something.
func withFiles(t *testing.T, turns ...turn) (*bench, *files) {
	b, f := newBench(t, turns...), &files{text: "0"}
	b.files, b.lean = f, true
	b.skills = box(skill.Source{Skill: &server{name: "fs",
		list: func(context.Context) ([]skill.Tool, error) {
			return []skill.Tool{{Name: "look", ReadOnly: true}, {Name: "note", MemoryOnly: true}, {Name: "edit"}, {Name: "same"}}, nil
		},
		call: func(_ context.Context, c event.ToolCall) (event.ToolResult, error) {
			if c.ToolName == "edit" {
				f.write("+")
			}
			return event.ToolResult{}, nil
		},
	}})
	return b, f
}

// aboutFiles returns the events about files and calls, in words.
func (b *bench) aboutFiles() (all []string) {
	for _, r := range b.written() {
		switch body := r.Event.Body.(type) {
		case event.WorkspaceSnapshot:
			words := []string{body.Reason, body.Tree}
			if body.Outside {
				words = append(words, "outside")
			}
			if body.Unsure {
				words = append(words, "unsure")
			}
			all = append(all, strings.Join(append(words, body.Busy...), " "))
		case event.StartToolCall:
			all = append(all, "start")
		case event.ContinueToNextStep:
			all = append(all, "checkpoint here")
		default:
			if r.Event.IsTerminal() {
				all = append(all, "end here")
			}
		}
	}
	return all
}

// A state is stored before the first call of a step that can change files, and after the step. Equal
// states are recorded once, and a step that only reads looks at nothing.
func TestSnapshots(t *testing.T) {
	for name, tt := range map[string]struct {
		turns []turn
		looks int // besides the one beside the first request
		want  []string
	}{
		"changes":         {[]turn{does("edit", "edit"), says("done")}, 2, []string{"before 0 outside", "start", "start", "checkpoint 0++", "checkpoint here", "end here"}},
		"reads":           {[]turn{does("look", "note"), says("done")}, 0, []string{"start", "start", "checkpoint here", "end here"}},
		"reads first":     {[]turn{does("look", "edit"), says("done")}, 2, []string{"before 0 outside", "start", "start", "checkpoint 0+", "checkpoint here", "end here"}},
		"changes nothing": {[]turn{does("same"), does("same"), says("done")}, 4, []string{"before 0 outside", "start", "checkpoint here", "start", "checkpoint here", "end here"}},
		"twice":           {[]turn{does("edit"), does("edit"), says("done")}, 4, []string{"before 0 outside", "start", "checkpoint 0+", "checkpoint here", "start", "checkpoint 0++", "checkpoint here", "end here"}},
	} {
		t.Run(name, func(t *testing.T) {
			b, f := withFiles(t, tt.turns...)
			b.must(job.Input{Query: "go"})
			if diff := cmp.Diff(tt.want, b.aboutFiles()); diff != "" {
				t.Error(diff)
			}
			if f.looks != tt.looks+1 {
				t.Errorf("%d looks, want %d", f.looks, tt.looks+1)
			}
		})
	}
}

// What changed while no call ran is the work of others, in a job and between two.
func TestSnapshotsOfOthers(t *testing.T) {
	b, f := withFiles(t, does("edit"), does("edit"), says("done"), does("edit"), says("again"))
	b.emit = func(e event.Event) error {
		if _, ok := e.Body.(event.ContinueToNextStep); ok && e.StepNumber == 1 {
			f.write("u")
		}
		return nil
	}
	b.must(job.Input{Query: "go"})
	f.write("v")
	b.must(job.Input{Query: "more", Continue: true})
	want := []string{
		"before 0 outside", "start", "checkpoint 0+", "checkpoint here",
		"before 0+u outside", "start", "checkpoint 0+u+", "checkpoint here", "end here",
		"before 0+u+v outside", "start", "checkpoint 0+u+v+", "checkpoint here", "end here",
	}
	if diff := cmp.Diff(want, b.aboutFiles()); diff != "" {
		t.Error(diff)
	}
	h := b.load(b.store)
	var by []Author
	for _, s := range h.Files() {
		by = append(by, s.By)
	}
	if want := []Author{OtherAuthor, JobAuthor, OtherAuthor, JobAuthor, OtherAuthor, JobAuthor}; !slices.Equal(by, want) {
		t.Errorf("authors %v, want %v", by, want)
	}
	last, _ := h.LastRun()
	if at, ok := h.FilesBefore(last.Seq); !ok || at.Tree != "0+u+" || last.Task != "more" || last.From == nil {
		t.Errorf("before the run %+v there was %+v, %v", last, at, ok)
	}
	if _, ok := h.FilesBefore(1); ok {
		t.Error("a state before the first record")
	}
}

// A state that cannot be stored does not stop the job, unless that is required. Afterwards it is not
// known who changed what.
func TestSnapshotFails(t *testing.T) {
	b, f := withFiles(t, does("edit"), does("edit"), says("done"))
	f.err = errors.New("disk full")
	b.emit = func(e event.Event) error {
		if _, ok := e.Body.(event.ContinueToNextStep); ok && e.StepNumber == 1 {
			f.err = nil
		}
		return nil
	}
	b.must(job.Input{Query: "go"})
	want := []string{"start", "checkpoint here", "before 0+ unsure", "start", "checkpoint 0++", "checkpoint here", "end here"}
	if diff := cmp.Diff(want, b.aboutFiles()); diff != "" {
		t.Error(diff)
	}

	for name, fail := range map[string]func(*files){
		"error": func(f *files) { f.err = errors.New("disk full") },
		"skipped": func(f *files) {
			f.state = event.WorkspaceSnapshot{SkippedAll: 1, Skipped: []event.SkippedFile{{Path: "big", Why: "disk full"}}}
		},
		"incomplete": func(f *files) { f.state = event.WorkspaceSnapshot{Incomplete: "entries (disk full)"} },
	} {
		t.Run("required, "+name, func(t *testing.T) {
			b, f := withFiles(t, does("edit"), says("done"))
			b.snapshots.Mode = job.SnapshotsRequired
			fail(f)
			result := b.must(job.Input{Query: "go"})
			if result.Status != event.StatusStoppedByLimit || result.Limit == nil || result.Limit.Limit != event.LimitSnapshot || !strings.Contains(result.Limit.Error(), "disk full") {
				t.Errorf("%s: %v", result.Status, result.Limit)
			}
			if f.text != "0" {
				t.Error("the call was carried out")
			}
		})
	}
}

// After a crash, the state is stored before the job resumes. If a call was running, it can have
// changed files after the last state, and so can others.
func TestSnapshotAfterCrash(t *testing.T) {
	b, f := withFiles(t, does("edit"), does("look"), says("done"))
	b.must(job.Input{Query: "go"})
	all := b.written()
	for cut, want := range map[event.Type]string{"startToolCall": "resume 0+x unsure", "finishToolCall": "resume 0+x unsure", "callTools": "before 0+x outside"} {
		t.Run(string(cut), func(t *testing.T) {
			i := slices.IndexFunc(all, func(r store.Record) bool { return r.Event.Type() == cut })
			b.store = memory.New()
			copyRecords(t, b.store, all[:i+1])
			f.text = "0+x"
			b.must(job.Input{Continue: true})
			if told := b.aboutFiles(); !slices.Contains(told, want) {
				t.Errorf("%q, want %q", told, want)
			}
		})
	}
}

// A job that is told to stop still stores what its last call did.
func TestSnapshotAfterSignal(t *testing.T) {
	b, f := withFiles(t, does("edit"), says("done"))
	ctx, cancel := context.WithCancel(t.Context())
	b.skills = box(skill.Source{Skill: &server{name: "fs", list: func(context.Context) ([]skill.Tool, error) {
		return []skill.Tool{{Name: "edit"}}, nil
	}, call: func(context.Context, event.ToolCall) (event.ToolResult, error) {
		f.write("+")
		cancel()
		return event.ToolResult{}, nil
	}}})
	if _, err := b.run(ctx, job.Input{Query: "go"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"before 0 outside", "start", "end 0+", "end here"}
	if diff := cmp.Diff(want, b.aboutFiles()); diff != "" {
		t.Error(diff)
	}
}

// Requests that come while the workspace is looked at share the next look.
func TestSnapshotsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &files{text: "0"}
		looking, release := make(chan struct{}, 10), make(chan struct{})
		f.on = func() { looking <- struct{}{}; <-release }
		s := newSnapshotter(&job.Spec{}, &Parts{Snapshots: f}, NewHistory())
		var mu sync.Mutex
		recorded := 0
		take := func() {
			err := s.take(t.Context(), event.SnapshotBefore, func(event.WorkspaceSnapshot) error {
				mu.Lock()
				defer mu.Unlock()
				recorded++
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		var all sync.WaitGroup
		all.Go(take)
		<-looking
		for range 9 {
			all.Go(take)
		}
		synctest.Wait()
		f.write("+") // after the first look began: the others must see it
		close(release)
		all.Wait()
		if f.looks != 2 || recorded != 2 && recorded != 1 || s.tree != "0+" {
			t.Errorf("%d looks, %d records, newest state %s", f.looks, recorded, s.tree)
		}
	})
}

// A call waits while the workspace is looked at, but not long.
func TestCallsWaitForALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSnapshotter(&job.Spec{}, &Parts{Snapshots: &files{}}, NewHistory())
		began := time.Now()
		s.await(t.Context())
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited %s for nothing", waited)
		}
		s.scanning <- struct{}{}
		s.await(t.Context())
		if waited := time.Since(began); waited != maxWaitForLook {
			t.Errorf("waited %s", waited)
		}
		began = time.Now()
		go func() { time.Sleep(maxWaitForLook / 2); <-s.scanning }()
		s.await(t.Context())
		if waited := time.Since(began); waited != maxWaitForLook/2 {
			t.Errorf("waited %s", waited)
		}
	})
}

// Delegates that work at the same time share the workspace: what one changes while another begins a
// step is the job's work.
func TestSnapshotsOfATeam(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`a {"query":"x"}`, `b {"query":"y"}`), says("done")},
		"a":      {does("act"), does("act"), says("a")},
		"b":      {does("act"), does("act"), says("b")},
	})
	b.atOnce = 2
	f := &files{text: "0"}
	b.files = f
	n := 0
	usual := b.skillsOf
	b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
		if !req.Delegated {
			return usual(ctx, req)
		}
		return box(skill.Source{Skill: &server{name: "fs", list: func(context.Context) ([]skill.Tool, error) {
			return []skill.Tool{{Name: "act"}}, nil
		}, call: func(context.Context, event.ToolCall) (event.ToolResult, error) {
			f.mu.Lock()
			n++
			f.text = fmt.Sprint(n)
			f.mu.Unlock()
			return event.ToolResult{}, nil
		}}})(ctx, req)
	}
	b.must(job.Input{Query: "go"})
	states := b.load(b.store).Files()
	if len(states) < 2 || states[0].By != OtherAuthor || states[len(states)-1].Tree != "4" {
		t.Fatalf("states %+v", states)
	}
	for _, s := range states[1:] {
		if s.By != JobAuthor {
			t.Errorf("%+v is not the work of the job", s)
		}
	}
}

// The host stores files itself. What changes when no call is reported can be the work of the
// container.
func TestFollowerStoresFiles(t *testing.T) {
	b, _ := withFiles(t, does("look"), does("edit"), says("done"))
	b.files = nil
	result := b.must(job.Input{Query: "go"})
	f, copied := &files{text: "0"}, memory.New()
	spec := b.spec(job.Input{Query: "go"})
	spec.RunID = result.RunID
	follower, err := Follow(t.Context(), spec, Parts{Store: copied, Source: FixedSource(time.UnixMilli(0)), Snapshots: f})
	if err != nil {
		t.Fatal(err)
	}
	defer follower.Close()
	if err := follower.StoreFiles(); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.written() {
		switch r.Event.Body.(type) {
		case event.EndToolCall:
			f.write("+") // the tool look lies
		case event.StartGeneration:
			if r.Event.StepNumber == 2 {
				f.write("x") // no call is running
			}
		}
		if _, err := follower.Append(r.Event); err != nil {
			t.Fatal(err)
		}
	}
	f.write("y")
	if err := follower.StoreLastFiles(); err != nil {
		t.Fatal(err)
	}
	b.store = copied
	want := []string{
		"before 0 outside", "start", "checkpoint 0+", "checkpoint here",
		"before 0+x unsure", "start", "checkpoint 0+x+", "checkpoint here", "end here", "end 0+x+y unsure",
	}
	if diff := cmp.Diff(want, b.aboutFiles()); diff != "" {
		t.Error(diff)
	}
}

// A rewound job continues from its new head, and undone Runs are not its last one any more.
func TestRewound(t *testing.T) {
	b := newBench(t, says("one"), says("two"), says("three"))
	first := b.must(job.Input{Query: "first"})
	b.must(job.Input{Query: "second", Continue: true})
	rewind := func(head string) *History {
		t.Helper()
		journal, err := b.store.Open(t.Context(), "job")
		if err != nil {
			t.Fatal(err)
		}
		defer journal.Close()
		if _, err := journal.Append(t.Context(), event.Event{ID: "e" + head, JobID: "job", RunID: first.RunID, Body: event.Rewound{Head: head}}); err != nil {
			t.Fatal(err)
		}
		return b.load(b.store)
	}
	h := rewind(first.CheckpointID)
	if last, ok := h.LastRun(); !ok || last.Task != "first" {
		t.Errorf("the last Run is %+v, %v", last, ok)
	}
	b.must(job.Input{Query: "third", Continue: true})
	if last := b.script.requests[len(b.script.requests)-1].Messages; len(last) != 4 || last[3].Text() != "third" {
		t.Errorf("the undone Run is still in the conversation of %d messages", len(last))
	}
	h = rewind("")
	if last, ok := h.LastRun(); ok {
		t.Errorf("the last Run is %+v", last)
	}
	// The job begins again, with what it ran with, and needs a query for that.
	if recorded, err := h.Recorded(""); err != nil || recorded.Expert == "" {
		t.Errorf("the settings of the job are lost: %+v, %v", recorded, err)
	}
	if _, err := b.run(t.Context(), job.Input{Continue: true}); err == nil || !strings.Contains(err.Error(), "all runs of job job were undone, so it needs a new query") {
		t.Errorf("without a query: %v", err)
	}
	b.must(job.Input{Query: "fourth", Continue: true})
	if last := b.script.requests[len(b.script.requests)-1].Messages; len(last) != 2 || last[1].Text() != "fourth" {
		t.Errorf("the new conversation has %d messages", len(last))
	}
	if last, ok := b.load(b.store).LastRun(); !ok || last.Task != "fourth" || last.From != nil {
		t.Errorf("the last Run is %+v, %v", last, ok)
	}
}

// A note of the runtime reaches the model once, after what it is about.
func TestRuntimeNote(t *testing.T) {
	b := newBench(t, does("read"), says("done"))
	b.must(job.Input{Query: "go", Note: "two files were not restored."})
	for _, r := range b.script.requests {
		n := 0
		for _, m := range r.Messages {
			if m.Text() == "Note from the runtime: two files were not restored." {
				n++
			}
		}
		if n != 1 || r.Messages[2].Text() != "Note from the runtime: two files were not restored." {
			t.Errorf("%d notes in a request of %d messages", n, len(r.Messages))
		}
	}
}

// If the last state is required and cannot be stored, the job ends as it would, and the user is told.
func TestLastSnapshotFails(t *testing.T) {
	b, f := withFiles(t, does("edit").with(func(a *model.Answer) {
		a.Parts = append(a.Parts, event.Part{Type: event.ToolCallPart, ToolCallID: "end", ToolName: event.CompletionTool})
	}), says("done"))
	b.snapshots.Mode = job.SnapshotsRequired
	var log strings.Builder
	b.log = slog.New(slog.NewTextHandler(&log, nil))
	b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
		return skill.NewToolbox(ctx, []skill.Source{{Skill: b.base}, {Skill: &server{name: "fs",
			list: func(context.Context) ([]skill.Tool, error) { return []skill.Tool{{Name: "edit"}}, nil },
			call: func(context.Context, event.ToolCall) (event.ToolResult, error) {
				f.mu.Lock()
				f.err = errors.New("disk full")
				f.mu.Unlock()
				return event.ToolResult{}, nil
			},
		}}}, slog.New(slog.DiscardHandler))
	}
	result := b.must(job.Input{Query: "go"})
	if result.Status != event.StatusCompleted || !strings.Contains(log.String(), "the last changes of this job cannot be undone") || !strings.Contains(log.String(), "disk full") {
		t.Errorf("%s: %s", result.Status, log.String())
	}
}
