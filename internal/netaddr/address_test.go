package netaddr

import (
	"net/netip"
	"testing"
)

func TestClassify(t *testing.T) {
	for want, hosts := range map[Reach][]string{
		Loopback: {
			"localhost", "LOCALHOST.", "a.localhost", "localhost.localdomain", "127.0.0.1", "127.9.9.9", "127.1", "127.0.0.1.", "2130706433", "0x7f000001", "0x7F.1",
			"0177.0.0.1", "017700000001", "::1", "::ffff:127.0.0.1", "0:0:0:0:0:ffff:7f00:1",
		},
		Private: {
			"0.0.0.0", "0", "0x", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1", "0xc0.0xa8.1.1", "0300.0250.0.1", "169.254.169.254", "2852039166",
			"100.64.0.1", "100.100.100.200", "168.63.129.16", "2822734096", "192.0.0.192", "fd00:ec2::254", "192.0.2.1", "198.18.0.1", "203.0.113.1", "224.0.0.1", "255.255.255.255",
			"::", "::127.0.0.1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
			"64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1", "1000::1", "4000::1", "fe80:0:0:0:0:0:0:1", "fd00::1",
			"intranet", "printer.local", "metadata.google.internal", "x.home.arpa",
		},
		Public: {
			"example.com", "EXAMPLE.COM.", "172.15.0.1", "172.32.0.1", "8.8.8.8", "134744072", "::ffff:8.8.8.8", "2606:4700::1111", "localhost.example.com", "10.example.com",
		},
		NoHost: {
			"", ".", "...", "256.1.1.1", "1.2.3.4.5", "08", "1.2.3.0x100", "99999999999", "a..b", "１２７.0.0.1", "bücher.example", "a b", "a%2e", "exa\nmple.com", "0x7f000001ff",
		},
	} {
		for _, h := range hosts {
			if got := HostReach(h); got != want {
				t.Errorf("HostReach(%q) = %d, want %d", h, got, want)
			}
		}
	}
}

func TestEndpointURL(t *testing.T) {
	for s, want := range map[string]struct{ closed, open bool }{
		"https://mcp.example.com/sse":           {true, true},
		"https://mcp.example.com:8443/sse?x=1":  {true, true},
		"HTTPS://mcp.example.com":               {true, true},
		"https://[2606:4700::1111]/":            {true, true},
		"https://[::1]/":                        {false, true},
		"https://[::1]:443/":                    {false, true},
		"https://[::ffff:7f00:1]/":              {false, true},
		"https://[fe80::1%25eth0]/":             {false, true},
		"https://127.0.0.1./":                   {false, true},
		"https://0x7f.1/":                       {false, true},
		"https://localhost/":                    {false, true},
		"http://localhost:3000/mcp":             {false, true},
		"http://127.0.0.1:3000/mcp":             {false, true},
		"http://192.168.0.2/mcp":                {false, false},
		"http://mcp.example.com":                {false, false},
		"ws://mcp.example.com":                  {false, false},
		"https://":                              {false, false},
		"https:mcp.example.com":                 {false, false},
		"https://user@mcp.example.com":          {false, false},
		"https://mcp.example.com:99999/":        {false, false},
		"https://mcp.example.com:0/":            {false, false},
		`https://mcp.example.com\@127.0.0.1/`:   {false, false},
		"https://mcp.example.com /":             {false, false},
		"https://１２７.0.0.1/":                    {false, false},
		"https://%31%32%37.0.0.1/":              {false, false},
		"javascript:alert(1)":                   {false, false},
		"/relative":                             {false, false},
		"https://[::1":                          {false, false},
		"https://mcp.example.com\r\nHost: evil": {false, false},
	} {
		closed, _ := EndpointURL(s, false)
		open, _ := EndpointURL(s, true)
		if (closed == "") != want.closed || (open == "") != want.open {
			t.Errorf("%q: %q by default, %q with allowPrivateEndpoint", s, closed, open)
		}
	}
}

// Every block that no public server has, at both of its ends, plain and inside IPv6. The
// address beyond each end is public, unless another block begins there.
func TestAddrReach(t *testing.T) {
	for block, beyond := range map[string][]string{
		"0.0.0.0/8":       {"1.0.0.0"},
		"10.0.0.0/8":      {"9.255.255.255", "11.0.0.0"},
		"100.64.0.0/10":   {"100.63.255.255", "100.128.0.0"},
		"127.0.0.0/8":     {"126.255.255.255", "128.0.0.0"},
		"169.254.0.0/16":  {"169.253.255.255", "169.255.0.0"},
		"172.16.0.0/12":   {"172.15.255.255", "172.32.0.0"},
		"192.0.0.0/24":    {"191.255.255.255", "192.0.1.0"},
		"192.0.2.0/24":    {"192.0.1.255", "192.0.3.0"},
		"192.88.99.0/24":  {"192.88.98.255", "192.88.100.0"},
		"192.168.0.0/16":  {"192.167.255.255", "192.169.0.0"},
		"198.18.0.0/15":   {"198.17.255.255", "198.20.0.0"},
		"198.51.100.0/24": {"198.51.99.255", "198.51.101.0"},
		"203.0.113.0/24":  {"203.0.112.255", "203.0.114.0"},
		"224.0.0.0/4":     {"223.255.255.255"},
		"240.0.0.0/4":     nil,
		// Of clouds.
		"168.63.129.16/32": {"168.63.129.15", "168.63.129.17"},
		"161.26.0.0/16":    {"161.25.255.255", "161.27.0.0"},
		"166.8.0.0/14":     {"166.7.255.255", "166.12.0.0"},

		"::/128":         nil,
		"::1/128":        nil,
		"fe80::/10":      nil,
		"fc00::/7":       nil,
		"ff00::/8":       nil,
		"64:ff9b::/96":   nil,
		"64:ff9b:1::/48": nil,
		"100::/64":       nil,
		"2001::/23":      {"2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"},
		"2001:db8::/32":  {"2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"},
		"2002::/16":      {"2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"},
		"3fff::/20":      {"3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"},
		"5f00::/16":      nil,
	} {
		prefix := netip.MustParsePrefix(block)
		first := prefix.Addr()
		bytes := first.AsSlice()
		for i := prefix.Bits(); i < first.BitLen(); i++ {
			bytes[i/8] |= 0x80 >> (i % 8)
		}
		last, _ := netip.AddrFromSlice(bytes)
		for _, addr := range []netip.Addr{first, last} {
			for _, form := range []netip.Addr{addr, netip.AddrFrom16(addr.As16()), netip.AddrFrom16(addr.As16()).WithZone("lo")} {
				if got := AddrReach(form); got != Private && got != Loopback {
					t.Errorf("AddrReach(%s) = %d, in %s", form, got, block)
				}
			}
		}
		for _, text := range beyond {
			addr := netip.MustParseAddr(text)
			if got := AddrReach(addr); got != Public {
				t.Errorf("AddrReach(%s) = %d, want %d: it is outside of %s", addr, got, Public, block)
			}
			if got := AddrReach(netip.AddrFrom16(addr.As16())); got != Public {
				t.Errorf("AddrReach(%s inside IPv6) = %d, want %d", addr, got, Public)
			}
		}
	}
	if got := AddrReach(netip.Addr{}); got != NoHost {
		t.Errorf("AddrReach of no address = %d, want %d", got, NoHost)
	}
}
