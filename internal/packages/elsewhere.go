package packages

import "errors"

// A dependency can be an address that leads to a registry itself, or to what npm has in its
// cache. It is refused too: what lies there has no version that can be pinned.

var errElsewhere = errors.New("it needs something from an address that is not the registry's, which is refused")

var address = pattern(`(?i)^\s*https?:`)

// needsElsewhere reports whether a package names an address for a dependency.
func (t *tree) needsElsewhere() bool {
	for _, e := range t.Packages {
		for _, all := range []map[string]string{e.Dependencies, e.OptionalDependencies, e.PeerDependencies} {
			for _, version := range all {
				if address().MatchString(version) {
					return true
				}
			}
		}
	}
	return false
}
