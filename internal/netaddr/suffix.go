package netaddr

import (
	"errors"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// errSuffix is for a wildcard that is no restriction: an attacker gets a name below it too.
var errSuffix = errors.New("anybody can have a name below a public suffix, such as com, co.uk or github.io")

// CheckWildcard says what is wrong with *. before a name, in whatever case. Top-level domains
// and other public suffixes are refused, including those of companies that give names to
// their customers. Private names are not, since they cannot be reached.
func CheckWildcard(name string) error {
	name = strings.ToLower(name)
	below := "any." + name // for rules such as *.compute.amazonaws.com
	if HostReach(below) == Public && (isSuffix(name) || isSuffix(below)) {
		return errSuffix
	}
	return nil
}

func isSuffix(name string) bool {
	suffix, _ := publicsuffix.PublicSuffix(name)
	return suffix == name
}
