package llm

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
)

// A call is a tool call. One without an id gets it from its place when it is played.
type call struct {
	id, tool, args string
}

// calls checks the calls of a turn and encodes their arguments. Two may have the same
// id, and a name may be unknown: that is what a test may want.
func calls(tables []callTable) ([]call, error) {
	var out []call
	for i, t := range tables {
		c := call{id: t.ID, tool: t.Tool, args: "{}"}
		switch {
		case t.Tool == "":
			return nil, fmt.Errorf("call number %d has no tool", i+1)
		case t.Args != nil && t.ArgsText != nil, t.Depth != 0 && (t.Args != nil || t.ArgsText != nil):
			return nil, fmt.Errorf("the call of %s may have one of args, argsText and depth", t.Tool)
		case t.Depth < 0 || t.Depth > maxNesting:
			return nil, fmt.Errorf("the call of %s has the depth %d; the most is %d", t.Tool, t.Depth, maxNesting)
		case t.ArgsText != nil:
			c.args = *t.ArgsText
		case t.Depth > 0:
			c.args = `{"deep":` + nested(t.Depth) + "}"
		case t.Args != nil:
			args, err := json.Marshal(t.Args, json.Deterministic(true))
			if err != nil {
				return nil, fmt.Errorf("the call of %s: %w", t.Tool, err)
			}
			c.args = string(args)
		}
		out = append(out, c)
	}
	return out, nil
}

// nested is a list in a list in a list.
func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}
