package egress

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/netaddr"
)

// An origin is the scheme, host and port of a URL in canonical spelling, so that two are
// equal when they lead to the same server.
type origin struct {
	scheme string
	host   string // lower case, no trailing dot, addresses as netip writes them
	port   uint16
}

// originOf reads the origin of a URL. Its errors do not repeat the URL, which may contain
// a password.
func originOf(u *url.URL) (origin, error) {
	if u == nil {
		return origin{}, refuse(BadOrigin, "there is no URL to go to")
	}
	o := origin{scheme: strings.ToLower(u.Scheme)}
	switch o.scheme {
	case "https":
		o.port = 443
	case "http":
		o.port = 80
	default:
		return origin{}, refuse(BadOrigin, "the URL must use https")
	}
	if u.User != nil {
		return origin{}, refuse(BadOrigin, "the URL must not contain a user name or password")
	}
	o.host = strings.ToLower(strings.TrimRight(u.Hostname(), "."))
	if netaddr.HostReach(o.host) == netaddr.NoHost {
		return origin{}, refuse(BadOrigin, "the URL has no valid host")
	}
	if addr, err := netip.ParseAddr(o.host); err == nil {
		o.host = addr.Unmap().String()
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return origin{}, refuse(BadOrigin, "the URL has no valid port")
		}
		o.port = uint16(n)
	}
	return o, nil
}

// authority is host and port as they stand in a URL.
func (o origin) authority() string {
	if o.scheme == "https" && o.port == 443 || o.scheme == "http" && o.port == 80 {
		if strings.Contains(o.host, ":") {
			return "[" + o.host + "]"
		}
		return o.host
	}
	return net.JoinHostPort(o.host, strconv.Itoa(int(o.port)))
}

func (o origin) String() string { return o.scheme + "://" + o.authority() }

// SameOrigin reports whether two URLs have the same origin, whatever their spelling. A URL
// that is not valid has none.
func SameOrigin(a, b *url.URL) bool {
	x, err := originOf(a)
	if err != nil {
		return false
	}
	y, err := originOf(b)
	return err == nil && x == y
}
