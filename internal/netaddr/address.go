// Package netaddr classifies host names, addresses and URLs as they are written: public,
// of this machine, private, or none at all.
//
// It looks nothing up and dials nothing: a name that resolves to a private address is
// caught by internal/egress, which decides on addresses with the same table. Start reading
// at [HostReach].
package netaddr

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Reach says from where a host can be reached.
type Reach int

// What can be said of a host or an address.
const (
	NoHost   Reach = iota // it is no host or address at all
	Public                // anywhere, as far as the text tells
	Loopback              // this machine only
	Private               // this network only, or nowhere
)

// notPublic are the address blocks that no public server has. Addresses inside
// IPv4-mapped IPv6 are unmapped before the look-up; ::/96 holds the older
// embedding of IPv4, and the unspecified address. Those of the last line are ordinary
// addresses, at which clouds serve their own machines: the platform of Azure, which hands out
// certificates and settings, and the service networks of IBM. The other clouds use blocks that
// are private anyway.
var notPublic = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/96", "fe80::/10", "fec0::/10", "fc00::/7", "ff00::/8", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16",
	"168.63.129.16/32", "161.26.0.0/16", "166.8.0.0/14",
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, s := range texts {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// publicIPv6 is the only part of IPv6 from which public addresses were given out.
var publicIPv6 = netip.MustParsePrefix("2000::/3")

// NotPublic returns the blocks of all addresses that [AddrReach] does not call public,
// none inside another: for programs that have to be told the table. IPv4 that is mapped
// into IPv6 is in none of the blocks of IPv6: the caller unmaps first.
func NotPublic() []netip.Prefix {
	mapped := netip.MustParsePrefix("::ffff:0:0/96")
	blocks := without(netip.MustParsePrefix("::/0"), publicIPv6, mapped)
	for _, p := range notPublic {
		if p.Addr().Is4() || publicIPv6.Overlaps(p) {
			blocks = append(blocks, p)
		}
	}
	return blocks
}

// without returns what is left of a block when holes are cut out of it.
func without(block netip.Prefix, holes ...netip.Prefix) []netip.Prefix {
	whole := true
	for _, hole := range holes {
		switch {
		case hole.Contains(block.Addr()) && hole.Bits() <= block.Bits():
			return nil
		case hole.Overlaps(block):
			whole = false
		}
	}
	if whole {
		return []netip.Prefix{block}
	}
	lower := netip.PrefixFrom(block.Addr(), block.Bits()+1)
	half := block.Addr().As16()
	half[block.Bits()/8] |= 0x80 >> (block.Bits() % 8)
	upper := netip.PrefixFrom(netip.AddrFrom16(half), block.Bits()+1)
	return append(without(lower, holes...), without(upper, holes...)...)
}

// HostReach judges a host as url.Hostname returns it, in whatever notation. A
// name is judged by its text alone: nothing is looked up.
func HostReach(host string) Reach {
	host = strings.ToLower(strings.TrimRight(host, "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		return AddrReach(addr)
	}
	if host == "" || strings.ContainsFunc(host, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	}) {
		return NoHost // also full-width digits, which some programs read as digits
	}
	labels := strings.Split(host, ".")
	if slices.Contains(labels, "") {
		return NoHost
	}
	last := labels[len(labels)-1]
	if _, ok := legacyNumber(last); ok || strings.HasPrefix(last, "0x") || strings.Trim(last, "0123456789") == "" {
		addr, ok := legacyIPv4(labels)
		if !ok {
			return NoHost
		}
		return AddrReach(addr)
	}
	switch {
	case last == "localhost", host == "localhost.localdomain":
		return Loopback
	case len(labels) == 1, last == "local", last == "internal", last == "lan", last == "localdomain",
		strings.HasSuffix(host, ".home.arpa"):
		return Private
	}
	return Public
}

// AddrReach judges an address, whatever it is wrapped in.
func AddrReach(addr netip.Addr) Reach {
	if !addr.IsValid() {
		return NoHost
	}
	addr = addr.Unmap().WithZone("")
	switch {
	case addr.IsLoopback():
		return Loopback
	case addr.Is6() && !publicIPv6.Contains(addr):
		return Private
	}
	for _, p := range notPublic {
		if p.Contains(addr) {
			return Private
		}
	}
	return Public
}

// legacyIPv4 reads the notations that C libraries and browsers accept: one to
// four parts, each decimal, octal or hexadecimal, the last filling the rest.
func legacyIPv4(labels []string) (netip.Addr, bool) {
	if len(labels) > 4 {
		return netip.Addr{}, false
	}
	var addr uint64
	for i, l := range labels {
		bits := 8
		if i == len(labels)-1 {
			bits = 8 * (5 - len(labels))
		}
		n, ok := legacyNumber(l)
		if !ok || n >= 1<<bits {
			return netip.Addr{}, false
		}
		addr = addr<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(addr >> 24), byte(addr >> 16), byte(addr >> 8), byte(addr)}), true
}

func legacyNumber(s string) (uint64, bool) {
	base, digits := 10, s
	switch {
	case strings.HasPrefix(s, "0x"):
		base, digits = 16, s[2:]
		if digits == "" {
			return 0, true // browsers read a bare 0x as 0
		}
	case len(s) > 1 && s[0] == '0':
		base, digits = 8, s[1:]
	}
	n, err := strconv.ParseUint(digits, base, 64)
	return n, err == nil
}
