package selftest

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// hostPorts are ports on which a host is likely to listen. If it does not, it refuses the
// connection, which shows as much.
var hostPorts = []uint16{22, 53, 80, 443, 2375, 2376, 8080}

// gateway checks that the host does not answer at the address that it would have on our
// network, nor at any default gateway. A host that drops packets still answers ARP for its
// address.
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
	for _, addr := range answeringHosts(string(arp)) {
		if slices.Contains(gateways, addr) {
			return "", fmt.Errorf("%s is silent, but a host has that address", addr)
		}
	}
	if len(gateways) == 0 {
		return "there is no gateway", nil
	}
	return fmt.Sprintf("no answer at %s", gateways), nil
}

// metadata checks the addresses at which cloud providers serve the credentials of a machine.
func metadata(ctx context.Context, _ Spec) (string, error) {
	return "no answer", allSilent(ctx, []target{
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
	return "no answer", allSilent(ctx, targets, silence)
}

// ipv6 checks that IPv6 does not lead around the isolation of IPv4. A link-local address
// is enough to reach the host, which has one on every bridge.
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

// The following functions read the tables of /proc/net. A line that cannot be parsed is
// skipped, so an empty result does not prove isolation.

// defaultGateways are the routers that /proc/net/route names for everything else.
func defaultGateways(table string) (all []netip.Addr) {
	for f := range rows(table, 8) {
		if f[1] != "00000000" || f[7] != "00000000" {
			continue
		}
		// The kernel prints the four bytes as one number of the machine.
		n, err := strconv.ParseUint(f[2], 16, 32)
		if err != nil || n == 0 {
			continue
		}
		var b [4]byte
		binary.NativeEndian.PutUint32(b[:], uint32(n))
		all = append(all, netip.AddrFrom4(b))
	}
	return all
}

// answeringHosts are the addresses of /proc/net/arp at which a host has answered.
func answeringHosts(table string) (all []netip.Addr) {
	for f := range rows(table, 4) {
		addr, err := netip.ParseAddr(f[0])
		flags, bad := strconv.ParseUint(f[2], 0, 32)
		const complete = 0x2
		if err == nil && bad == nil && flags&complete != 0 && f[3] != "00:00:00:00:00:00" {
			all = append(all, addr)
		}
	}
	return all
}

// addresses6 are the addresses of /proc/net/if_inet6, except for those of the loopback
// interface.
func addresses6(table string) (all []netip.Addr) {
	for f := range rows(table, 6) {
		b, err := hex.DecodeString(f[0])
		if err != nil || len(b) != 16 {
			continue
		}
		if addr := netip.AddrFrom16([16]byte(b)); !addr.IsLoopback() {
			all = append(all, addr)
		}
	}
	return all
}

// routes6 are the devices that /proc/net/ipv6_route has a default route by. The kernel
// lists one by lo that refuses everything.
func routes6(table string) (devices []string) {
	for f := range rows(table, 10) {
		if strings.Trim(f[0], "0") != "" || f[1] != "00" {
			continue
		}
		flags, err := strconv.ParseUint(f[8], 16, 32)
		const reject = 0x0200
		if err == nil && flags&reject == 0 && f[9] != "lo" {
			devices = append(devices, f[9])
		}
	}
	return devices
}
