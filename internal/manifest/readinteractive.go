package manifest

import (
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
)

func (r *reader) interactiveSkill(t *toml.Table, s *expert.Skill) {
	tools := t.Sub("tools")
	if tools == nil {
		if t.Node.Fields["tools"] == nil {
			r.Missing(t.Node.KeyAt, t.At("tools"), "is required", "declare a tool as ["+t.At("tools")+".<name>]")
		}
		return
	}
	r.AtMost(tools.Node, tools.Path, len(tools.Node.Keys), maxTools, "tools")
	tools.Each(func(name string, entry *toml.Table) {
		if !toolGrammar().MatchString(name) {
			r.Fault(entry.Node.KeyAt, entry.Path, "is not a tool name that providers accept", "use letters, digits, _ and -, at most 64 of them")
		}
		entry.Older = []string{"name"} // the table key counts
		s.Tools = append(s.Tools, expert.InteractiveTool{
			Name:        name,
			Description: entry.Str("description", toml.Length(0, 2048)),
			InputSchema: []byte(entry.Require("inputJsonSchema", "give a JSON Schema as text", toml.Length(1, 20480), jsonObject, argumentSchema)),
		})
		entry.Finish()
	})
}
