package docker

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/netaddr"
)

// checkUpstream judges the proxy that the proxy of a container goes through itself: what
// PERSTACK_PROXY_URL says in the user's environment. HTTPS_PROXY alone does not say it:
// names are then looked up, and addresses checked, by somebody else.
func (r *runner) checkUpstream() error {
	address := r.model.Upstream
	if address == "" {
		for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
			if r.getenv(name) != "" {
				r.parts.Log.Warn("the proxy of " + name + " is not used by the runtime docker; if there is no other way out, set PERSTACK_PROXY_URL to it")
				break
			}
		}
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "": // it may hold a password
		return errors.New("PERSTACK_PROXY_URL is not a URL; write it like http://proxy:3128")
	case u.Scheme != "http":
		return fmt.Errorf("PERSTACK_PROXY_URL is a proxy of the kind %s, and the runtime docker goes through those of the kind http only; write it like http://proxy:3128", u.Scheme)
	case netaddr.HostReach(u.Hostname()) == netaddr.Loopback:
		return fmt.Errorf("PERSTACK_PROXY_URL is on this machine (%s), and nothing in a container reaches this machine by that address; name an address of the machine that others can reach", u.Hostname())
	}
	if err := egress.CheckUpstream(address); err != nil {
		return fmt.Errorf("PERSTACK_PROXY_URL: %w", err)
	}
	r.parts.Log.Warn("everything goes through the proxy " + u.Host + ", which looks names up itself: the addresses behind them are not checked")
	return nil
}
