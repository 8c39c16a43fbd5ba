package wire

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/perstack-go/perstack/internal/netaddr"
)

// maxAddresses is how many addresses of a name are tried.
const maxAddresses = 4

// check judges an address as it is written.
func (f *Fetcher) check(u *url.URL) error {
	reach := netaddr.HostReach(u.Hostname())
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" || reach == netaddr.NoHost:
		return refusal("its address is not one of the web")
	case u.User != nil:
		return refusal("its address holds a name or a password")
	case u.Scheme == "http" && !(f.AllowPrivate && reach == netaddr.Loopback):
		return refusal("its address is not https")
	}
	return f.judge(reach)
}

func (f *Fetcher) judge(reach netaddr.Reach) error {
	if reach != netaddr.Public && !f.AllowPrivate {
		return refusal("its address is not a public one")
	}
	return nil
}

// decide returns the addresses that may be dialled. One forbidden address forbids the
// name: a server that is both public and private is an attack or a mistake.
func (f *Fetcher) decide(ctx context.Context, u *url.URL) ([]netip.Addr, error) {
	if err := f.check(u); err != nil {
		return nil, err
	}
	host := strings.TrimRight(u.Hostname(), ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	if !f.AllowPrivate {
		// The dot says that the name is complete: the search list of the machine must not
		// turn a public name into one of the local network.
		host += "."
	}
	lookUp := f.lookUp
	if lookUp == nil {
		lookUp = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	found, err := lookUp(ctx, host)
	if err != nil {
		return nil, err
	}
	addrs := make([]netip.Addr, len(found))
	for i, addr := range found {
		addrs[i] = addr.Unmap().WithZone("")
		reach := netaddr.AddrReach(addr)
		if err := f.judge(reach); err != nil {
			return nil, err
		}
		if u.Scheme == "http" && reach != netaddr.Loopback {
			return nil, refusal("its address is not https")
		}
	}
	return addrs[:min(len(addrs), maxAddresses)], nil
}
