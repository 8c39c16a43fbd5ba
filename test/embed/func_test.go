package embed

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/skill"
)

type lookup struct {
	Item string `json:"item" minLength:"1" jsonschema:"what to count"`
}

// A Go function becomes a tool. What does not fit its arguments never reaches it, and an
// error of it is for the model.
func TestFunc(t *testing.T) {
	spec := newSpec(t, "How many lamps do we have?")
	play(t, &spec, `
[[turn]]
[[turn.call]]
tool = "count"
args = { item = "" }
[[turn]]
contains = "item"
[[turn.call]]
tool = "count"
args = { item = "stairs" }
[[turn]]
contains = "we do not sell stairs"
[[turn.call]]
tool = "count"
args = { item = "lamps" }
[[turn]]
contains = "7 of lamps"
text = "Seven."
`)
	calls := 0
	count := skill.Func("count", "Counts an item in the warehouse.", func(_ context.Context, args lookup) (string, error) {
		if calls++; args.Item != "lamps" {
			return "", errors.New("we do not sell " + args.Item)
		}
		return fmt.Sprintf("%d of %s", 7, args.Item), nil
	}, skill.ReadOnly)
	text, _ := answer(t, spec, perstack.Parts{Skills: map[string][]skill.Skill{"clerk": {count}}})
	if text != "Seven." || calls != 2 {
		t.Errorf("%q after %d calls", text, calls)
	}
}
