package engine

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
)

// A container cannot have another thing written about its walls than what was chosen, by
// leaving it out or by making it up: each of them decides how the job is held the next time.
func TestWallsCannotBeForged(t *testing.T) {
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
			at.Set(reflect.ValueOf(v)) // nobody chose it
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
