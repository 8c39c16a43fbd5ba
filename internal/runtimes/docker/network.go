package docker

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/moby/moby/api/types/network"

	"github.com/perstack-go/perstack/internal/runtimes/docker/api"
)

// A link is a network of a run.
type link struct {
	id      string
	subnet  netip.Prefix
	gateway netip.Addr // that the host has on it, or would have
}

// innerOptions are those of the network that the Expert's container is on. An internal
// bridge still has an address of the host, and whatever the host serves would answer
// there. Without that address nothing does: neither the host nor anything behind it.
func innerOptions(version string, labels map[string]string) network.CreateRequest {
	options := map[string]string{"com.docker.network.bridge.inhibit_ipv4": "true"}
	// Daemons before 28 do not know this mode; some refuse it, some take it and do nothing.
	// Whether the address is dead is what the self-test looks at, not what was asked for.
	if !api.Older(version, "28.0.0") {
		options["com.docker.network.bridge.gateway_mode_ipv4"] = "isolated"
	}
	return network.CreateRequest{
		Driver: "bridge", Internal: true, EnableIPv6: new(bool), Options: options, Labels: labels,
	}
}

// outerOptions are those of the network by which the proxy goes out.
func outerOptions(labels map[string]string) network.CreateRequest {
	return network.CreateRequest{Driver: "bridge", EnableIPv6: new(bool), Labels: labels}
}

func (s *Site) makeNetwork(ctx context.Context, name string, options network.CreateRequest) (made link, err error) {
	options.Name = s.name(name)
	err = s.make(ctx, func(ctx context.Context) (err error) {
		made.id, err = s.daemon.api.CreateNetwork(ctx, options)
		return err
	})
	if err != nil && isExhausted(err) {
		return link{}, fmt.Errorf("make a network: the daemon has no address range left (%w); remove networks that are not used, with: docker network prune", err)
	}
	if err != nil {
		return link{}, fmt.Errorf("make a network: %w", err)
	}
	found, err := s.daemon.api.Network(ctx, made.id)
	if err != nil {
		return link{}, fmt.Errorf("look at network %s: %w", s.name(name), err)
	}
	made.subnet, made.gateway, err = addressesOf(found)
	return made, err
}

// isExhausted recognises that all default address ranges are in use. The daemon has no
// kind of error for it, and the words changed.
func isExhausted(err error) bool {
	text := err.Error()
	return strings.Contains(text, "could not find an available") || // 20.10
		strings.Contains(text, "non-overlapping") || strings.Contains(text, "predefined address pools")
}

// addressesOf returns the addresses of a network, and the one that the host has on it. Where
// it has none, the daemon may not name one; it would be the first.
func addressesOf(n network.Inspect) (netip.Prefix, netip.Addr, error) {
	for _, c := range n.IPAM.Config {
		switch subnet := c.Subnet.Masked(); {
		case !subnet.Addr().Is4():
		case c.Gateway.Is4():
			return subnet, c.Gateway, nil
		default:
			return subnet, subnet.Addr().Next(), nil
		}
	}
	return netip.Prefix{}, netip.Addr{}, fmt.Errorf("network %s has no IPv4 addresses", n.Name)
}

// outerNetwork finds the network that the user wants the proxy to go out by.
func (d *Daemon) outerNetwork(ctx context.Context, name string) (link, error) {
	if strings.ContainsRune(name, ':') { // container:NAME is the network of another container
		return link{}, fmt.Errorf("network %q: %w", name, errNotUserDefined)
	}
	found, err := d.api.Network(ctx, name)
	if api.IsNotFound(err) {
		return link{}, fmt.Errorf("network %q does not exist; create it with: docker network create %s", name, name)
	}
	if err != nil {
		return link{}, fmt.Errorf("network %q: %w", name, err)
	}
	if err := mayGoOut(found); err != nil {
		return link{}, fmt.Errorf("network %q: %w", name, err)
	}
	subnet, gateway, err := addressesOf(found)
	return link{id: found.ID, subnet: subnet, gateway: gateway}, err
}

var errNotUserDefined = errors.New("the proxy connects through a bridge network that you created, not through a network of the daemon, the host or a container; create one with: docker network create NAME")

// mayGoOut refuses networks that are no way out, or that lead into a namespace which is
// not the proxy's own.
func mayGoOut(n network.Inspect) error {
	switch {
	case n.Name == "bridge" || n.Name == "host" || n.Name == "none" || n.Driver != "bridge":
		return errNotUserDefined
	case n.Labels[labelKind] != "":
		return errors.New("it belongs to a run of perstack; choose one of your own")
	case n.Internal:
		return errors.New("it is internal, and leads nowhere; choose one that leads out")
	}
	return nil
}
