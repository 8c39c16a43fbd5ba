package lockfile

import (
	"fmt"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/wording"
)

// UnknownTools has a line for each name in pick and omit of s that the skill did not have
// when it was installed. A slip in pick loses a tool; one in omit leaves in what was to go.
func (l *Skill) UnknownTools(s *expert.Skill) (lines []string) {
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
			line := fmt.Sprintf("%s names the tool %s, which the skill does not have", list.key, wording.Quote(name))
			if meant := wording.Nearest(name, known); meant != "" {
				line += "; did you mean " + wording.Quote(meant) + "?"
			}
			lines = append(lines, line)
		}
	}
	return lines
}
