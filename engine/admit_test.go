package engine

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
)

// A container cannot record other isolation settings than the job has, neither by leaving one
// out nor by adding one: a job that is continued takes its settings from there.
func TestIsolationCannotBeForged(t *testing.T) {
	chosen := event.Walls{ReadOnlyWorkspace: true, BaseImage: "tools:1", Env: []string{"A"}, Sandbox: true, SharedCell: true, Proxy: "squid"}
	values := map[string]any{"Unknown": jsontext.Value(`{"later":1}`)}
	job := Job{Walls: &chosen}
	if !job.matches(event.StartRun{Walls: &chosen}) {
		t.Fatal("what was chosen is refused")
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[event.Walls]()) {
		other := chosen
		at := reflect.ValueOf(&other).Elem().FieldByIndex(field.Index)
		if v, ok := values[field.Name]; ok {
			at.Set(reflect.ValueOf(v)) // a value that the job does not have
		} else if at.IsZero() {
			t.Errorf("this test does not set %s", field.Name)
		} else {
			at.SetZero()
		}
		if job.matches(event.StartRun{Walls: &other}) {
			t.Errorf("another %s passes", field.Name)
		}
		if field.Name != "Unknown" && (Job{Walls: &other}).matches(event.StartRun{Walls: &chosen}) {
			t.Errorf("%s can be made up", field.Name)
		}
	}
	if job.matches(event.StartRun{}) || (Job{}).matches(event.StartRun{Walls: &chosen}) || (Job{}).matches(event.StartRun{Walls: &event.Walls{}}) {
		t.Error("walls come or go")
	}
}

// The isolation settings of a job are in its journal. A job that is continued finds those of
// its newest start, or those at the checkpoint.
func TestIsolationIsRecorded(t *testing.T) {
	b := newTeam(t, map[string][]turn{"writer": {does(`helper {"query":"help"}`), says("done"), says("more"), says("bare")}, "helper": {says("here")}})
	walls := &event.Walls{ReadOnlyWorkspace: true, BaseImage: "tools:1", Env: []string{"A", "B"}}
	b.runtime, b.walls = "docker", walls
	first := b.must(Input{Query: "go"})
	starts := func() (lines []string) {
		for _, r := range b.written() {
			if r.Event.Type() == (event.StartRun{}).Type() {
				lines = append(lines, string(r.Line))
			}
		}
		return lines
	}
	if n := len(starts()); n != 3 {
		t.Errorf("%d starts: of the coordinator, of its delegate and when it goes on", n)
	}
	for _, line := range starts() {
		if !strings.Contains(line, `"walls":{"readOnlyWorkspace":true,"baseImage":"tools:1","env":["A","B"]}`) {
			t.Errorf("%s does not have them", line)
		}
	}
	have := func(want *event.Walls) *History {
		t.Helper()
		h, err := Load(t.Context(), b.store, "job")
		if err != nil {
			t.Fatal(err)
		}
		point, _ := h.Head()
		if d := cmp.Diff(want, point.State.Walls); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		return h
	}
	have(walls)

	other := &event.Walls{BaseImage: "tools:2"}
	b.walls = other
	b.must(Input{Query: "on", Continue: true})
	have(other)
	b.walls = nil
	b.must(Input{Query: "on", Continue: true})
	h := have(nil)
	if point, ok := h.At(first.CheckpointID); !ok || !cmp.Equal(point.State.Walls, walls) {
		t.Errorf("the first stretch had %+v", point.State.Walls)
	}
	if all := starts(); len(all) != 5 || strings.Contains(all[4], "walls") {
		t.Error("what nobody chose is recorded")
	}
}
