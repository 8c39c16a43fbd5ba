package docker

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	testdaemon "github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/jail"
)

// From inside nothing answers but the proxy, by its address: not the host, on any of its
// addresses, nothing beyond, no name.
func TestNoWayOut(t *testing.T) {
	t.Parallel()
	daemon := realDaemon(t)
	s, _ := buildSite(t, daemon, testPlan(t))
	port, visited := hostService(t)

	var dead []string
	hosts := append(hostAddresses(t), s.inner.gateway.String(), s.outer.gateway.String())
	for _, h := range hosts {
		dead = append(dead, "tcp "+net.JoinHostPort(h, port))
	}
	proxy := lookUp(t, daemon, s)
	dead = append(dead, "tcp "+listenerAddress(proxy.outer, 0), "tcp 169.254.169.254:80", "tcp 1.1.1.1:443", "tcp 8.8.8.8:53",
		"tcp [2606:4700:4700::1111]:443", "tcp [fe80::1%eth0]:"+port)
	var alive []string
	for _, g := range s.Listeners {
		alive = append(alive, "tcp "+mustURL(t, g).Host)
	}
	names := []string{"example.com", "host.docker.internal", "gateway.docker.internal", "one.one.one.one"}
	saw, _ := enter(t, s, jail.Task{Dial: slices.Concat(dead, alive), Resolve: names})
	for _, d := range dead {
		if saw.Dialled[d] == "" {
			t.Errorf("%s answers", d)
		}
	}
	for _, a := range alive {
		if saw.Dialled[a] != "" {
			t.Errorf("the proxy at %s: %s", a, saw.Dialled[a])
		}
	}
	for _, n := range names {
		if saw.Resolved[n] == "" {
			t.Errorf("%s has an address", n)
		}
	}
	select {
	case from := <-visited:
		t.Errorf("%s came to the host's service", from)
	default:
	}
}

// The proxy goes out by the outer network, and does not listen there.
func TestProxyIsOnBothNetworks(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	s, _ := buildSite(t, d, testPlan(t))
	at := lookUp(t, d, s)
	saw := lookInto(t, d, s.name(string(roleProxy)))

	way := ""
	for _, line := range saw.Routes[1:] {
		if f := strings.Fields(line); f[1] == "00000000" {
			way = littleEndian(t, f[2]).String()
		}
	}
	if way != s.outer.gateway.String() {
		t.Errorf("its way out is %s, and that of the outer network %s", way, s.outer.gateway)
	}
	var ports []string
	for _, l := range saw.Listening {
		ip, port, _ := strings.Cut(l, ":")
		addr := littleEndian(t, ip)
		if addr.IsLoopback() { // the daemon's resolver
			continue
		}
		n, err := strconv.ParseUint(port, 16, 16)
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, fmt.Sprintf("%s:%d", addr, n))
	}
	slices.Sort(ports)
	if want := []string{listenerAddress(at.inner, 0), listenerAddress(at.inner, 1)}; !slices.Equal(ports, want) {
		t.Errorf("it listens at %q, want %q", ports, want)
	}
	if c, err := net.Dial("tcp", listenerAddress(at.outer, 0)); err == nil {
		c.Close()
		t.Error("it answers on the outer network")
	}
}

