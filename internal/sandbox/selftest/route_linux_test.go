package selftest

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"
)

// hexOf writes an address as the kernel of this machine does.
func hexOf(address string) string {
	b := netip.MustParseAddr(address).As4()
	return fmt.Sprintf("%08X", binary.NativeEndian.Uint32(b[:]))
}

func TestDefaultGateways(t *testing.T) {
	table := "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
		"eth0\t00000000\t" + hexOf("172.20.0.1") + "\t0003\t0\t0\t0\t00000000\t0\t0\t0      \n" +
		"eth0\t" + hexOf("172.20.0.0") + "\t00000000\t0001\t0\t0\t0\t" + hexOf("255.255.0.0") + "\t0\t0\t0\n" +
		"eth1\t00000000\t" + hexOf("10.0.0.254") + "\t0003\t0\t0\t100\t00000000\t0\t0\t0\n" +
		"eth2\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n" + // by the device, without a gateway
		"half a line\n"
	want := []netip.Addr{netip.MustParseAddr("172.20.0.1"), netip.MustParseAddr("10.0.0.254")}
	if got := defaultGateways(table); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAddressesOfARPTable(t *testing.T) {
	const table = `IP address       HW type     Flags       HW address            Mask     Device
172.20.0.1       0x1         0x0         00:00:00:00:00:00     *        eth0
172.20.0.2       0x1         0x2         02:42:ac:14:00:02     *        eth0
172.20.0.3       0x1         0x6         02:42:ac:14:00:03     *        eth0
`
	want := []netip.Addr{netip.MustParseAddr("172.20.0.2"), netip.MustParseAddr("172.20.0.3")}
	if got := answeringHosts(table); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAddresses6(t *testing.T) {
	const table = `00000000000000000000000000000001 01 80 10 80       lo
fe80000000000000004202fffe140002 02 40 20 80     eth0
fd000000000000000000000000000002 02 40 00 02     eth0
`
	want := []netip.Addr{netip.MustParseAddr("fe80::42:2ff:fe14:2"), netip.MustParseAddr("fd00::2")}
	if got := addresses6(table); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := addresses6("00000000000000000000000000000001 01 80 10 80       lo\n"); got != nil {
		t.Errorf("loopback alone: %v", got)
	}
}

func TestRoutes6(t *testing.T) {
	const (
		nothing = "00000000000000000000000000000000 00 "
		refused = nothing + nothing + "00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n"
		open    = nothing + nothing + "fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0\n"
		link    = "fe800000000000000000000000000000 40 " + nothing + "00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0\n"
	)
	if got := routes6(refused + link + refused); got != nil {
		t.Errorf("no way out: %q", got)
	}
	if got := routes6(refused + open + link); !slices.Equal(got, []string{"eth0"}) {
		t.Errorf("a way out: %q", got)
	}
}

func TestNameServers(t *testing.T) {
	got := nameServers("# made by an engine\nsearch example.com\nnameserver 127.0.0.11\nnameserver fe80::1%eth0\nnameserver nonsense\noptions ndots:0\n")
	if want := []netip.Addr{netip.MustParseAddr("127.0.0.11"), netip.MustParseAddr("fe80::1%eth0")}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
