package start

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/tui"
	"github.com/perstack-go/perstack/store"
)

// A branch of a job that runs elsewhere is a job of its own, sealed, and the other one is not disturbed.
func TestBranchOfRunningJob(t *testing.T) {
	files := map[string]string{
		"perstack.toml": replay + "[experts.writer]\ninstruction = 'Write.'\n",
		"answers.toml": `
[[turn]]
contains = "Another way"
text = "As you like."
[[turn]]
[[turn.call]]
tool = "listDirectory"
args = { path = "." }
[[turn]]
[[turn.call]]
tool = "exec"
args = { command = "sh", args = ["-c", "until [ -e go ]; do sleep 0.05; done"], cwd = ".", env = {}, stdout = true, stderr = true }
[[turn]]
text = "Done."
`}
	p := newProject(t, files)
	second := *p.settings
	other, err := openProject(&second, &notices{})
	if err != nil {
		t.Fatal(err)
	}
	other.host.Source = engine.SystemSource() // else both make the same ids

	events := make(chan event.Event)
	var running sync.WaitGroup
	t.Cleanup(running.Wait) // the context of the test has ended then, and the job with it
	running.Go(func() {
		defer close(events)
		for e, err := range p.Run(t.Context(), tui.Task{Expert: "writer", Query: "Wait"}, &asker{}) {
			if err != nil {
				t.Error(err)
			}
			select {
			case events <- e:
			case <-t.Context().Done():
			}
		}
	})
	var jobID string
	for e := range events {
		if jobID = e.JobID; e.StepNumber == 2 && e.Type() == "callTools" {
			break
		}
	}
	rest := make(chan event.Event, 1)
	go func() {
		var last event.Event
		for e := range events {
			if e.IsTerminal() {
				last = e
			}
		}
		rest <- last
	}()

	points, err := other.Checkpoints(t.Context(), jobID)
	if err != nil || len(points) != 1 {
		t.Fatalf("checkpoints of the running job: %+v, %v", points, err)
	}
	all := func() (ids []string) {
		for info, err := range other.journals.Jobs(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, info.ID)
		}
		return ids
	}
	for name, c := range map[string]struct {
		task tui.Task
		want string
	}{
		"with the files": {tui.Task{Job: jobID, Checkpoint: points[0].ID, RestoreFiles: true, Query: "Back"}, "cannot return to a checkpoint"},
		"without a file": {tui.Task{Job: jobID, Checkpoint: points[0].ID, Attachments: []string{"missing.png"}, Query: "See"}, "missing.png"},
	} {
		var failed error
		for _, err := range other.Run(t.Context(), c.task, &asker{}) {
			failed = err
		}
		if ids := all(); failed == nil || !strings.Contains(failed.Error(), c.want) || len(ids) != 1 {
			t.Errorf("%s: %v; the jobs are %q", name, failed, ids)
		}
	}
	a := &asker{}
	branch, last := do(t, other, tui.Task{Job: jobID, Checkpoint: points[0].ID, Query: "Another way"}, a)
	if _, ok := last.Body.(event.CompleteRun); !ok || branch == jobID {
		t.Errorf("the branch is job %s and ended with %s", branch, last.Type())
	}
	if len(a.told) == 0 || !strings.Contains(a.told[0], branch) {
		t.Errorf("told %q, want the id %s", a.told, branch)
	}
	sealer, err := other.history.Sealer()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.VerifySeals(t.Context(), other.journals, branch, sealer); err != nil {
		t.Errorf("the branch: %v", err)
	}

	if err := os.WriteFile(filepath.Join(p.host.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	select {
	case last := <-rest:
		if _, ok := last.Body.(event.CompleteRun); !ok {
			t.Errorf("the job itself ended with %s", last.Type())
		}
	case <-time.After(time.Minute):
		t.Fatal("the job itself does not end")
	}
}
