package expert

import (
	"slices"
	"strings"
)

// Lookup finds the Expert among all that key names: one with exactly this name, or one
// with this name and version if the key has a version. Tags belong to the registry: no
// Expert of a file has one.
func Lookup(all []*Expert, key string) (*Expert, bool) {
	for _, e := range all {
		if rest, ok := strings.CutPrefix(key, e.Name); ok && (rest == "" || rest == "@"+e.Version) {
			return e, true
		}
	}
	return nil, false
}

// NewIndex returns the Experts by the keys with which [Lookup] finds them. A file may have a thousand
// of them and many delegates: looking each up in the list would take long.
func NewIndex(all []*Expert) map[string]*Expert {
	index := make(map[string]*Expert, 2*len(all))
	for _, e := range slices.Backward(all) { // the first of a name counts
		index[e.Name], index[e.Name+"@"+e.Version] = e, e
	}
	return index
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
