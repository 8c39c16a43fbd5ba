package expert

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// This file judges URLs as they are written. It is the early, lexical half of
// a promise: a name that resolves to a private address is caught when it is
// dialled, by internal/egress, which decides on addresses.

// reach says from where a host can be reached.
type reach int

const (
	invalid  reach = iota
	public         // anywhere, as far as the text tells
	loopback       // this machine only
	private        // this network only, or nowhere
)

// notPublic are the address blocks that no public server has. Addresses inside
// IPv4-mapped IPv6 are unmapped before the look-up; ::/96 holds the older
// embedding of IPv4, and the unspecified address.
var notPublic = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/96", "fe80::/10", "fec0::/10", "fc00::/7", "ff00::/8", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16",
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, s := range texts {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// classify judges a host as url.Hostname returns it, in whatever notation.
func classify(host string) reach {
	host = strings.ToLower(strings.TrimRight(host, "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		return classifyAddr(addr)
	}
	if host == "" || strings.ContainsFunc(host, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	}) {
		return invalid // also full-width digits, which some programs read as digits
	}
	labels := strings.Split(host, ".")
	if slices.Contains(labels, "") {
		return invalid
	}
	last := labels[len(labels)-1]
	if _, ok := legacyNumber(last); ok || strings.HasPrefix(last, "0x") || strings.Trim(last, "0123456789") == "" {
		addr, ok := legacyIPv4(labels)
		if !ok {
			return invalid
		}
		return classifyAddr(addr)
	}
	switch {
	case last == "localhost", host == "localhost.localdomain":
		return loopback
	case len(labels) == 1, last == "local", last == "internal", last == "lan", last == "localdomain",
		strings.HasSuffix(host, ".home.arpa"):
		return private
	}
	return public
}

func classifyAddr(addr netip.Addr) reach {
	addr = addr.Unmap().WithZone("")
	if addr.IsLoopback() {
		return loopback
	}
	for _, p := range notPublic {
		if p.Contains(addr) {
			return private
		}
	}
	return public
}

// legacyIPv4 reads the notations that C libraries and browsers accept: one to
// four parts, each decimal, octal or hexadecimal, the last filling the rest.
func legacyIPv4(labels []string) (netip.Addr, bool) {
	if len(labels) > 4 {
		return netip.Addr{}, false
	}
	var addr uint64
	for i, l := range labels {
		n, ok := legacyNumber(l)
		limit := uint64(1) << 8
		if i == len(labels)-1 {
			limit = 1 << (8 * (5 - len(labels)))
		}
		if !ok || n >= limit {
			return netip.Addr{}, false
		}
		if i == len(labels)-1 {
			addr = addr<<(8*(5-len(labels))) | n
		} else {
			addr = addr<<8 | n
		}
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

// splitURL reads a web address. The message says what is wrong with it; the
// text itself is not repeated, since it may hold a password.
func splitURL(s string) (u *url.URL, host reach, message, hint string) {
	const example = "write it like https://host.example/path"
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Opaque != "" || u.Host == "" || strings.Contains(s, `\`):
		return nil, invalid, "is not a URL", example
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, invalid, "must use https", example
	case u.User != nil:
		return nil, invalid, "must not contain a user name or password", "use headers or environment variables for keys"
	}
	host = classify(u.Hostname())
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			host = invalid
		}
	}
	if host == invalid {
		return nil, invalid, "has no valid host", example
	}
	return u, host, "", ""
}

// baseURL is the rule for addresses of providers: https, or plain http to this
// machine, where local gateways and ollama listen.
func baseURL(allowPrivate bool) rule {
	return func(s string) (string, string) {
		u, host, message, hint := splitURL(s)
		switch {
		case message != "":
			return message, hint
		case u.Scheme == "http" && host != loopback:
			return "must use https", "plain http is accepted for localhost only"
		case host == private && !allowPrivate:
			return "is a private address", "set allowPrivateEndpoint = true beside it if that is what you want"
		}
		return "", ""
	}
}

// registryURL is the rule for perstackApiBaseUrl, to which keys are sent.
func registryURL(s string) (string, string) {
	u, _, message, hint := splitURL(s)
	if message == "" && u.Scheme != "https" {
		return "must use https", "write it like https://registry.example"
	}
	return message, hint
}

// endpointURL is the rule for remote skills, whose URL may come from a stranger.
func endpointURL(allowPrivate bool) rule {
	return func(s string) (string, string) {
		u, host, message, hint := splitURL(s)
		switch {
		case message != "":
			return "must be a public HTTPS URL: it " + message, hint
		case host != public && !allowPrivate:
			return "must be a public HTTPS URL: its host is private", "set allowPrivateEndpoint = true in the skill if the server is yours"
		case u.Scheme == "http" && host != loopback:
			return "must be a public HTTPS URL: it uses plain http", "plain http is accepted for localhost only, with allowPrivateEndpoint = true"
		}
		return "", ""
	}
}
