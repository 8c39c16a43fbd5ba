package packages

import (
	"maps"
	"strings"
)

// bundled returns the places of what came inside of another package: what that one lists
// as bundled, and what those need in turn, as far as it lies in the same package. It is
// covered by the integrity of the package around it.
func (t *tree) bundled() map[string]bool {
	all := make(map[string]bool)
	for bundler, e := range t.Packages {
		if bundler == "" || len(e.Bundled) == 0 {
			continue
		}
		seen := make(map[string]bool)
		var next []string
		// need finds a name as node does: from a place upwards, here up to the bundler.
		need := func(place, name string) {
			for {
				found := place + "/" + modules + "/" + name
				if t.Packages[found].InBundle {
					if !seen[found] {
						seen[found] = true
						next = append(next, found)
					}
					return
				}
				if place == bundler {
					return
				}
				place = place[:strings.LastIndex(place, "/"+modules+"/")]
			}
		}
		for _, name := range e.Bundled {
			need(bundler, name)
		}
		for len(next) > 0 {
			place := next[0]
			next = next[1:]
			inner := t.Packages[place]
			for _, names := range []map[string]string{inner.Dependencies, inner.OptionalDependencies, inner.PeerDependencies} {
				for name := range names {
					need(place, name)
				}
			}
			for _, name := range inner.Bundled {
				need(place, name)
			}
		}
		maps.Copy(all, seen)
	}
	return all
}
