package expert

// Servers are the MCP servers of the Expert: what is started or reached for it, and what
// a lockfile pins. The built-in base skill is part of this program and none of them.
func (e *Expert) Servers() []*Skill {
	var servers []*Skill
	for _, s := range e.Skills {
		if s.Type != InteractiveSkill && !s.BuiltIn {
			servers = append(servers, s)
		}
	}
	return servers
}