func TestNetworksAreAsTold(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	s, _ := buildSite(t, d, testPlan(t))
	for id, internal := range map[string]bool{s.inner.id: true, s.outer.id: false} {
		found, err := moby(t, d).NetworkInspect(t.Context(), id, client.NetworkInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n := found.Network
		if n.Internal != internal || n.EnableIPv6 || n.Driver != "bridge" || n.Labels[labelOwner] != s.labels[labelOwner] {
			t.Errorf("%+v", n)
		}
		if internal && n.Options["com.docker.network.bridge.inhibit_ipv4"] != "true" {
			t.Errorf("the host has an address on it: %v", n.Options)
		}
	}
}

// The proxy can go out by a network of the user's, which stays when the run ends.
func TestNetworkOfTheUser(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	name := testdaemon.Name(t)
	if _, err := moby(t, d).NetworkCreate(t.Context(), name, client.NetworkCreateOptions{Driver: "bridge"}); err != nil {
		t.Fatal(err)
	}
	testdaemon.RemoveNetwork(t, moby(t, d), name)
	plan := testPlan(t)
	plan.container().Network = name
	s, _ := buildSite(t, d, plan)
	if _, err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := left(t, d, s.start); len(list) != 3 {
		t.Errorf("the site is %q", list)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := moby(t, d).NetworkInspect(t.Context(), name, client.NetworkInspectOptions{}); err != nil {
		t.Errorf("the user's network: %v", err)
	}
}

func TestNetworksThatAreRefused(t *testing.T) {
	t.Parallel()
	d := realDaemon(t)
	internal := testdaemon.Name(t)
	if _, err := moby(t, d).NetworkCreate(t.Context(), internal, client.NetworkCreateOptions{Driver: "bridge", Internal: true}); err != nil {
		t.Fatal(err)
	}
	testdaemon.RemoveNetwork(t, moby(t, d), internal)
	for name, want := range map[string]string{
		"host": "a bridge network that you created", "none": "a bridge network that you created", "bridge": "a bridge network that you created",
		"container:x": "a bridge network that you created", "no-such-" + internal: "does not exist", internal: "leads nowhere",
	} {
		if _, err := d.outerNetwork(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestMayGoOut(t *testing.T) {
	user := func(change func(*network.Inspect)) network.Inspect {
		n := network.Inspect{Network: network.Network{Name: "mine", Driver: "bridge"}}
		change(&n)
		return n
	}
	for _, c := range []struct {
		name string
		n    network.Inspect
		want bool
	}{
		{"the user's", user(func(*network.Inspect) {}), true},
		{"overlay", user(func(n *network.Inspect) { n.Driver = "overlay" }), false},
		{"macvlan", user(func(n *network.Inspect) { n.Driver = "macvlan" }), false},
		{"another run's", user(func(n *network.Inspect) { n.Labels = map[string]string{labelKind: kindRun} }), false},
		{"internal", user(func(n *network.Inspect) { n.Internal = true }), false},
	} {
		if err := mayGoOut(c.n); (err == nil) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestInnerOptions(t *testing.T) {
	for version, want := range map[string]string{"20.10.24+dfsg1": "", "27.5.1": "", "28.0.0": "isolated", "29.1.2": "isolated"} {
		o := innerOptions(version, nil)
		if got := o.Options["com.docker.network.bridge.gateway_mode_ipv4"]; got != want {
			t.Errorf("%s: gateway mode %q", version, got)
		}
		if !o.Internal || *o.EnableIPv6 || o.Options["com.docker.network.bridge.inhibit_ipv4"] != "true" {
			t.Errorf("%s: %+v", version, o)
		}
	}
}

func TestAddressesOf(t *testing.T) {
	for _, c := range []struct {
		config []network.IPAMConfig
		want   string
	}{
		{[]network.IPAMConfig{{Subnet: netip.MustParsePrefix("172.18.0.0/16"), Gateway: netip.MustParseAddr("172.18.0.254")}}, "172.18.0.0/16 172.18.0.254"},
		{[]network.IPAMConfig{{Subnet: netip.MustParsePrefix("172.18.0.9/16")}}, "172.18.0.0/16 172.18.0.1"},
		{[]network.IPAMConfig{{Subnet: netip.MustParsePrefix("fd00::/64")}, {Subnet: netip.MustParsePrefix("10.1.2.0/24")}}, "10.1.2.0/24 10.1.2.1"},
		{[]network.IPAMConfig{{Subnet: netip.MustParsePrefix("fd00::/64")}}, "invalid Prefix invalid IP"},
		{[]network.IPAMConfig{{Gateway: netip.MustParseAddr("10.1.2.1")}}, "invalid Prefix invalid IP"},
		{nil, "invalid Prefix invalid IP"},
	} {
		n := network.Inspect{Network: network.Network{IPAM: network.IPAM{Config: c.config}}}
		subnet, gateway, err := addressesOf(n)
		if got := subnet.String() + " " + gateway.String(); got != c.want || (err == nil) != gateway.IsValid() {
			t.Errorf("addressesOf(%v) = %s, %v", c.config, got, err)
		}
	}
}

func TestExhausted(t *testing.T) {
	for text, want := range map[string]bool{
		"could not find an available, non-overlapping IPv4 address pool among the defaults to assign to the network": true,
		"all predefined address pools have been fully subnetted":                                                     true,
		"network with name x already exists":                                                                         false,
	} {
		if got := isExhausted(errors.New(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// addresses are those of the proxy.
type addresses struct{ inner, outer netip.Addr }

func lookUp(t *testing.T, d *Daemon, s *Site) (at addresses) {
	t.Helper()
	found, err := moby(t, d).ContainerInspect(t.Context(), s.name(string(roleProxy)), client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range found.Container.NetworkSettings.Networks {
		switch n.NetworkID {
		case s.inner.id:
			at.inner = n.IPAddress
		case s.outer.id:
			at.outer = n.IPAddress
		}
	}
	if !at.inner.IsValid() || !at.outer.IsValid() {
		t.Fatalf("the proxy is at %+v", at)
	}
	return at
}

// hostService listens on all addresses of this machine, and tells who comes.
func hostService(t *testing.T) (port string, visited <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	came := make(chan string, 16)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			came <- c.RemoteAddr().String()
			c.Close()
		}
	}()
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port, came
}

func hostAddresses(t *testing.T) (list []string) {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() && len(list) < 4 {
			list = append(list, p.Addr().String())
		}
	}
	if len(list) == 0 {
		t.Fatal("this machine has no address")
	}
	return list
}

func littleEndian(t *testing.T, text string) netip.Addr {
	t.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) == 16 { // ::ffff:… or a real one
		var whole [16]byte
		for i := 0; i < 16; i += 4 {
			binary.BigEndian.PutUint32(whole[i:], binary.LittleEndian.Uint32(data[i:]))
		}
		return netip.AddrFrom16(whole).Unmap()
	}
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], binary.LittleEndian.Uint32(data))
	return netip.AddrFrom4(b)
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
