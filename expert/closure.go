package expert

// Closure returns the Expert and all that it can reach by delegation, each once, the
// Expert first. Keys that the file does not have are in missing.
//
// Delegates follow in the order of the file, those of e before those of its delegates.
// Experts that delegate to each other are no mistake, so circles end here.
func (c *Config) Closure(e *Expert) (experts []*Expert, missing []string) {
	// A file may have a thousand Experts and many delegates: looking each up in the list
	// would take long.
	byName := make(map[string]*Expert, len(c.Experts))
	for _, other := range c.Experts {
		byName[other.Name] = other
	}
	experts = []*Expert{e}
	reached, absent := map[*Expert]bool{e: true}, map[string]bool{}
	for i := 0; i < len(experts); i++ {
		for _, key := range experts[i].Delegates {
			name, version := meant(key)
			found := byName[name]
			switch {
			case found == nil || version != "" && found.Version != version:
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
