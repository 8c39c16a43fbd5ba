package selftest

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"
)

// What follows reads the tables of /proc/net. A line that cannot be read is left out;
// whoever asks must not take an empty table for a wall.

// defaultGateways are the routers that /proc/net/route names for everything else.
func defaultGateways(table string) (all []netip.Addr) {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 8 || f[1] != "00000000" || f[7] != "00000000" {
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

// neighbours are the addresses of /proc/net/arp at which somebody has answered.
func neighbours(table string) (all []netip.Addr) {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		addr, err := netip.ParseAddr(f[0])
		flags, bad := strconv.ParseUint(f[2], 0, 32)
		const complete = 0x2
		if err == nil && bad == nil && flags&complete != 0 && f[3] != "00:00:00:00:00:00" {
			all = append(all, addr)
		}
	}
	return all
}

// addresses6 are the addresses of /proc/net/if_inet6, but for those of the loopback
// interface.
func addresses6(table string) (all []netip.Addr) {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) != 6 {
			continue
		}
		if addr, ok := address6(f[0]); ok && !addr.IsLoopback() {
			all = append(all, addr)
		}
	}
	return all
}

// routes6 are the devices that /proc/net/ipv6_route has a default route by. The kernel
// lists one by lo that refuses everything.
func routes6(table string) (devices []string) {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) != 10 || strings.Trim(f[0], "0") != "" || f[1] != "00" {
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

func address6(text string) (netip.Addr, bool) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 16 {
		return netip.Addr{}, false
	}
	return netip.AddrFrom16([16]byte(b)), true
}
