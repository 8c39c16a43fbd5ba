package expert

import "fmt"

// UnknownTools has a line for each name in pick and omit of s that the skill did not have
// when it was installed. A slip in pick loses a tool; one in omit leaves in what was to go.
func (l *LockedSkill) UnknownTools(s *Skill) (lines []string) {
	var known []string
	for _, t := range l.Tools {
		known = append(known, t.Name)
	}
	for _, list := range []struct {
		key   string
		names []string
	}{{"pick", s.Pick}, {"omit", s.Omit}} {
		for _, name := range list.names {
			if l.has(name) {
				continue
			}
			line := fmt.Sprintf("%s names the tool %s, which the skill does not have", list.key, quote(name))
			if meant := nearest(name, known); meant != "" {
				line += "; did you mean " + quote(meant) + "?"
			}
			lines = append(lines, line)
		}
	}
	return lines
}
