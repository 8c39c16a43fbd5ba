package selftest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
)

// hostPorts are where a host is likely to have somebody listen. One that has nobody there
// refuses, which tells as much.
var hostPorts = []uint16{22, 53, 80, 443, 2375, 2376, 8080}

// gateway checks that the host does not answer at the address that it would have on our
// network, nor at any that this network names as the way out. A host that only drops what
// comes still says at the link that the address is its own.
func gateway(ctx context.Context, spec Spec) (string, error) {
	routes, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return "", err
	}
	gateways := defaultGateways(string(routes))
	if spec.Gateway.IsValid() && !slices.Contains(gateways, spec.Gateway) {
		gateways = append(gateways, spec.Gateway)
	}
	var targets []target
	for _, addr := range gateways {
		for _, port := range hostPorts {
			targets = append(targets, target{"tcp", netip.AddrPortFrom(addr, port)})
		}
		targets = append(targets, target{"udp", netip.AddrPortFrom(addr, 53)})
	}
	if err := allSilent(ctx, targets, silence); err != nil {
		return "", err
	}
	arp, err := os.ReadFile("/proc/net/arp")
	if err != nil {
		return "", err
	}
	for _, addr := range neighbours(string(arp)) {
		if slices.Contains(gateways, addr) {
			return "", fmt.Errorf("%s is silent, but somebody has that address", addr)
		}
	}
	if len(gateways) == 0 {
		return "there is no gateway", nil
	}
	return fmt.Sprintf("nobody answers at %s", gateways), nil
}

// metadata checks the addresses at which clouds hand out the keys of a machine.
func metadata(ctx context.Context, _ Spec) (string, error) {
	return "nobody answers", allSilent(ctx, []target{
		{"tcp", netip.MustParseAddrPort("169.254.169.254:80")},
		{"tcp", netip.MustParseAddrPort("[fd00:ec2::254]:80")},
	}, silence)
}

// internet checks addresses that answer from almost everywhere: those of public resolvers.
func internet(ctx context.Context, _ Spec) (string, error) {
	var targets []target
	for _, text := range []string{"1.1.1.1", "8.8.8.8", "9.9.9.9", "2606:4700:4700::1111", "2001:4860:4860::8888"} {
		addr := netip.MustParseAddr(text)
		targets = append(targets,
			target{"tcp", netip.AddrPortFrom(addr, 443)}, target{"tcp", netip.AddrPortFrom(addr, 53)}, target{"udp", netip.AddrPortFrom(addr, 53)})
	}
	return "nobody answers", allSilent(ctx, targets, silence)
}

// ipv6 checks that there is no second network beside the one that was closed. An address
// of the link alone is enough to speak to the host, which has one on every bridge.
func ipv6(context.Context, Spec) (string, error) {
	own, err := os.ReadFile("/proc/net/if_inet6")
	if errors.Is(err, os.ErrNotExist) {
		return "the kernel has none", nil
	}
	if err != nil {
		return "", err
	}
	if all := addresses6(string(own)); all != nil {
		return "", fmt.Errorf("there are addresses: %s", all)
	}
	routes, err := os.ReadFile("/proc/net/ipv6_route")
	if err != nil {
		return "", err
	}
	if all := routes6(string(routes)); all != nil {
		return "", fmt.Errorf("there is a default route by %q", all)
	}
	return "no address, no default route", nil
}
