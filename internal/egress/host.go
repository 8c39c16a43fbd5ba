package egress

import (
	"errors"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/internal/netaddr"
)

// Limits of the DNS.
const (
	maxName  = 253
	maxLabel = 63
)

// ParseHost is the only parser of host names of the proxy. It returns the canonical
// spelling of a name: lower case, without the trailing dot. The names of a list, of a
// request and of a TLS hello are compared in this form only.
//
// A name is one that people give to servers: labels of letters, digits and hyphens. The
// underscore is refused, because certificates have none. So are:
//
//   - addresses in every notation, also those that only C libraries understand: the last
//     label of a name begins with a letter, and no address ends so;
//   - punycode (xn--) and everything that is not ASCII, because such a name can look like
//     another one, and because no list may hold it;
//   - what does not belong to a name: user, port, brackets, percent signs, blanks, control
//     characters, empty labels.
//
// A private name such as localhost is a valid name. It is refused when it is looked up.
func ParseHost(text string) (string, error) {
	name := strings.TrimSuffix(text, ".")
	switch {
	case name == "":
		return "", errors.New("there is no host name")
	case len(name) > maxName:
		return "", errors.New("the host name is too long: 253 characters are the most")
	}
	// Byte by byte, without the case mapping of Unicode: some letters outside of ASCII have
	// an ASCII letter as their lower case.
	folded := make([]byte, len(name))
	start := 0
	for i := range len(name) {
		c := name[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-':
		case c == '.':
			if err := checkLabel(folded[start:i]); err != nil {
				return "", err
			}
			start = i + 1
		case c == ':' || c == '[' || c == ']':
			return "", errors.New("addresses and ports are no host name")
		default:
			return "", errors.New("a host name has letters, digits, hyphens and dots only")
		}
		folded[i] = c
	}
	last := folded[start:]
	if err := checkLabel(last); err != nil {
		return "", err
	}
	if last[0] < 'a' || last[0] > 'z' {
		return "", errors.New("addresses are no host name: the last part of a name begins with a letter")
	}
	return string(folded), nil
}

func checkLabel(label []byte) error {
	switch {
	case len(label) == 0:
		return errors.New("a part of the host name is empty")
	case len(label) > maxLabel:
		return errors.New("a part of the host name is too long: 63 characters are the most")
	case label[0] == '-' || label[len(label)-1] == '-':
		return errors.New("a part of the host name begins or ends with a hyphen")
	case len(label) >= 4 && string(label[:4]) == "xn--":
		return errors.New("punycode names (xn--) are not allowed: they can look like another name")
	}
	return nil
}

// An Allowlist says which names may be reached. The zero value allows none.
//
// Private names (localhost, single labels, .local, .internal) may be on a list, as in
// perstack.toml, but cannot be reached: [Proxy] refuses every host that is not public.
type Allowlist struct {
	names  map[string]bool
	parent map[string]bool // x.example for *.x.example
}

// ParseAllowlist reads names, and *.names for all that is below a name: *.example.com
// allows a.example.com and a.b.example.com, and neither example.com nor evilexample.com. It
// refuses public suffixes, such as *.com.
func ParseAllowlist(patterns []string) (Allowlist, error) {
	list := Allowlist{names: map[string]bool{}, parent: map[string]bool{}}
	for _, pattern := range patterns {
		name, wild := strings.CutPrefix(pattern, "*.")
		host, err := ParseHost(name)
		if err == nil && wild {
			err = netaddr.CheckWildcard(host)
		}
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

// Allows reports whether a name, as [ParseHost] returns it, may be reached.
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
