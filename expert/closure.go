package expert

// Closure returns the Expert and all that it can reach by delegation, each once, the
// Expert first. Keys that the file does not have are in missing.
//
// Delegates follow in the order of the file, those of e before those of its delegates.
// Experts that delegate to each other are no mistake, so circles end here.
func (c *Config) Closure(e *Expert) (experts []*Expert, missing []string) {
	all := c.index()
	experts = []*Expert{e}
	reached, absent := map[*Expert]bool{e: true}, map[string]bool{}
	for i := 0; i < len(experts); i++ {
		for _, key := range experts[i].Delegates {
			found, ok := all.find(key)
			switch {
			case !ok:
				if !absent[key] {
					absent[key] = true
					missing = append(missing, key)
				}
			case !reached[found]:
				reached[found] = true
				experts = append(experts, found)
			}
		}
	}
	return experts, missing
}

// index has the Experts of a file by name. A file may have a thousand of them and many
// delegates: looking each up in the list would take long.
type index map[string]*Expert

func (c *Config) index() index {
	all := make(index, len(c.Experts))
	for _, e := range c.Experts {
		all[e.Name] = e
	}
	return all
}

// find is Config.Lookup.
func (all index) find(key string) (*Expert, bool) {
	name, version := meant(key)
	e, ok := all[name]
	if !ok || version != "" && e.Version != version {
		return nil, false
	}
	return e, true
}
