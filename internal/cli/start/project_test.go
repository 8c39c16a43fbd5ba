package start

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/run"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/tui"
	"github.com/perstack-go/perstack/store"
)

// noon is when the first event of a test happens.
var noon = time.UnixMilli(1_767_000_000_000)

// newProject is a project of files, whose Experts play a cassette.
func newProject(t *testing.T, files map[string]string) *project {
	t.Helper()
	h := &host.Host{Dir: t.TempDir(), Home: t.TempDir(), Command: "perstack", Source: engine.FixedSource(noon), Reproducible: true}
	n := &notices{}
	h.Stdout, h.Stderr = n, n
	h.GuardStderr()
	for name, text := range files {
		path := filepath.Join(h.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := &run.Options{Host: h}
	o.Flags.Isolation.Sandbox = "off"
	p, err := openProject(o, n)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// An asker is a user who allows everything.
type asker struct{ told, confirmed []string }

func (a *asker) Ask(context.Context, event.Request) (event.Answer, error) {
	return event.Answer{Allow: true}, nil
}

func (a *asker) Confirm(_ context.Context, question string) (bool, error) {
	a.confirmed = append(a.confirmed, question)
	return true, nil
}

func (a *asker) Tell(notice string) { a.told = append(a.told, notice) }

// do runs a task to its end and returns its job and the last event that is about the coordinator.
func do(t *testing.T, p *project, task tui.Task, a *asker) (jobID string, last event.Event) {
	t.Helper()
	for e, err := range p.Run(t.Context(), task, a) {
		if err != nil {
			t.Fatalf("run %+v: %v (told %q)", task, err, a.told)
		}
		jobID = e.JobID
		if e.IsTerminal() {
			last = e
		}
	}
	return jobID, last
}

const replay = "[provider]\nproviderName = 'replay'\n[provider.setting]\ncassette = 'answers.toml'\n"

// Everything that a user does to one job, in one project.
func TestJourney(t *testing.T) {
	p := newProject(t, map[string]string{
		"perstack.toml": replay + "[experts.writer]\ninstruction = 'Write.'\ndescription = 'Writes notes.'\n[experts.reader]\ninstruction = 'Read.'\n",
		"answers.toml": `
[[turn]]
[[turn.call]]
tool = "writeTextFile"
args = { path = "a.txt", text = "one\n" }
[[turn]]
[[turn.call]]
tool = "writeTextFile"
args = { path = "b.txt", text = "two\n" }
[[turn]]
text = "Both are written."
[[turn]]
text = "You are welcome."
`})
	a := &asker{}
	experts, err := p.Experts(t.Context())
	if err != nil || len(experts) != 2 || experts[0] != (tui.Expert{Key: "writer", Description: "Writes notes."}) {
		t.Fatalf("Experts: %+v, %v", experts, err)
	}
	jobID, last := do(t, p, tui.Task{Expert: "writer", Query: "Write two files"}, a)
	if _, ok := last.Body.(event.CompleteRun); !ok {
		t.Fatalf("the job ended with %s (told %q)", last.Type(), a.told)
	}
	jobs, err := p.Jobs(t.Context(), 10)
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	if j := jobs[0]; j.ID != jobID || j.Query != "Write two files" || j.Expert != "writer" || j.Status != "completed" || j.Running || j.Steps != 3 || !strings.HasPrefix(jobID, j.Prefix) {
		t.Errorf("the list has %+v", j)
	}

	points, err := p.Checkpoints(t.Context(), jobID)
	if err != nil || len(points) != 3 {
		t.Fatal(points, err)
	}
	var counts []int
	for _, c := range points {
		counts = append(counts, c.Files)
	}
	if !slices.Equal(counts, []int{0, 1, 1}) || points[0].Step != 3 {
		t.Errorf("checkpoints with %v changed files, want 0, 1, 1, the newest first: %+v", counts, points)
	}
	first := points[2]
	patch, err := p.Diff(t.Context(), jobID, first.ID)
	if err != nil || !strings.Contains(patch, "b.txt") || strings.Contains(patch, "a.txt") {
		t.Errorf("diff since the first checkpoint: %v\n%s", err, patch)
	}

	// The events on disk are those that were shown.
	var types []event.Type
	for e, err := range p.Events(t.Context(), jobID, false) {
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, e.Type())
		last = e
	}
	if len(types) < 10 || !slices.Contains(types, "startRun") {
		t.Errorf("recorded: %v", types)
	}
	if number, line, err := p.Record(t.Context(), jobID, last.ID); err != nil || number == 0 || !strings.Contains(string(line), last.ID) {
		t.Errorf("Record: %d %q %v", number, line, err)
	}
	if _, _, err := p.Record(t.Context(), jobID, "nothing"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a missing record: %v", err)
	}

	// A branch at the first checkpoint brings its files back.
	do(t, p, tui.Task{Job: jobID, Query: "Again, please", Checkpoint: first.ID, RestoreFiles: true}, a)
	if after, err := p.Jobs(t.Context(), 10); err != nil || len(after) != 1 || after[0].Steps <= 3 {
		t.Errorf("after the branch: %+v, %v", after, err)
	}
	if len(a.confirmed) > 0 {
		t.Errorf("asked %q", a.confirmed)
	}

	// A job that came from elsewhere has no seal.
	journal, err := os.ReadFile(filepath.Join(p.history.Dir, "jobs", jobID, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if doubt := p.Doubt(t.Context(), jobID); doubt != "" {
		t.Errorf("doubt about an own job: %s", doubt)
	}
	if err := p.journals.Delete(t.Context(), jobID, noon); err != nil {
		t.Fatal(err)
	}
	if _, err := p.journals.Import(t.Context(), jobID, bytes.NewReader(journal)); err != nil {
		t.Fatal(err)
	}
	if doubt := p.Doubt(t.Context(), jobID); doubt != "not sealed" {
		t.Errorf("doubt about a job without a seal: %q", doubt)
	}

	if want := "perstack start --continue-job " + jobID; p.Resume(jobID) != want {
		t.Errorf("Resume: %q, want %q", p.Resume(jobID), want)
	}
	if err := p.Delete(t.Context(), jobID); err != nil {
		t.Fatal(err)
	}
	if left, err := p.Jobs(t.Context(), 0); err != nil || len(left) > 0 {
		t.Errorf("after Delete: %+v, %v", left, err)
	}
}

// A stopped job is saved, and its last events are still shown. A caller who has left gets none.
func TestStop(t *testing.T) {
	p := newProject(t, map[string]string{
		"perstack.toml": replay + "[experts.writer]\ninstruction = 'Write.'\n",
		"answers.toml":  "[[turn]]\n[[turn.call]]\ntool = 'exec'\nargs = { command = 'sleep', args = ['60'], cwd = '.', env = {}, stdout = true, stderr = true }\n[[turn]]\ntext = 'Done.'\n",
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var jobID string
	ended := false
	for e, err := range p.Run(ctx, tui.Task{Expert: "writer", Query: "Sleep"}, &asker{}) {
		if err != nil {
			t.Fatal(err)
		}
		jobID, ended = e.JobID, ended || e.IsTerminal()
		if e.Type() == "callTools" {
			stop()
		}
	}
	if !ended {
		t.Error("no event says that the job has stopped")
	}
	seen := 0
	for range p.Run(t.Context(), tui.Task{Job: jobID}, &asker{}) {
		if seen++; seen == 1 {
			break
		}
	}
	jobs, err := p.Jobs(t.Context(), 0)
	if err != nil || len(jobs) != 1 || jobs[0].Running {
		t.Errorf("after it was left: %+v, %v", jobs, err)
	}
}

// What keeps a job from starting is an error; how a job ended is an event.
func TestRefused(t *testing.T) {
	p := newProject(t, map[string]string{
		"perstack.toml": replay + "[experts.writer]\ninstruction = 'Write.'\n",
		"answers.toml":  "[[turn]]\nerror = { name = 'AuthError', status = 401, message = 'no' }\n",
	})
	var errs []error
	for _, err := range p.Run(t.Context(), tui.Task{Expert: "nobody", Query: "Hi"}, &asker{}) {
		errs = append(errs, err)
	}
	if len(errs) != 1 || errs[0] == nil || !strings.Contains(errs[0].Error(), "nobody") {
		t.Errorf("an unknown Expert: %v", errs)
	}
	_, last := do(t, p, tui.Task{Expert: "writer", Query: "Hi"}, &asker{})
	if _, ok := last.Body.(event.StopRunByError); !ok {
		t.Errorf("the job ended with %s", last.Type())
	}
}

// The second job at the same time is refused: its questions would go to the first.
func TestBusy(t *testing.T) {
	p := newProject(t, map[string]string{
		"perstack.toml": replay + "[experts.writer]\ninstruction = 'Write.'\n",
		"answers.toml":  "[[turn]]\ntext = 'Done.'\n",
	})
	task := tui.Task{Expert: "writer", Query: "Hi"}
	for range p.Run(t.Context(), task, &asker{}) {
		for _, err := range p.Run(t.Context(), task, &asker{}) {
			if !errors.Is(err, errBusy) {
				t.Fatalf("a second job: %v", err)
			}
		}
	}
}

func TestAttach(t *testing.T) {
	p := newProject(t, map[string]string{"perstack.toml": replay, "docs/notes.txt": "Hello"})
	elsewhere := filepath.Join(p.host.Home, "shot.png")
	if err := os.WriteFile(elsewhere, []byte("\x89PNG\r\n\x1a\nrest"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]tui.Attachment{
		"docs/notes.txt": {Path: filepath.Join(p.host.Dir, "docs", "notes.txt"), Name: "notes.txt", Kind: "text", Size: 5},
		"~/shot.png":     {Path: elsewhere, Name: "shot.png", Kind: "image", Size: 12, Outside: true},
		elsewhere:        {Path: elsewhere, Name: "shot.png", Kind: "image", Size: 12, Outside: true},
	} {
		if got, err := p.Attach(t.Context(), path); err != nil || got != want {
			t.Errorf("%s: %+v, %v", path, got, err)
		}
	}
	if _, err := p.Attach(t.Context(), "docs"); err == nil {
		t.Error("a directory is attached")
	}
	paths, cut, err := p.Paths(t.Context())
	if err != nil || cut || !slices.Contains(paths, "docs/notes.txt") {
		t.Errorf("Paths: %v %v %v", paths, cut, err)
	}
}

func TestInputs(t *testing.T) {
	p := newProject(t, map[string]string{"perstack.toml": replay})
	p.host.Secrets.Add("KEY", "sk-0123456789abcdef0123456789")
	for _, text := range []string{"first", "with sk-0123456789abcdef0123456789"} {
		if err := p.Remember(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	got, err := p.Inputs(t.Context())
	if err != nil || len(got) != 2 || got[0] != "first" || strings.Contains(got[1], "sk-") {
		t.Errorf("Inputs: %q, %v", got, err)
	}
}

// Lines go to the user of the running job; those that come otherwise are kept.
func TestNotices(t *testing.T) {
	n, told, out := &notices{}, map[string]bool{}, &strings.Builder{}
	write := func(text string) {
		if _, err := n.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	write("perstack: before\n")
	back := n.to(func(line string) { told[line] = true })
	write("perstack: during\nhalf ")
	write("a line\n")
	back()
	write("perstack: after")
	if err := n.print(out); err != nil {
		t.Fatal(err)
	}
	if want := map[string]bool{"during": true, "half a line": true}; !maps.Equal(told, want) {
		t.Errorf("told %v", told)
	}
	if want := "perstack: before\nperstack: after"; out.String() != want {
		t.Errorf("kept %q, want %q", out, want)
	}
}

// The exit code of a session is that of its last job, or that of an interrupt if the job still runs.
func TestLastOutcome(t *testing.T) {
	p := &project{outcome: host.Exit(host.ExitLimit)}
	if got := host.ExitCode(p.lastOutcome()); got != host.ExitLimit {
		t.Errorf("%d after a limit", got)
	}
	p.running.Lock()
	if got := host.ExitCode(p.lastOutcome()); got != process.ExitInterrupt {
		t.Errorf("%d while the job runs", got)
	}
}

// A task has the settings of the session, and not the job that the session began with.
func TestOptionsOfTask(t *testing.T) {
	p := &project{settings: &run.Options{Expert: "first", Continue: true, ContinueJob: "old", Workspace: "w"}}
	o := p.options(tui.Task{Expert: "writer", Query: "Hi"})
	if o.Expert != "writer" || o.Continue || o.ContinueJob != "" || o.Workspace != "w" {
		t.Errorf("a new job has %+v", o)
	}
	if o = p.options(tui.Task{Expert: "writer", Job: "job1", Query: "Hi"}); o.Expert != "" || o.Continue || o.ContinueJob != "job1" {
		t.Errorf("a continued job has %+v", o)
	}
}

// What the user attaches is named from the workspace on, wherever perstack was started.
func TestAttached(t *testing.T) {
	home := t.TempDir()
	p := &project{host: &host.Host{Dir: t.TempDir(), Home: home}, settings: &run.Options{Workspace: "sub"}}
	for path, want := range map[string]string{
		"a.png": filepath.Join(p.host.Dir, "sub", "a.png"), "~/a.png": filepath.Join(home, "a.png"), filepath.Join(home, "x", "..", "a.png"): filepath.Join(home, "a.png"),
	} {
		if got := p.attached(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// A job that is being written is not deleted.
func TestDeleteRunning(t *testing.T) {
	p := newProject(t, map[string]string{
		"perstack.toml": replay + "[experts.writer]\ninstruction = 'Write.'\n",
		"answers.toml":  "[[turn]]\ntext = 'Done.'\n",
	})
	jobID, _ := do(t, p, tui.Task{Expert: "writer", Query: "Hi"}, &asker{})
	journal, err := p.journals.Open(t.Context(), jobID)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Delete(t.Context(), jobID); err == nil || !strings.Contains(err.Error(), "is running") {
		t.Errorf("Delete: %v", err)
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
}
