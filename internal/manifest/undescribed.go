package manifest

import (
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// Undescribed warns about Experts that others may ask without being told what for: the
// model sees them as tools without a description, and cannot know when to call them.
func (c *Config) Undescribed() (ps toml.Problems) {
	asked := c.askedBy()
	for _, e := range c.Experts {
		if by := asked[e]; by != nil && e.Description == "" {
			p := c.Problem(toml.PathTo("experts", e.Name), "has no description, but "+wording.Quote(by.Name)+" delegates to it", "say in one what it is for: the model reads it to know when to ask")
			p.Warning = true
			ps = append(ps, p)
		}
	}
	return ps
}
