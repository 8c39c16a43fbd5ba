package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/perstack-go/perstack/internal/netaddr"
)

// A connectFunc opens a connection to an address and a port, both numbers.
type connectFunc func(ctx context.Context, network, address string) (net.Conn, error)

// A dialer opens connections to one origin.
type dialer struct {
	origin       origin
	allowPrivate bool
	resolver     Resolver
	proxy        netip.AddrPort // that everything goes through; zero for none
	connect      connectFunc
}

// A name may have many addresses. This many are tried, each with a time limit, so that one
// that never answers does not block the others.
const (
	maxAttempts    = 8
	attemptTimeout = 10 * time.Second
)

// dial ignores the address it is asked for: there is one origin, and requests to others
// were refused before.
func (d *dialer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if d.proxy.IsValid() {
		return d.dialProxy(ctx)
	}
	addrs, err := d.decide(ctx)
	if err != nil {
		return nil, err
	}
	conn, _, err := d.connectAny(ctx, addrs)
	return conn, err
}

// connectAny connects to the first address that answers: one that was checked, not the
// name, since a second look-up could give another address.
func (d *dialer) connectAny(ctx context.Context, addrs []netip.Addr) (_ net.Conn, _ netip.Addr, failed error) {
	for _, addr := range addrs[:min(len(addrs), maxAttempts)] {
		conn, err := d.attempt(ctx, addr)
		if err == nil {
			return conn, addr, nil
		}
		failed = cmp.Or(failed, err) // the first is the address that the system prefers
		if ctx.Err() != nil {
			break
		}
	}
	return nil, netip.Addr{}, failed
}

// dialProxy connects to the proxy if the origin may be reached through it. It checks what
// can be checked without a look-up; the proxy does the rest.
func (d *dialer) dialProxy(ctx context.Context) (net.Conn, error) {
	if d.origin.scheme == "http" {
		return nil, refuse(PlainText, "%s uses plain http, which a proxy could read and change", d.origin)
	}
	if err := d.judge(netaddr.HostReach(d.origin.host), d.origin.host); err != nil {
		return nil, err
	}
	conn, err := d.connect(ctx, "tcp", d.proxy.String())
	if err != nil {
		return nil, fmt.Errorf("reach the proxy: %w", err)
	}
	return conn, nil
}

// proxyAddress reads the address of a proxy. A name is refused: the name server would
// choose the proxy.
func proxyAddress(u *url.URL) (netip.AddrPort, error) {
	addr, err := netip.ParseAddrPort(u.Host)
	if err != nil || u.Scheme != "http" || addr.Port() == 0 {
		return netip.AddrPort{}, refuse(BadOrigin, "the proxy must be given as http://address:port")
	}
	return addr, nil
}

// answered turns a refusal of the proxy into an error. The text of its answer is not
// repeated, so that it need not be awaited.
func answered(_ context.Context, _ *url.URL, asked *http.Request, r *http.Response) error {
	switch r.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusForbidden:
		return fmt.Errorf("the proxy refuses %s", asked.URL.Opaque)
	case http.StatusProxyAuthRequired:
		return fmt.Errorf("the proxy wants another token for %s", asked.URL.Opaque)
	}
	return fmt.Errorf("the proxy did not connect to %s: status %d", asked.URL.Opaque, r.StatusCode)
}

func (d *dialer) attempt(ctx context.Context, addr netip.Addr) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return d.connect(ctx, "tcp", netip.AddrPortFrom(addr, d.origin.port).String())
}

// decide returns the addresses that may be dialled. One forbidden address forbids the
// name: a server that is both public and private is an attack or a mistake.
func (d *dialer) decide(ctx context.Context) ([]netip.Addr, error) {
	host := d.origin.host
	// Names such as a.localhost are refused whatever they resolve to.
	if err := d.judge(netaddr.HostReach(host), host); err != nil {
		return nil, err
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	name := host
	if !d.allowPrivate {
		// The dot says that the name is complete: the search list of the machine must
		// not turn a public name into one of the local network.
		name += "."
	}
	found, err := d.resolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		var dns *net.DNSError
		if errors.As(err, &dns) && dns.IsNotFound {
			return nil, fmt.Errorf("there is no host %s", host) // the resolver repeats it, with its own address
		}
		return nil, fmt.Errorf("cannot look up %s: %w", host, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no address for %s", host)
	}
	addrs := make([]netip.Addr, len(found))
	for i, addr := range found {
		addrs[i] = addr.Unmap()
		if !addr.IsLinkLocalUnicast() {
			addrs[i] = addrs[i].WithZone("") // a zone has no meaning here
		}
		if err := d.judge(netaddr.AddrReach(addr), fmt.Sprintf("%s (%s)", host, addr)); err != nil {
			return nil, err
		}
	}
	return addrs, nil
}

// judge applies the policy to the class of a name or an address.
func (d *dialer) judge(reach netaddr.Reach, what string) error {
	switch {
	case reach == netaddr.NoHost:
		return refuse(BadOrigin, "%s is not an address", what)
	case reach != netaddr.Public && !d.allowPrivate:
		return refuse(PrivateAddress, "%s is not a public address", what)
	case reach != netaddr.Loopback && d.origin.scheme == "http":
		return refuse(PlainText, "%s is not this machine, and plain http is for this machine only", what)
	}
	return nil
}
