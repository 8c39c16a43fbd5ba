package engine

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// A container cannot record another Spec than the job has, neither by leaving it out nor by
// changing it nor by saying it twice: a job that is continued takes its settings from there.
func TestSpecCannotBeForged(t *testing.T) {
	text := `{"expert":"writer","isolation":{"sandbox":true}}`
	f := &Follower{runID: "run", specText: []byte(text), started: make(map[string]bool)}
	f.spec.Experts = []*expert.Expert{{Key: "writer", Name: "writer"}}
	writer := event.ExpertRef{Key: "writer"}
	for name, c := range map[string]struct {
		runID, spec string
		want        bool
	}{
		"as it is":                {"run", text, true},
		"left out":                {"run", "", false},
		"another value":           {"run", strings.Replace(text, "true", "false", 1), false},
		"a member less":           {"run", `{"expert":"writer"}`, false},
		"a member more":           {"run", strings.Replace(text, "{", `{"later":1,`, 1), false},
		"a delegate without one":  {"child", "", true},
		"a delegate that has one": {"child", text, false},
	} {
		if got := f.matches(c.runID, event.StartRun{Expert: writer, Spec: []byte(c.spec)}); got != c.want {
			t.Errorf("%s: accepted is %t", name, got)
		}
	}
	f.spec.Input.TrustHistory = true
	for _, trusted := range []bool{true, false} {
		if got := f.matches("run", event.StartRun{Expert: writer, Spec: []byte(text), TrustedHistory: trusted}); got != trusted {
			t.Errorf("a start that says %t about a history that the user trusts: accepted is %t", trusted, got)
		}
	}
	f.started["run"] = false // it has ended, and is resumed
	if f.matches("run", event.StartRun{Expert: writer, Spec: []byte(text)}) {
		t.Error("a Spec is recorded when the coordinator resumes after its delegates")
	}
	if !f.matches("run", event.StartRun{Expert: writer}) {
		t.Error("the coordinator cannot resume after its delegates")
	}
	if f.matches("child", event.StartRun{Expert: event.ExpertRef{Key: "stranger"}}) {
		t.Error("an Expert that the job does not have is accepted")
	}
	f.spec.Provider = "anthropic"
	if f.matches("run", event.StartRun{Expert: writer}) {
		t.Error("another provider is accepted")
	}
	f.spec.Experts = []*expert.Expert{{Key: "own", Name: "own", Model: "small", Provider: &expert.Provider{Name: "openai"}}}
	own := event.StartRun{Expert: event.ExpertRef{Key: "own"}, Provider: "openai", Model: "small"}
	if !f.matches("child", own) {
		t.Error("the model of an Expert is refused")
	}
	if own.Provider = "anthropic"; f.matches("child", own) {
		t.Error("an Expert with its own provider starts with that of the job")
	}
}

// The Spec of a job is in its journal. A job that is continued finds that of its newest
// start, or that of the checkpoint it starts from.
func TestSpecIsRecorded(t *testing.T) {
	b := newTeam(t, map[string][]turn{"writer": {does(`helper {"query":"help"}`), says("done"), says("more"), says("bare")}, "helper": {says("here")}})
	strict := job.Isolation{Env: []string{"A", "B"}, Container: job.Container{ReadOnlyWorkspace: true, BaseImage: "tools:1"}}
	b.runtime, b.isolation = "docker", strict
	first := b.must(job.Input{Query: "go"})
	var starts, specs int
	for _, r := range b.written() {
		if body, ok := r.Event.Body.(event.StartRun); ok {
			starts++
			if len(body.Spec) > 0 {
				specs++
			}
		}
	}
	if starts != 3 || specs != 1 {
		t.Errorf("%d starts with %d Specs; of the coordinator, of its delegate and when it resumes, the first alone has it", starts, specs)
	}
	recorded := func(checkpointID string) job.Spec {
		t.Helper()
		h := b.load(b.store)
		point, ok := h.Origin(checkpointID)
		if !ok {
			t.Fatalf("no checkpoint %q", checkpointID)
		}
		spec, err := h.Spec(point)
		if err != nil {
			t.Fatal(err)
		}
		return spec
	}
	if d := cmp.Diff(strict, recorded("").Isolation); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	b.isolation = job.Isolation{Container: job.Container{BaseImage: "tools:2"}}
	b.must(job.Input{Query: "on", Continue: true})
	if d := cmp.Diff(b.isolation, recorded("").Isolation); d != "" {
		t.Errorf("after the resume (-want +got)\n%s", d)
	}
	if d := cmp.Diff(strict, recorded(first.CheckpointID).Isolation); d != "" {
		t.Errorf("at the first checkpoint (-want +got)\n%s", d)
	}
	if got := recorded("").Input; !reflect.DeepEqual(got, job.Input{}) {
		t.Errorf("the input is recorded twice: %+v", got)
	}
}
