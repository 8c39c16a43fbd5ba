package expert

// Lookup finds the Expert among all that key names: one with exactly this name, or one
// with this name and version if the key has a version.
func Lookup(all []*Expert, key string) (*Expert, bool) {
	name, version := keyParts(key)
	for _, e := range all {
		if e.Name == name && (version == "" || e.Version == version) {
			return e, true
		}
	}
	return nil, false
}

// Closure returns the Expert and all that it can reach by delegation among all, each once,
// the Expert first. Keys that all does not have are in missing.
//
// Delegates follow in the order of all, those of e before those of its delegates.
// Experts that delegate to each other are no mistake, so circles end here.
func Closure(all []*Expert, e *Expert) (experts []*Expert, missing []string) {
	index := NewIndex(all)
	experts = []*Expert{e}
	reached, absent := map[*Expert]bool{e: true}, map[string]bool{}
	for i := 0; i < len(experts); i++ {
		for _, key := range experts[i].Delegates {
			found, ok := index.Lookup(key)
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

// An Index has Experts by name. A file may have a thousand of them and many
// delegates: looking each up in the list would take long.
type Index map[string]*Expert

// NewIndex makes the index of all.
func NewIndex(all []*Expert) Index {
	index := make(Index, len(all))
	for _, e := range all {
		index[e.Name] = e
	}
	return index
}

// Lookup is the function Lookup.
func (index Index) Lookup(key string) (*Expert, bool) {
	name, version := keyParts(key)
	e, ok := index[name]
	if !ok || version != "" && e.Version != version {
		return nil, false
	}
	return e, true
}

// keyParts is the name of the Expert that a key means, and its version, if the key has one.
// Tags belong to the registry: no Expert of a file has one.
func keyParts(key string) (name, version string) {
	if k, err := ParseKey(key); err == nil && k.Version != "" {
		return k.Name, k.Version
	}
	return key, ""
}
