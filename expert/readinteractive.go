package expert

func (r *reader) interactiveSkill(t *table, s *Skill) {
	tools := t.sub("tools")
	if tools == nil {
		if t.n.fields["tools"] == nil {
			r.missing(t.n.keyAt, t.at("tools"), "is required", "declare a tool as ["+t.at("tools")+".<name>]")
		}
		return
	}
	r.atMost(tools.n, tools.path, len(tools.n.keys), maxTools, "tools")
	tools.each(func(name string, entry *table) {
		if !toolGrammar().MatchString(name) {
			r.fault(entry.n.keyAt, entry.path, "is not a tool name that providers accept", "use letters, digits, _ and -, at most 64 of them")
		}
		entry.older = []string{"name"} // the table key counts
		s.Tools = append(s.Tools, InteractiveTool{
			Name:        name,
			Description: entry.str("description", length(0, 2048)),
			InputSchema: []byte(entry.require("inputJsonSchema", "give a JSON Schema as text", length(1, 20480), jsonObject, argumentSchema)),
		})
		entry.finish()
	})
}
