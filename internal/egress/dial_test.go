package egress

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/netaddr"
)

// One address of every block that is refused, and the two ends of the larger ones.
var notPublic = []string{
	"0.0.0.0", "0.1.2.3", "0.255.255.255", "10.0.0.0", "10.1.2.3", "10.255.255.255", "100.64.0.1", "100.127.255.255",
	"127.0.0.1", "127.255.255.255", "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1",
	"192.168.0.1", "192.168.255.255", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255",
	"240.0.0.1", "255.255.255.255",
	"168.63.129.16", "161.26.0.10", "166.9.14.170", "192.0.0.192", "100.100.100.200", "fd00:ec2::254", "fd20:ce::254", "::ffff:168.63.129.16", // clouds
	"::", "::1", "::7f00:1", "fe80::1", "fe80:0:0:0:0:0:0:1", "fe80::1%eth0", "febf::1", "fec0::1", "fc00::1", "fd00::1", "fd12:3456::1", "ff02::1",
	"64:ff9b::a00:1", "64:ff9b:1::a00:1", "100::1", "2001::1", "2001:1ff::1", "2001:db8::1", "2002:a00:1::1", "3fff::1", "5f00::1", "4000::1",
	"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:192.168.1.1", "::ffff:169.254.169.254", "::ffff:0.0.0.0", "::ffff:10.0.0.1%eth0",
}

var public = []string{"8.8.8.8", "172.15.255.255", "172.32.0.1", "100.128.0.1", "::ffff:8.8.8.8", "2606:4700::1111"}

// Security S2, skills S2, S3, S5, S6 and M3: addresses written into the URL.
func TestAddressInTheURL(t *testing.T) {
	for _, text := range notPublic {
		host := text
		if strings.Contains(host, ":") {
			host = "[" + strings.Replace(host, "%", "%25", 1) + "]"
		}
		for _, u := range []string{"https://" + host + "/mcp", "https://" + host + ":8443/mcp", "https://" + host + ":443"} {
			n := &network{}
			_, err := get(t, n.client(t, u), u)
			wantRefusal(t, err, PrivateAddress)
			if d := n.dials(); d != nil || n.lookups() != 0 {
				t.Errorf("%s: dialled %v, looked up %d names", u, d, n.lookups())
			}
		}
	}
	for _, text := range public {
		addr := netip.MustParseAddr(text)
		u := "https://" + netip.AddrPortFrom(addr, 8443).String() + "/mcp"
		n := &network{}
		if _, err := get(t, n.client(t, u), u); !errors.Is(err, errNowhere) {
			t.Errorf("%s: got error %v", u, err)
		}
		if want := []string{netip.AddrPortFrom(addr.Unmap(), 8443).String()}; !slices.Equal(n.dials(), want) {
			t.Errorf("%s: did not dial %v", u, want)
		}
	}
}

// M4 and the notations that C libraries read: whatever they resolve to.
func TestNameInTheURL(t *testing.T) {
	for _, host := range []string{
		"localhost", "localhost.", "LOCALHOST", "a.localhost", "a.b.localhost.", "localhost.localdomain", "metadata.google.internal", "metadata.google.internal.",
		"intranet", "printer.local", "router.lan", "x.home.arpa",
		"127.1", "127.0.1", "127.0.0.1.", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "0", "192.168.1", "0xa9fea9fe", "2852039166",
	} {
		u := "https://" + host + "/"
		n := &network{names: map[string][][]string{strings.ToLower(strings.Trim(host, ".")): {{"8.8.8.8"}}}}
		_, err := get(t, n.client(t, u), u)
		wantRefusal(t, err, PrivateAddress)
		if d := n.dials(); d != nil {
			t.Errorf("%s: dialled %v", u, d)
		}
	}
	for _, host := range []string{"１２７.0.0.1", "bücher.example", "256.1.1.1", "1.2.3.4.5", "a..b", ""} {
		n := &network{}
		u := &url.URL{Scheme: "https", Host: host, Path: "/"}
		c := newClient(Policy{Origin: u, Resolver: n, AllowPrivate: true}, n.connect)
		_, err := get(t, c, "https://8.8.8.8/")
		wantRefusal(t, err, BadOrigin)
		if d := n.dials(); d != nil {
			t.Errorf("%q: dialled %v", host, d)
		}
	}
}

