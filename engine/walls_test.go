package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
)

// What was chosen for the container of a job is in its journal, and whoever goes on with
// the job finds what the newest stretch had, or that of the checkpoint.
func TestWallsAreRecorded(t *testing.T) {
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
