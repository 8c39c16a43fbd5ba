package script

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
)

// calls checks the calls of a turn and encodes their arguments. Two may have the same
// id, and a name may be unknown: that is what a test may want.
func calls(tables []callTable) ([]Call, error) {
	var out []Call
	for i, t := range tables {
		c := Call{ID: t.ID, Tool: t.Tool, Args: "{}", Reasoning: t.Reasoning}
		switch {
		case t.Tool == "":
			return nil, fmt.Errorf("call number %d has no tool", i+1)
		case t.Args != nil && t.ArgsText != nil, t.Depth != 0 && (t.Args != nil || t.ArgsText != nil):
			return nil, fmt.Errorf("the call of %s may have one of args, argsText and depth", t.Tool)
		case t.Depth < 0 || t.Depth > maxNesting:
			return nil, fmt.Errorf("the call of %s has the depth %d; the most is %d", t.Tool, t.Depth, maxNesting)
		case t.ArgsText != nil:
			c.Args = *t.ArgsText
		case t.Depth > 0:
			c.Args = `{"deep":` + Nested(t.Depth) + "}"
		case t.Args != nil:
			args, err := json.Marshal(t.Args, json.Deterministic(true))
			if err != nil {
				return nil, fmt.Errorf("the call of %s: %w", t.Tool, err)
			}
			c.Args = string(args)
		}
		signature, err := seal(t.Reasoning, t.Signature)
		if err != nil {
			return nil, fmt.Errorf("the call of %s: %w", t.Tool, err)
		}
		c.Signature = signature
		out = append(out, c)
	}
	return out, nil
}

// Nested is a list in a list in a list.
func Nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}