// A public name that resolves to what is not public, alone or among public addresses.
func TestNameThatResolves(t *testing.T) {
	const u = "https://mcp.example.com/"
	for _, bad := range notPublic {
		for _, answer := range [][]string{{bad}, {"8.8.8.8", bad}, {bad, "8.8.8.8"}, {"8.8.8.8", "2606:4700::1111", bad, "8.8.4.4"}} {
			n := &network{names: map[string][][]string{"mcp.example.com": {answer}}}
			_, err := get(t, n.client(t, u), u)
			wantRefusal(t, err, PrivateAddress)
			if d := n.dials(); d != nil {
				t.Errorf("%v: dialled %v", answer, d)
			}
			if err == nil || !strings.Contains(err.Error(), "mcp.example.com ("+netip.MustParseAddr(bad).String()+")") {
				t.Errorf("%v: error does not say which address: %v", answer, err)
			}

			open := n.client(t, u, private)
			if _, err := get(t, open, u); !errors.Is(err, errNowhere) {
				t.Errorf("%v with permission: got error %v", answer, err)
			}
			if d := n.dials(); len(d) != len(answer) {
				t.Errorf("%v with permission: dialled %v", answer, d)
			}
		}
	}

	n := &network{names: map[string][][]string{"mcp.example.com": {public}}}
	if _, err := get(t, n.client(t, u), u); !errors.Is(err, errNowhere) {
		t.Errorf("public addresses: got error %v", err)
	}
	var want []string
	for _, text := range public {
		want = append(want, netip.AddrPortFrom(netip.MustParseAddr(text).Unmap(), 443).String())
	}
	if d := n.dials(); !slices.Equal(d, want) {
		t.Errorf("dialled %v, want %v", d, want)
	}
	if !slices.Equal(n.asked, []string{"mcp.example.com."}) {
		t.Errorf("asked for %q, want the complete name, once", n.asked)
	}
}

func TestNameWithoutAddress(t *testing.T) {
	n := &network{names: map[string][][]string{"empty.example.com": {{}}}}
	for host, want := range map[string]string{"empty.example.com": "there is no address for empty.example.com", "none.example.com": "there is no host none.example.com"} {
		_, err := get(t, n.client(t, "https://"+host), "https://"+host)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", host, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "lookup") {
			t.Errorf("%s: the words of the resolver are repeated: %v", host, err)
		}
	}
	many := make([]string, 50)
	for i := range many {
		many[i] = "8.8.8.8"
	}
	n.names["many.example.com"] = [][]string{many}
	if _, err := get(t, n.client(t, "https://many.example.com"), "https://many.example.com"); !errors.Is(err, errNowhere) {
		t.Errorf("got error %v", err)
	}
	if d := n.dials(); len(d) != maxAttempts {
		t.Errorf("%d addresses were tried, want %d", len(d), maxAttempts)
	}
}

