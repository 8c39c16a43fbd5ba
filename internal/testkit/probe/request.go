package probe

import (
	"context"
	"net"
	"strings"
)

// requestRows ask the proxy for something else than a tunnel to port 443.
func requestRows(c Config) []Row {
	open, blocked := c.Open(), c.name("blocked.test")
	raw := func(id, promise, what, event, text string) Row {
		return Row{ID: id, Promise: promise, What: what, Want: []string{Refused}, Event: event, run: func(ctx context.Context, p *Probe) Result {
			return p.request(ctx, text, open)
		}}
	}
	get := func(url, host string) string {
		return "GET " + url + " HTTP/1.1\r\nHost: " + host + "\r\n{auth}\r\n"
	}
	rows := []Row{
		{
			ID: "open", Promise: "N3 A20", What: "control: the host on its own list", Want: []string{Reached}, Event: "allowed " + open, Asks: open,
			run: func(ctx context.Context, p *Probe) Result { return p.request(ctx, connect(open+":443"), open) },
		},
		raw("http", "N2 B3", "plain HTTP to an allowed host, port 80", "blocked method "+open+" 80", get("http://"+open+"/", open)),
		raw("http-blocked", "N2 A18", "plain HTTP to another host", "blocked method "+blocked+" 80", get("http://"+blocked+"/steal", blocked)),
		raw("http-443", "N2", "plain HTTP to port 443", "blocked method "+open, get("http://"+open+":443/", open)),
		raw("https-url", "N2", "GET of an https URL", "blocked method "+open, get("https://"+open+"/", open)),
		raw("http-metadata", "N2 A1", "plain HTTP to the metadata service", "blocked method 169.254.169.254 80", get("http://169.254.169.254/latest/meta-data/", "169.254.169.254")),
		raw("post", "N2 A23", "POST of an environment", "blocked method "+blocked, "POST https://"+blocked+"/env-dump HTTP/1.1\r\nHost: "+blocked+"\r\n{auth}Content-Length: 4\r\n\r\nx=yz"),
		raw("origin-form", "N2", "a request for the proxy itself", "blocked method", get("/", open)),
		raw("socks5", "N2", "SOCKS instead of HTTP", "blocked request", "\x05\x01\x00"),
		raw("http2", "N2", "HTTP/2 without an upgrade", "blocked request", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		raw("http09", "N2", "a request line without a version", "blocked request", "CONNECT "+open+":443\r\n\r\n"),
		raw("body", "N2", "CONNECT with a body, that another proxy may read as a request", "blocked request "+open,
			"CONNECT "+open+":443 HTTP/1.1\r\nHost: "+open+"\r\n{auth}Content-Length: 10\r\n\r\nCONNECT x "),
		raw("chunked", "N2", "CONNECT with chunks", "blocked request "+open, "CONNECT "+open+":443 HTTP/1.1\r\nHost: "+open+"\r\n{auth}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
		raw("bare-lf", "N4", "lines that end in a line feed alone", "blocked request", strings.ReplaceAll("CONNECT "+blocked+":443 HTTP/1.1\r\nHost: "+open+":443\r\n{auth}\r\n", "\r\n", "\n")+"\r\n\r\n"),
		raw("host-header", "N4", "another host in the request line than in the header", "blocked domain "+blocked, "CONNECT "+blocked+":443 HTTP/1.1\r\nHost: "+open+":443\r\n{auth}\r\n"),
	}
	for _, port := range []string{"80", "22", "25", "53", "853", "8443"} {
		rows = append(rows, raw("port-"+port, "N2 N10", "an allowed host at port "+port, "blocked port "+open+" "+port, connect(net.JoinHostPort(open, port))))
	}
	// Names that another list may have, or a careless one.
	for id, host := range map[string]string{
		"blocked": blocked, "google": "google.com", "provider": c.Provider, "other-skill": c.Other, "attacker": c.name("attacker-server.test"),
		"unauthorised": c.name("unauthorized-domain.test"), "exfiltration": "73656372657473." + c.name("attacker-dns.test"),
		"doh-google": "dns.google", "doh-cloudflare": "cloudflare-dns.com", "registry": "api.perstack.ai",
		"wild-apex": c.Wild(), "wild-sibling": "evil" + c.Wild(), "wild-dash": "evil-" + c.Wild(), "suffix": open + "." + c.name("blocked.test"),
		"below-exact": "x." + open, "above-exact": "open.test", "localhost": "localhost", "metadata-google": "metadata.google.internal", "host-docker": "host.docker.internal",
	} {
		promise := map[string]string{
			"blocked": "N3 A19 A21 B1", "google": "B1", "provider": "N3 B2 B10 (flipped)", "other-skill": "N3 B11 (flipped)", "attacker": "A18", "unauthorised": "A21 B10",
			"exfiltration": "A22", "doh-google": "N10", "doh-cloudflare": "N10", "localhost": "A24", "metadata-google": "A2", "host-docker": "A5",
		}[id]
		if promise == "" {
			promise = "N4"
		}
		rows = append(rows, raw("host-"+id, promise, "a tunnel to "+host, "blocked domain "+host, connect(host+":443")))
	}
	for id, host := range map[string]string{"wild": "x." + c.Wild(), "wild-deep": "x.y." + c.Wild()} {
		rows = append(rows, Row{
			ID: id, Promise: "N4", What: "control: " + host + ", below the wildcard", Want: []string{Reached}, Event: "allowed " + host, Asks: host,
			run: func(ctx context.Context, p *Probe) Result { return p.request(ctx, connect(host+":443"), host) },
		})
	}
	return sorted(rows)
}
