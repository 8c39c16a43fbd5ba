package run

import (
	"fmt"
	"net/url"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/netaddr"
)

// checkUpstream judges the proxy that the proxy of a container goes through itself: what
// PERSTACK_PROXY_URL says in the user's environment. HTTPS_PROXY alone does not say it:
// names are then looked up, and addresses checked, by somebody else.
func (s *setup) checkUpstream(address string) error {
	if address == "" {
		for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
			if s.opts.Host.Getenv(name) != "" {
				fmt.Fprintf(s.opts.Host.Stderr, "perstack: the proxy of %s is not used by the runtime docker; if there is no other way out, set PERSTACK_PROXY_URL to it\n", name)
				break
			}
		}
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "": // it may hold a password
		return host.Usagef("PERSTACK_PROXY_URL is not a URL; write it like http://proxy:3128")
	case u.Scheme != "http":
		return host.Usagef("PERSTACK_PROXY_URL is a proxy of the kind %s, and the runtime docker goes through those of the kind http only; write it like http://proxy:3128", u.Scheme)
	case netaddr.HostReach(u.Hostname()) == netaddr.Loopback:
		return host.Usagef("PERSTACK_PROXY_URL is on this machine (%s), and nothing in a container reaches this machine by that address; name an address of the machine that others can reach", u.Hostname())
	}
	if err := egress.CheckUpstream(address); err != nil {
		return host.Usagef("PERSTACK_PROXY_URL: %w", err)
	}
	fmt.Fprintf(s.opts.Host.Stderr, "perstack: everything goes through the proxy %s, which looks names up itself: the addresses behind them are not checked\n", u.Host)
	return nil
}
