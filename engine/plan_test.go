package engine

import (
	"errors"
	"slices"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

// checkBranch checks that the newest run did not change the Runs before it.
func (b *bench) checkBranch(before []string) {
	b.t.Helper()
	for _, e := range b.events {
		if !e.IsRuntime() && slices.Contains(before, e.RunID) {
			b.t.Errorf("%s of the old run %s", e.Type(), e.RunID)
			return
		}
	}
}

// told returns what a request says before its last message, by call.
func (b *bench) told(request int) (texts []string) {
	messages := b.script.requests[request].Messages
	for _, p := range messages[len(messages)-2].Contents {
		texts = append(texts, event.FirstText(p.Contents))
	}
	return texts
}

// A Run that was resumed from a checkpoint is not resumed from there again: a new Run is made.
func TestEarlierCheckpointIsABranch(t *testing.T) {
	b := newBench(t, does("read"), does("act"), says("done"))
	first := b.must(job.Input{Query: "go"})
	ids := b.runIDs()
	r := b.must(job.Input{Continue: true, From: b.point("writer", "continueToNextStep", 0).State.CheckpointID})
	if r.RunID == first.RunID || r.Text != "done" {
		t.Errorf("%+v after %+v", r, first)
	}
	b.checkBranch(ids)
	b.checkJournal()
	b.checkFold()
}

// A delegate that its parent waits for keeps its Run only if it resumes where it stopped and
// without a query. Otherwise it becomes a branch.
func TestBranchOfAPendingDelegate(t *testing.T) {
	tests := []struct {
		name  string
		kind  event.Type
		query string
		said  string // by the last message that the helper gets first
	}{
		{"a query", "stopRunByInterrupt", "and more?", "and more?"},
		{"an earlier checkpoint", "continueToNextStep", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newTeam(t, map[string][]turn{
				"writer": {does(`helper {"query":"help"}`), says("done")},
				"helper": {does("read"), does("wait"), says("helped")},
			})
			b.interrupted(job.Input{Query: "go"})
			b.script.team["helper"][1] = does("act")
			ids, asked := b.runIDs(), len(b.script.requests)
			r := b.must(job.Input{Continue: true, From: b.point("helper", tt.kind, 0).State.CheckpointID, Query: tt.query})
			if r.Text != "done" {
				t.Errorf("%+v", r)
			}
			b.checkBranch(ids)
			first := b.script.requests[asked]
			if said := first.Messages[len(first.Messages)-1].Text(); first.Expert != "helper" || said != tt.said {
				t.Errorf("%s continues with %q", first.Expert, said)
			}
			b.checkFold()
			b.checkTree()
		})
	}
}

// If the parent has a delegate's answer and waits only for others, a checkpoint of that
// delegate starts a branch.
func TestBranchOfAFinishedDelegate(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`helper {"query":"help"}`, `other {"query":"too"}`), says("done")},
		"helper": {turn{fail: []error{errors.New("on strike")}}},
		"other":  {does("wait"), says("otherwise")},
	})
	b.interrupted(job.Input{Query: "go"})
	b.script.team["helper"], b.script.team["other"][0] = []turn{says("helped")}, does("act")
	ids := b.runIDs()
	b.must(job.Input{Continue: true, From: b.point("helper", "stopRunByError", 0).State.CheckpointID})
	b.checkBranch(ids)
	if got := b.answers(len(b.script.requests) - 1); !slices.Equal(got, []string{"c1 helped", "c2 otherwise"}) {
		t.Errorf("the coordinator is told %q", got)
	}
	b.checkFold()
	b.checkTree()
}

// A new query for a job that was killed goes to the coordinator, whichever Run was active. The
// answers that delegates had given are not lost.
func TestQueryAfterADelegateWasKilled(t *testing.T) {
	for kind, want := range map[event.Type]string{"callTools": delegateSkipped, "completeRun": "helped"} {
		t.Run(string(kind), func(t *testing.T) {
			b := newTeam(t, map[string][]turn{
				"writer": {does(`helper {"query":"help"}`), says("done")}, "helper": {does("read"), says("helped")},
			})
			b.killedAfter("helper", kind, job.Input{Query: "go"})
			asked := len(b.script.requests)
			if r := b.must(job.Input{Continue: true, Query: "never mind"}); r.Text != "done" {
				t.Errorf("%+v", r)
			}
			first := b.script.requests[asked]
			if said := first.Messages[len(first.Messages)-1].Text(); first.Expert != "writer" || said != "never mind" {
				t.Errorf("%s is asked %q", first.Expert, said)
			}
			if got := b.told(asked); !slices.Equal(got, []string{want}) {
				t.Errorf("the coordinator is told %q, want %q", got, want)
			}
			// The answers are in the conversation, so they are not given again.
			if answers := last[event.StartRun](b).Answers; len(answers) > 0 {
				t.Errorf("answers %+v", answers)
			}
			b.checkFold()
		})
	}
}

// The address of the checkpoint of a crashed Run is the record that closes it.
func TestStartingPointAfterACrash(t *testing.T) {
	b := newBench(t, does("read"), says("done"))
	b.killedAfter("writer", "callTools", job.Input{Query: "go"})
	b.must(job.Input{Continue: true})
	var closed int64
	for r, err := range b.store.Read(t.Context(), "job", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if stop, ok := r.Event.Body.(event.StopRunByInterrupt); ok && stop.Reason == crashed {
			closed = r.Seq
		}
	}
	if from := last[event.StartRun](b).From; closed == 0 || from.Seq != closed {
		t.Errorf("from record %d, closed by record %d", from.Seq, closed)
	}
}

// A step that only finishes open calls counts as a step.
func TestStepsOfAResumedRun(t *testing.T) {
	b := newBench(t, does("wait"), says("done"))
	b.maxSteps = 2
	b.interrupted(job.Input{Query: "go"})
	r := b.must(job.Input{Continue: true})
	if r.Status != event.StatusStoppedByExceededMaxSteps || r.TotalSteps != 2 || len(b.script.requests) != 1 {
		t.Errorf("%+v after %d requests: %s", r, len(b.script.requests), b.trace())
	}
}