// A name server that gives a public address first and a private one later gets nothing:
// each connection is judged by the one answer that it is made with.
func TestRebinding(t *testing.T) {
	const u = "https://example.com/" // the name in the certificate of httptest
	s := record(t, httptest.NewTLSServer, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	n := &network{
		names:  map[string][][]string{"example.com": {{"8.8.8.8"}, {"127.0.0.1"}}},
		server: s.Listener.Addr().String(),
	}
	c := n.client(t, u, trust(s.Server))
	if _, err := get(t, c, u); err != nil {
		t.Fatal(err)
	}
	if d := n.dials(); !slices.Equal(d, []string{"8.8.8.8:443"}) || n.lookups() != 1 {
		t.Errorf("dialled %v after %d look-ups, want the address that was judged, after one", d, n.lookups())
	}
	_, err := get(t, c, u)
	wantRefusal(t, err, PrivateAddress)
	if d := n.dials(); d != nil || len(s.requests()) != 1 {
		t.Errorf("dialled %v, the server saw %d requests", d, len(s.requests()))
	}
}

// S1: plain http is for this machine only, also when the name of this machine lies.
func TestPlainHTTP(t *testing.T) {
	s := record(t, httptest.NewServer, func(http.ResponseWriter, *http.Request) {})
	for _, test := range []struct {
		origin, answer string
		open           bool
		want           Kind
	}{
		{"http://mcp.example.com/", "8.8.8.8", false, PlainText},
		{"http://mcp.example.com/", "8.8.8.8", true, PlainText},
		{"http://mcp.example.com/", "127.0.0.1", true, PlainText},
		{"http://8.8.8.8/", "", true, PlainText},
		{"http://192.168.0.2/", "", true, PlainText},
		{"http://localhost/", "192.168.0.2", true, PlainText},
		{"http://localhost/", "127.0.0.1", false, PrivateAddress},
		{"http://127.0.0.1/", "", false, PrivateAddress},
		{"http://[::1]/", "", false, PrivateAddress},
	} {
		n := &network{server: s.Listener.Addr().String(), names: map[string][][]string{parse(t, test.origin).Hostname(): {{test.answer}}}}
		_, err := get(t, n.client(t, test.origin, func(p *Policy) { p.AllowPrivate = test.open }), test.origin)
		wantRefusal(t, err, test.want)
		if d := n.dials(); d != nil {
			t.Errorf("%s: dialled %v", test.origin, d)
		}
	}
	if len(s.requests()) != 0 {
		t.Errorf("the server saw %d requests", len(s.requests()))
	}
	for _, origin := range []string{"http://localhost:80/", "http://127.0.0.1/", "http://[::1]/", "http://a.localhost/"} {
		n := &network{server: s.Listener.Addr().String(), names: map[string][][]string{"localhost": {{"127.0.0.1", "::1"}}, "a.localhost": {{"127.0.0.1"}}}}
		if _, err := get(t, n.client(t, origin, private), origin); err != nil {
			t.Errorf("%s: %v", origin, err)
		}
	}
}

// What is decided is what is dialled, whatever the URL and the name server say.
func FuzzDecidedIsDialled(f *testing.F) {
	f.Add("https://mcp.example.com:8443/", []byte{8, 8, 8, 8}, false)
	f.Add("https://mcp.example.com/", []byte{127, 0, 0, 1, 8, 8, 8, 8}, true)
	f.Add("https://[::ffff:127.0.0.1]/", []byte{}, false)
	f.Add("https://0x7f.1/", []byte{127, 0, 0, 1}, false)
	f.Add("http://localhost/", []byte{10, 0, 0, 1}, true)
	f.Add("https://a.example/", []byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x0a\x00\x00\x01"), false)
	f.Fuzz(func(t *testing.T, target string, answer []byte, allow bool) {
		u, err := url.Parse(target)
		if err != nil {
			return
		}
		n := &network{names: map[string][][]string{}}
		may := map[netip.Addr]bool{}
		if addr, err := netip.ParseAddr(strings.TrimRight(u.Hostname(), ".")); err == nil {
			may[addr.Unmap()] = true
		}
		size := 4
		if len(answer)%16 == 0 {
			size = 16
		}
		var texts []string
		for chunk := range slices.Chunk(answer, size) {
			if addr, ok := netip.AddrFromSlice(chunk); ok {
				texts = append(texts, addr.String())
				may[addr.Unmap()] = true
			}
		}
		n.names[strings.ToLower(strings.TrimRight(u.Hostname(), "."))] = [][]string{texts}
		c := newClient(Policy{Origin: u, Resolver: n, AllowPrivate: allow}, n.connect)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
		if err != nil {
			return
		}
		if resp, err := c.Do(r); err == nil {
			_ = resp.Body.Close()
			t.Fatal("a request came back from nowhere")
		}
		for _, d := range n.dials() {
			at := netip.MustParseAddrPort(d)
			reach := netaddr.AddrReach(at.Addr())
			if !may[at.Addr()] || reach == netaddr.NoHost || reach != netaddr.Public && !allow || u.Scheme == "http" && reach != netaddr.Loopback {
				t.Errorf("%s with %v (private allowed: %v): dialled %s", target, texts, allow, d)
			}
		}
		if n.lookups() > 1 {
			t.Errorf("%s: %d look-ups for one connection", target, n.lookups())
		}
	})
}
