package egress

import (
	"fmt"
	"strings"
)

// An Allowlist says which names may be reached. The zero value allows none.
//
// Private names (localhost, single labels, .local, .internal) may be on a list, as they
// may be in perstack.toml, but lead nowhere: [Proxy] refuses every host that is not
// public, whatever the list says.
type Allowlist struct {
	names  map[string]bool
	parent map[string]bool // x.example for *.x.example
}

// ParseAllowlist reads names, and *.names for all that is below a name: *.example.com
// allows a.example.com and a.b.example.com, and neither example.com nor evilexample.com.
func ParseAllowlist(patterns []string) (Allowlist, error) {
	list := Allowlist{names: map[string]bool{}, parent: map[string]bool{}}
	for _, pattern := range patterns {
		name, wild := strings.CutPrefix(pattern, "*.")
		host, err := ParseHost(name)
		if err != nil {
			return Allowlist{}, fmt.Errorf("%q cannot be allowed: %w; write api.example.com or *.example.com", pattern, err)
		}
		if wild {
			list.parent[host] = true
		} else {
			list.names[host] = true
		}
	}
	return list, nil
}

// Allows reports whether a name in its one spelling, as [ParseHost] returns it, may be
// reached.
func (l Allowlist) Allows(host string) bool {
	if l.names[host] {
		return true
	}
	for {
		_, above, more := strings.Cut(host, ".")
		if !more {
			return false
		}
		if l.parent[above] {
			return true
		}
		host = above
	}
}
