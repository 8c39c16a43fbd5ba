package outside

import (
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Places are the addresses of the servers.
type Places struct {
	Web     netip.Addr // hosts that somebody may be allowed to reach
	LLMAddr netip.Addr // the model's service
	Relay   netip.Addr // a proxy that others go through, where there is one
	Trap    netip.Addr // where every other name leads: a connection there was not stopped
}

// An answer is what the name server says of a name.
type answer struct {
	alias     string // CNAME that comes first
	addresses []netip.Addr
	none      bool // there is no such name
	delay     time.Duration
}

// The names that the server lies about, beside those of [Places]. A name stands for
// itself and for all below it, so that tests can tell their questions apart.
const (
	OpenZone  = "open.test"  // leads to the web server
	LLMZone   = "llm.test"   // leads to the model's service, as api.anthropic.com does
	RelayZone = "relay.test" // leads to the relay
	Rebind    = "rebind.test"
	Private   = "private.test"
	Metadata  = "metadata.test"
	Mixed     = "mixed.test"
	Many      = "many.test"
	Alias     = "alias.test"
	SixLoop   = "six-loop.test"
	SixLocal  = "six-local.test"
	Mapped    = "mapped.test"
	Shared    = "shared.test"
	Slow      = "slow.test"
	Nowhere   = "nowhere.test"
)

// A liar answers questions. It counts how often a name was asked for.
type liar struct {
	places Places
	mu     sync.Mutex
	asked  map[string]int
}

// find returns what is said of a name. Whether it is the first time is known by those
// who ask for IPv4 addresses: resolvers ask for both kinds at once.
func (l *liar) find(name string, four bool) answer {
	web := l.places.Web
	fixed := func(addresses ...string) answer {
		var a answer
		for _, s := range addresses {
			a.addresses = append(a.addresses, netip.MustParseAddr(s))
		}
		return a
	}
	switch zone(name) {
	case OpenZone:
		return answer{addresses: []netip.Addr{web}}
	case LLMZone, "anthropic.com":
		return answer{addresses: []netip.Addr{l.places.LLMAddr}}
	case RelayZone:
		return answer{addresses: []netip.Addr{l.places.Relay}}
	case Rebind: // public at first; then the address that gives away a cloud's keys
		if l.again(name, four) {
			return fixed("169.254.169.254")
		}
		return answer{addresses: []netip.Addr{web}}
	case Private:
		return fixed("10.0.0.1")
	case Metadata:
		return fixed("169.254.169.254")
	case Mixed:
		return answer{addresses: []netip.Addr{web, netip.MustParseAddr("127.0.0.1")}}
	case Many:
		a := answer{}
		for range 20 {
			a.addresses = append(a.addresses, web)
		}
		a.addresses = append(a.addresses, netip.MustParseAddr("192.168.0.1"))
		return a
	case Alias:
		a := fixed("169.254.169.254")
		a.alias = "x." + Metadata
		return a
	case SixLoop:
		return fixed("::1")
	case SixLocal:
		return fixed("fd00::1", "fe80::1")
	case Mapped:
		return fixed("::ffff:127.0.0.1", "::ffff:169.254.169.254")
	case Shared:
		return fixed("100.64.0.1")
	case Slow:
		return answer{addresses: []netip.Addr{web}, delay: 3 * time.Second}
	case Nowhere:
		return answer{none: true}
	}
	return answer{addresses: []netip.Addr{l.places.Trap}}
}

// again reports whether a name was asked for before.
func (l *liar) again(name string, four bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.asked[name]
	if four {
		l.asked[name]++
	}
	return before > 0
}

// zone is the last two labels of a name.
func zone(name string) string {
	labels := strings.Split(name, ".")
	return strings.Join(labels[max(0, len(labels)-2):], ".")
}
