package expert

import "testing"

func TestClassify(t *testing.T) {
	for want, hosts := range map[reach][]string{
		loopback: {
			"localhost", "LOCALHOST.", "a.localhost", "localhost.localdomain", "127.0.0.1", "127.9.9.9", "127.1", "127.0.0.1.", "2130706433", "0x7f000001", "0x7F.1",
			"0177.0.0.1", "017700000001", "::1", "::ffff:127.0.0.1", "0:0:0:0:0:ffff:7f00:1",
		},
		private: {
			"0.0.0.0", "0", "0x", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1", "0xc0.0xa8.1.1", "0300.0250.0.1", "169.254.169.254", "2852039166",
			"100.64.0.1", "192.0.2.1", "198.18.0.1", "203.0.113.1", "224.0.0.1", "255.255.255.255",
			"::", "::127.0.0.1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
			"64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1",
			"intranet", "printer.local", "metadata.google.internal", "x.home.arpa",
		},
		public: {
			"example.com", "EXAMPLE.COM.", "172.15.0.1", "172.32.0.1", "8.8.8.8", "134744072", "::ffff:8.8.8.8", "2606:4700::1111", "localhost.example.com", "10.example.com",
		},
		invalid: {
			"", ".", "...", "256.1.1.1", "1.2.3.4.5", "08", "1.2.3.0x100", "99999999999", "a..b", "１２７.0.0.1", "bücher.example", "a b", "a%2e", "exa\nmple.com", "0x7f000001ff",
		},
	} {
		for _, h := range hosts {
			if got := classify(h); got != want {
				t.Errorf("classify(%q) = %d, want %d", h, got, want)
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
		closed, _ := endpointURL(false)(s)
		open, _ := endpointURL(true)(s)
		if (closed == "") != want.closed || (open == "") != want.open {
			t.Errorf("%q: %q by default, %q with allowPrivateEndpoint", s, closed, open)
		}
	}
}
