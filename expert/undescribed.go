package expert

// Undescribed warns about Experts that others may ask without being told what for: the
// model sees them as tools without a description, and cannot know when to call them.
func (c *Config) Undescribed() (ps Problems) {
	asked := c.askedBy()
	for _, e := range c.Experts {
		if by := asked[e]; by != nil && e.Description == "" {
			p := c.Problem(pathTo("experts", e.Name), "has no description, but "+quote(by.Name)+" delegates to it", "say in one what it is for: the model reads it to know when to ask")
			p.Warning = true
			ps = append(ps, p)
		}
	}
	return ps
}
