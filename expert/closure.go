package expert

import (
	"slices"
	"strings"
)

// Lookup finds the Expert among all that key names: the one that has it as its key, else one
// with exactly this name, or one with this name and version if the key has a version. Tags belong
// to the registry: no Expert has one.
func Lookup(all []*Expert, key string) (*Expert, bool) {
	for _, e := range all {
		if e.Key == key {
			return e, true
		}
	}
	for _, e := range all {
		if rest, ok := strings.CutPrefix(key, e.Name); ok && (rest == "" || rest == "@"+e.Version) {
			return e, true
		}
	}
	return nil, false
}

// An Index has Experts by the keys with which [Lookup] finds them. A file may have a thousand of them
// and many delegates: looking each up in the list would take long.
type Index map[string]*Expert

// NewIndex returns the index of Experts.
func NewIndex(all []*Expert) Index {
	index := make(Index, 2*len(all))
	for _, e := range slices.Backward(all) { // the first of a name counts
		index[e.Name], index[e.Name+"@"+e.Version] = e, e
	}
	for _, e := range slices.Backward(all) { // two versions of a published Expert have one name
		index[e.Key] = e
	}
	return index
}

// Closure is [Index.Closure] for Experts that have no index.
func Closure(all []*Expert, e *Expert) (experts []*Expert, missing []string) {
	return NewIndex(all).Closure(e)
}

// Closure returns the Expert and all that it can reach by delegation, each once, the Expert
// first. Keys that the index does not have are in missing.
//
// Delegates follow in the order in which they are named, those of e before those of its
// delegates. Experts that delegate to each other are no mistake, so circles end here.
func (index Index) Closure(e *Expert) (experts []*Expert, missing []string) {
	experts = []*Expert{e}
	reached, absent := map[*Expert]bool{e: true}, map[string]bool{}
	for i := 0; i < len(experts); i++ {
		for _, key := range experts[i].Delegates {
			found := index[key]
			switch {
			case found == nil:
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
