package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/testkit"
)

// A contender is one of the two proxies, behind the same listeners.
type contender struct {
	name      string
	listeners []string // addresses
	lines     chan egress.Line
}

// access returns the next decision.
func (c *contender) access(t *testing.T) egress.Access {
	t.Helper()
	for {
		select {
		case l := <-c.lines:
			if l.Access != nil {
				return *l.Access
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s reports nothing", c.name)
		}
	}
}

// contenders starts both proxies with these lists.
func contenders(t *testing.T, lists ...[]string) (builtin, squid *contender) {
	t.Helper()
	var config egress.ProxyConfig
	for i, list := range lists {
		config.Listeners = append(config.Listeners, egress.Listener{Name: "listener " + strconv.Itoa(i), Address: "127.0.0.1:0", Allow: list})
	}
	builtin = &contender{name: "builtin", lines: make(chan egress.Line, 1000)}
	server := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:53")
	}}
	proxy, err := egress.Listen(t.Context(), config, egress.ProxyOptions{Resolver: server, Report: func(l egress.Line) error { builtin.lines <- l; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() { ended <- proxy.Serve(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	for _, g := range proxy.Listeners() {
		builtin.listeners = append(builtin.listeners, g.Address)
	}

	squid = &contender{name: "squid", lines: make(chan egress.Line, 1000)}
	for i := range config.Listeners {
		config.Listeners[i].Address = "127.0.0.1:" + strconv.Itoa(3128+i)
		squid.listeners = append(squid.listeners, config.Listeners[i].Address)
	}
	policy, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	in, stdin := io.Pipe()
	p := startWith(t, Options{Policy: "-", Squid: "squid", DNS: []string{"127.0.0.1"}}, in)
	if _, err := stdin.Write(append(policy, '\n')); err != nil {
		t.Fatal(err)
	}
	if ready := p.next().Ready; len(ready) != len(lists) {
		t.Fatalf("squid is not ready: %v", ready)
	}
	go func() {
		for text := range p.lines {
			var l egress.Line
			_ = json.Unmarshal([]byte(text), &l)
			squid.lines <- l
		}
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		if err := <-p.ended; err != nil && !errors.Is(err, context.Canceled) { // that of the test is done
			t.Errorf("squid ended with %v", err)
		}
	})
	return builtin, squid
}

// startWith is start with the environment of the test, in which Squid is found.
func startWith(t *testing.T, opts Options, stdin io.Reader) *program {
	t.Helper()
	p := start(t, opts, t.TempDir(), stdin, os.Environ()...)
	t.Cleanup(func() { // it takes its files with it
		p.stop(nil)
		for range p.lines {
			continue
		}
	})
	return p
}

// verdict asks a proxy, sends a hello if the proxy agrees, and returns the outcome:
// status, then the reason that was reported or "allowed".
func (c *contender) verdict(t *testing.T, listener int, text, hello string) (verdict, host string) {
	t.Helper()
	conn, err := net.Dial("tcp", c.listeners[listener])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	answer := bufio.NewReader(conn)
	resp, err := http.ReadResponse(answer, &http.Request{Method: http.MethodConnect})
	if err != nil {
		t.Fatalf("%s, %.60q: %v", c.name, text, err)
	}
	if resp.StatusCode == http.StatusOK {
		if _, err := io.WriteString(conn, hello); err != nil {
			t.Fatal(err)
		}
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, answer) // until the proxy has passed on the end
	}
	_ = resp.Body.Close()
	_ = conn.Close()
	a := c.access(t)
	reason := a.Reason
	if a.Allowed {
		reason = "allowed"
	}
	if a.Listener != "listener "+strconv.Itoa(listener) {
		t.Errorf("%s, %.60q: reported at %q", c.name, text, a.Listener)
	}
	return strconv.Itoa(resp.StatusCode) + " " + reason, fmt.Sprintf("%s %d", a.Host, a.Port)
}

// helloFor is the first message of a TLS client that wants a host.
func helloFor(t *testing.T, host string) string {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		_ = tls.Client(ours, &tls.Config{ServerName: host, InsecureSkipVerify: true}).Handshake() //nolint:gosec // there is no server
		_ = ours.Close()
	}()
	buf := make([]byte, 8<<10)
	n, err := theirs.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	more := int(buf[3])<<8 | int(buf[4])
	if rest := 5 + more - n; rest > 0 {
		if _, err := io.ReadFull(theirs, buf[n:n+rest]); err != nil {
			t.Fatal(err)
		}
	}
	_ = theirs.Close()
	return string(buf[:5+more])
}

// answered reads the answer to a request, and nothing behind it.
func answered(conn net.Conn) (status int, err error) {
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func connect(host string) string { return "CONNECT " + host + ":443 HTTP/1.1\r\n\r\n" }

// A matrixRow is a request, with what each proxy makes of it. Where they differ, why says
// so. No row ever lands anywhere but at the web server.
type matrixRow struct {
	what           string
	listener       int
	text           string
	builtin, squid string
	why            string
	asks           bool // a name server may be asked
}

// Every spelling, method, port and address of the builtin proxy's own tests and of the
// tables of the egress matrix, sent to both proxies.
func TestSquidMatrix(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "/usr/sbin/squid")
	if !onIsland(t) {
		return
	}
	land, names := newShore(t), newLiar(t)
	public := told{four: []string{webAddress}}
	for _, name := range []string{"api.exa.test", "sub.wild.test", "a.b.wild.test", "both.test", "sub.both.test", "bedrock.us-east-1.amazonaws.com", "other.test", "localhost", "a.internal"} {
		names.tell(name, public)
	}
	builtin, squid := contenders(t,
		[]string{"api.exa.test", "*.wild.test", "both.test", "*.both.test", "*.deep.both.test", "localhost", "*.internal", "*.dns.test"},
		[]string{"other.test"}, nil)

	rows := []matrixRow{
		{what: "an allowed host", text: connect("api.exa.test"), builtin: "200 allowed", asks: true},
		{what: "in capitals", text: connect("API.EXA.TEST"), builtin: "200 allowed", asks: true},
		{what: "with a trailing dot", text: connect("api.exa.test."), builtin: "200 allowed", asks: true},
		{what: "with two", text: connect("api.exa.test.."), builtin: "403 host", squid: "200 allowed", why: "Squid takes all dots off the end", asks: true},
		{what: "below a wildcard", text: connect("sub.wild.test"), builtin: "200 allowed", asks: true},
		{what: "far below", text: connect("a.b.wild.test"), builtin: "200 allowed", asks: true},
		{what: "apex of a wildcard", text: connect("wild.test"), builtin: "403 domain"},
		{what: "apex that is listed too", text: connect("both.test"), builtin: "200 allowed", asks: true},
		{what: "below that", text: connect("sub.both.test"), builtin: "200 allowed", asks: true},
		{what: "a longer name", text: connect("notwild.test"), builtin: "403 domain"},
		{what: "not on the list", text: connect("evil.test"), builtin: "403 domain"},
		{what: "a list entry in front", text: connect("api.exa.test.evil.test"), builtin: "403 domain"},
		{what: "a dot that is none", text: connect("apixexa.test"), builtin: "403 domain"},
		{what: "a wildcard in the middle", text: connect("bedrock.us-east-1.amazonaws.com"), builtin: "403 domain"},
		{what: "of another listener", text: connect("other.test"), builtin: "403 domain"},
		{what: "at that listener", listener: 1, text: connect("other.test"), builtin: "200 allowed", asks: true},
		{what: "of the first listener there", listener: 1, text: connect("api.exa.test"), builtin: "403 domain"},
		{what: "at a listener without a list", listener: 2, text: connect("api.exa.test"), builtin: "403 domain"},

		{what: "metadata", text: connect(metadata), builtin: "403 host"},
		{what: "loopback", text: connect("127.0.0.1"), builtin: "403 host"},
		{what: "private", text: connect(privateAddress), builtin: "403 host"},
		{what: "zero", text: connect("0.0.0.0"), builtin: "403 host"},
		{what: "shared", text: connect("100.64.0.1"), builtin: "403 host"},
		{what: "public address", text: connect(webAddress), builtin: "403 host"},
		{what: "decimal", text: connect("2130706433"), builtin: "403 host"},
		{what: "octal", text: connect("0177.0.0.1"), builtin: "403 host"},
		{what: "hexadecimal", text: connect("0x7f000001"), builtin: "403 host"},
		{what: "mixed", text: connect("0x7f.1"), builtin: "403 host"},
		{what: "with a dot", text: connect("127.0.0.1."), builtin: "403 host"},
		{what: "IPv6", text: connect("[::1]"), builtin: "403 host"},
		{what: "IPv6 link-local", text: connect("[fe80::1]"), builtin: "403 host"},
		{what: "IPv6 with a zone", text: connect("[fe80::1%25eth0]"), builtin: "403 host"},
		{what: "IPv6 mapped", text: connect("[::ffff:127.0.0.1]"), builtin: "403 host"},
		{what: "IPv6 public", text: connect("[2606:4700::1111]"), builtin: "403 host"},
		{what: "IPv6 bare", text: connect("::1"), builtin: "403 host", squid: "400 request", why: "no authority to Squid"},
		{what: "localhost, listed", text: connect("localhost"), builtin: "403 address"},
		{what: "a private zone, listed", text: connect("a.internal"), builtin: "403 address"},

		{what: "punycode", text: connect("xn--pi-7ka.wild.test"), builtin: "403 host"},
		{what: "Cyrillic", text: connect("аpi.exa.test"), builtin: "403 host", squid: "400 request", why: "no request to Squid"},
		{what: "underscore", text: connect("a_b.wild.test"), builtin: "403 host"},
		{what: "an empty label", text: connect("a..wild.test"), builtin: "403 host", squid: "400 request", why: "no host to Squid"},
		{what: "a leading dot", text: connect(".wild.test"), builtin: "403 host", squid: "400 request", why: "no host to Squid"},
		{what: "a hyphen in front", text: connect("-a.wild.test"), builtin: "403 host"},
		{what: "a label of 64", text: connect(strings.Repeat("a", 64) + ".wild.test"), builtin: "403 host"},
		{what: "a name of 255", text: connect(strings.Repeat("a.", 123) + "wild.test"), builtin: "403 host"},
		{what: "an encoded NUL", text: connect("api.exa.test%00.evil.test"), builtin: "403 host"},
		{what: "a NUL", text: connect("api.exa.test\x00"), builtin: "403 host", squid: "400 request", why: "no request to Squid"},
		{what: "an escape sequence", text: connect("api\x1b[31m.exa.test"), builtin: "403 host", squid: "400 request", why: "no request to Squid"},
		{what: "a user", text: connect("user:pw@api.exa.test"), builtin: "403 host", squid: "403 domain", why: "Squid reads the host user"},
		{what: "a user without password", text: connect("evil.test@api.exa.test"), builtin: "403 host"},
		{what: "a URL", text: "CONNECT https://api.exa.test:443 HTTP/1.1\r\n\r\n", builtin: "403 host", squid: "403 domain", why: "Squid reads the host https"},
		{what: "two ports", text: connect("api.exa.test:443"), builtin: "403 host", squid: "200 allowed", why: "Squid reads the first port", asks: true},

		{what: "port 22", text: "CONNECT api.exa.test:22 HTTP/1.1\r\n\r\n", builtin: "403 port"},
		{what: "port 80", text: "CONNECT api.exa.test:80 HTTP/1.1\r\n\r\n", builtin: "403 port"},
		{what: "port 8443", text: "CONNECT api.exa.test:8443 HTTP/1.1\r\n\r\n", builtin: "403 port"},
		{what: "port 443 + 65536", text: "CONNECT api.exa.test:65979 HTTP/1.1\r\n\r\n", builtin: "403 port", squid: "400 request", why: "no port to Squid"},
		{what: "port 0443", text: "CONNECT api.exa.test:0443 HTTP/1.1\r\n\r\n", builtin: "403 port", squid: "200 allowed", why: "443 to Squid", asks: true},
		{what: "no port", text: "CONNECT api.exa.test HTTP/1.1\r\n\r\n", builtin: "403 port", squid: "200 allowed", why: "Squid takes 443", asks: true},
		{what: "a path", text: "CONNECT api.exa.test:443/ HTTP/1.1\r\n\r\n", builtin: "403 port", squid: "200 allowed", why: "Squid leaves it out", asks: true},

		{what: "plain http", text: "GET http://api.exa.test/ HTTP/1.1\r\nHost: api.exa.test\r\n\r\n", builtin: "405 method", squid: "403 method", why: "another status"},
		{what: "plain http on 443", text: "GET http://api.exa.test:443/ HTTP/1.1\r\n\r\n", builtin: "405 method", squid: "403 method", why: "another status"},
		{what: "GET https", text: "GET https://api.exa.test/ HTTP/1.1\r\n\r\n", builtin: "405 method", squid: "403 method", why: "another status"},
		{what: "POST to metadata", text: "POST http://169.254.169.254/latest/ HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", builtin: "405 method", squid: "403 method", why: "another status"},
		{what: "TRACE", text: "TRACE http://api.exa.test/ HTTP/1.1\r\nMax-Forwards: 0\r\n\r\n", builtin: "405 method", squid: "403 method", why: "another status"},
		{what: "OPTIONS *", text: "OPTIONS * HTTP/1.1\r\nMax-Forwards: 0\r\n\r\n", builtin: "405 method", squid: "501 request", why: "not understood by Squid"},
		{what: "ftp", text: "GET ftp://api.exa.test/ HTTP/1.1\r\n\r\n", builtin: "405 method", squid: "403 method", why: "another status"},
		{what: "Squid's own pages", text: "GET cache_object://localhost/menu HTTP/1.0\r\n\r\n", builtin: "405 method", squid: "403 method", why: "another status"},
		{what: "Squid's newer pages", text: "GET /squid-internal-mgr/menu HTTP/1.1\r\nHost: perstack\r\n\r\n", builtin: "405 method", squid: "403 method", why: "another status"},
		{what: "connect in small letters", text: "connect api.exa.test:443 HTTP/1.1\r\n\r\n", builtin: "405 method", squid: "400 request", why: "no request to Squid"},
		{what: "HTTP/2", text: "CONNECT api.exa.test:443 HTTP/2.0\r\n\r\n", builtin: "400 request", squid: "505 request", why: "another status"},
		{what: "two targets", text: "CONNECT api.exa.test:443 evil.test:443 HTTP/1.1\r\n\r\n", builtin: "400 request"},
		{what: "two targets, evil first", text: "CONNECT evil.test:443 api.exa.test:443 HTTP/1.1\r\n\r\n", builtin: "400 request"},
		{what: "another Host", text: "CONNECT api.exa.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n", builtin: "400 request", squid: "200 allowed", why: "Squid goes by the target alone", asks: true},
		{what: "evil, and an allowed Host", text: "CONNECT evil.test:443 HTTP/1.1\r\nHost: api.exa.test\r\n\r\n", builtin: "400 request", squid: "403 domain", why: "Squid goes by the target alone"},
		{what: "a body", text: "CONNECT api.exa.test:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", builtin: "400 request", squid: "200 allowed", why: "Squid has none in a CONNECT", asks: true},
		{what: "a head too long", text: "CONNECT api.exa.test:443 HTTP/1.1\r\nX: " + strings.Repeat("x", 70<<10) + "\r\n\r\n", builtin: "400 request", squid: "431 request", why: "another status"},
		{what: "TLS to the proxy", text: "\x16\x03\x01\x02\x00\r\n\r\n", builtin: "400 request"},
	}
	for i, r := range rows {
		if r.squid == "" {
			rows[i].squid = r.builtin
		}
	}
	hello := helloFor(t, "api.exa.test")
	table := []string{fmt.Sprintf("%-26s %-16s %-16s %s", "request", "builtin", "squid", "why they differ")}
	for _, r := range rows {
		if name, _, ok := strings.Cut(strings.TrimPrefix(r.text, "CONNECT "), ":"); ok && strings.HasSuffix(r.builtin, " allowed") {
			hello = helloFor(t, strings.ToLower(strings.TrimRight(name, ".")))
		}
		var got [2]string
		for i, c := range []*contender{builtin, squid} {
			want := []string{r.builtin, r.squid}[i]
			var host string
			got[i], host = c.verdict(t, r.listener, r.text, hello)
			if got[i] != want {
				t.Errorf("%s: %s says %q (%s), want %q", r.what, c.name, got[i], host, want)
			}
			landed := []string(nil)
			if strings.HasSuffix(want, " allowed") {
				landed = []string{webAddress}
			}
			if at := land.seen(t); !slices.Equal(at, landed) {
				t.Errorf("%s: with %s it came ashore at %q", r.what, c.name, at)
			}
			if asked := names.questions(); len(asked) > 0 && !r.asks {
				t.Errorf("%s: %s has asked for %q", r.what, c.name, asked)
			}
		}
		table = append(table, fmt.Sprintf("%-26s %-16s %-16s %s", r.what, got[0], got[1], r.why))
	}
	t.Log("\n" + strings.Join(table, "\n"))
}
