package manifest

import (
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// Unanswerable warns about interactive skills of Experts that others may ask: a delegate
// has nobody to put its question to, so it is not offered these tools. That is no mistake
// of the file, since such an Expert can be run by itself as well.
func (c *Config) Unanswerable() (ps toml.Problems) {
	asked := c.askedBy()
	for _, e := range c.Experts {
		by := asked[e]
		if by == nil {
			continue
		}
		for _, s := range e.Skills {
			if s.Type != expert.InteractiveSkill {
				continue
			}
			path := toml.PathTo(toml.PathTo("experts", e.Name)+".skills", s.Name)
			p := c.Problem(path, "nobody can answer it when "+wording.Quote(by.Name)+" delegates to "+wording.Quote(e.Name)+": a delegate does not get these tools",
				"have "+wording.Quote(by.Name)+" ask, and put the answer into the query")
			p.Warning = true
			ps = append(ps, p)
		}
	}
	return ps
}

// askedBy says of each Expert that others may ask who is the first of them in the file.
func (c *Config) askedBy() map[*expert.Expert]*expert.Expert {
	all, asked := expert.NewIndex(c.Experts), map[*expert.Expert]*expert.Expert{}
	for _, e := range c.Experts {
		for _, key := range e.Delegates {
			if d, ok := all.Lookup(key); ok && asked[d] == nil {
				asked[d] = e
			}
		}
	}
	return asked
}
