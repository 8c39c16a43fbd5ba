package probes

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/egress"
)

// A network is what the proxy sees: a name server that lies, and one server behind all addresses.
type network struct {
	mu     sync.Mutex
	names  map[string][]string // the last answer is given again and again
	asked  []string
	dialed []string
	lines  []egress.Line
	bytes  int // that reached the server
	refuse error

	stop  context.CancelFunc
	ended chan error
	proxy Proxy
}

// The names of the network.
const (
	allowedHost = "api.example.com"
	otherHost   = "other.example.com"
	public      = "93.184.216.34"
)

// network starts a proxy with two listeners: one that allows some hosts, and one that allows none.
func (m *Machine) network(ctx context.Context) (*network, error) {
	n := &network{names: map[string][]string{}, ended: make(chan error, 1)}
	ctx, n.stop = context.WithCancel(ctx)
	var err error
	n.proxy, err = m.Parts.Proxy(ctx, egress.ProxyConfig{Listeners: []egress.Listener{
		{Name: "skill", Address: "127.0.0.1:0", Allow: []string{allowedHost, "*.wild.example.com"}},
		{Name: "shut", Address: "127.0.0.1:0"},
	}}, egress.ProxyOptions{Resolver: n, Connect: n.connect, Report: n.report})
	if err != nil {
		n.stop()
		return nil, err
	}
	go func() { n.ended <- n.proxy.Serve(ctx) }()
	return n, nil
}

func (n *network) close() {
	n.stop()
	<-n.ended
}

// LookupNetIP lies: every name is at the address that the attack chose.
func (n *network) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, host)
	answer := public
	if next := n.names[strings.TrimSuffix(host, ".")]; len(next) > 0 {
		answer = next[0]
		if len(next) > 1 {
			n.names[strings.TrimSuffix(host, ".")] = next[1:]
		}
	}
	addr, err := netip.ParseAddr(answer)
	return []netip.Addr{addr}, err
}

// connect is the server behind all addresses. It counts what it gets.
func (n *network) connect(_ context.Context, _, address string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	n.mu.Lock()
	n.dialed = append(n.dialed, address)
	n.mu.Unlock()
	go func() {
		got, _ := theirs.Read(make([]byte, 4096)) // a connection that is closed sends nothing
		n.mu.Lock()
		n.bytes += got
		n.mu.Unlock()
		_ = theirs.Close()
	}()
	return ours, nil
}

func (n *network) report(l egress.Line) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, l)
	return n.refuse
}

// decisions returns what was reported about connections.
func (n *network) decisions() (all []egress.Access) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.lines {
		if l.Access != nil {
			all = append(all, *l.Access)
		}
	}
	return all
}

func (n *network) reached() (dialed []string, bytes int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.dialed), n.bytes
}

// patience is how long the proxy may take to answer.
const patience = 5 * time.Second

// ask sends a request to a listener, then a TLS hello that names a server, and returns the status
// line and whether the hello reached the server.
func (n *network) ask(ctx context.Context, listener int, request, serverName string) (status string, through bool, err error) {
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", n.proxy.Listeners()[listener].Address)
	if err != nil {
		return "", false, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, before := n.reached()
	if _, err := io.WriteString(conn, request); err != nil {
		return "", false, err
	}
	// Byte by byte: what follows the head belongs to TLS.
	var head strings.Builder
	one := make([]byte, 1)
	for !strings.HasSuffix(head.String(), "\r\n\r\n") && head.Len() < 16<<10 {
		if _, err := conn.Read(one); err != nil {
			break
		}
		head.Write(one)
	}
	status, _, _ = strings.Cut(head.String(), "\r\n")
	if !strings.Contains(status, " 200") {
		return status, false, nil
	}
	// The server never answers, so the handshake fails in any case: what counts is whether the
	// server got the hello.
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_ = tls.Client(conn, &tls.Config{ServerName: serverName, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}).HandshakeContext(ctx) //nolint:gosec // an attack
	_, after := n.reached()
	return status, after > before, nil
}

func connectTo(target string) string {
	return "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n"
}

// control shows that an honest connection works.
func (n *network) control(ctx context.Context) error {
	status, through, err := n.ask(ctx, 0, connectTo(allowedHost+":443"), allowedHost)
	if err != nil {
		return err
	}
	if !through {
		return fmt.Errorf("an allowed connection failed, too (%s)", status)
	}
	return nil
}

// refuses tries requests that must not get through.
func (m *Machine) refuses(ctx context.Context, what string, attempts []attempt) audit.Result {
	n, err := m.network(ctx)
	if err != nil {
		return noStart(err)
	}
	defer n.close()
	if err := n.control(ctx); err != nil {
		return noControl(err.Error())
	}
	dialed, _ := n.reached()
	for _, a := range attempts {
		status, through, err := n.ask(ctx, a.listener, a.request, a.serverName)
		if err != nil && !errors.Is(err, io.EOF) {
			return noStart(err)
		}
		if now, _ := n.reached(); through || len(now) > len(dialed) && !a.mayDial {
			return audit.Break(audit.BuiltIn, "the proxy let %q through (%s)", firstLine(a.request), status)
		}
	}
	return audit.Hold(audit.BuiltIn, "%s: %d attempts were refused, and an honest connection worked", what, len(attempts))
}

type attempt struct {
	listener   int
	request    string
	serverName string
	mayDial    bool // the refusal can come after the connection to the server
}

func firstLine(text string) string { line, _, _ := strings.Cut(text, "\r\n"); return line }

// httpsOnly attacks N2.
func (m *Machine) httpsOnly(ctx context.Context) audit.Result {
	return m.refuses(ctx, "plain HTTP and other ports", []attempt{
		{request: "GET http://" + allowedHost + "/ HTTP/1.1\r\nHost: " + allowedHost + "\r\n\r\n"},
		{request: "POST http://" + allowedHost + ":443/ HTTP/1.1\r\nHost: " + allowedHost + "\r\nContent-Length: 0\r\n\r\n"},
		{request: connectTo(allowedHost + ":80"), serverName: allowedHost},
		{request: connectTo(allowedHost + ":22"), serverName: allowedHost},
		{request: connectTo(allowedHost + ":8443"), serverName: allowedHost},
	})
}

// ownHosts attacks N3.
func (m *Machine) ownHosts(ctx context.Context) audit.Result {
	r := m.refuses(ctx, "hosts that are not on the list, and an empty list", []attempt{
		{request: connectTo(otherHost + ":443"), serverName: otherHost},
		{request: connectTo("registry.example.net:443"), serverName: "registry.example.net"},
		{listener: 1, request: connectTo(allowedHost + ":443"), serverName: allowedHost},
	})
	if r.Status != audit.Verified {
		return r
	}
	return m.ownHostsInside(ctx, r)
}

// spellings attacks N4.
func (m *Machine) spellings(ctx context.Context) audit.Result {
	var all []attempt
	for _, host := range []string{
		"wild.example.com", "evilwild.example.com", "a.wild.example.com.evil.test", allowedHost + ".evil.test",
		allowedHost + "@evil.test", "evil.test%00." + allowedHost, "evil.test\x00." + allowedHost, "evil.test/." + allowedHost,
		"127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "127.1",
	} {
		all = append(all, attempt{request: connectTo(host + ":443"), serverName: "a.wild.example.com"})
	}
	all = append(all, attempt{request: "CONNECT " + otherHost + ":443 HTTP/1.1\r\nHost: " + allowedHost + ":443\r\n\r\n", serverName: allowedHost})
	return m.refuses(ctx, "spellings of hosts", all)
}

// homographs attacks N5.
func (m *Machine) homographs(context.Context) audit.Result {
	if err := m.Parts.Allowlist([]string{allowedHost, "*.wild.example.com"}); err != nil {
		return noControl(err.Error())
	}
	names := []string{"xn--pple-43d.com", "аpple.com", "*.xn--80ak6aa92e.com", "ex\u00e4mple.com", "XN--PPLE-43D.com"}
	for _, name := range names {
		if m.Parts.Allowlist([]string{name}) == nil {
			return audit.Break(audit.BuiltIn, "%q was accepted in allowedDomains", name)
		}
	}
	return audit.Hold(audit.BuiltIn, "%d names that look like others were refused", len(names))
}

// privateAddresses are one of each block of N6.
var privateAddresses = []string{
	"0.0.0.1", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1",
	"198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
	"::", "::1", "fe80::1", "fc00::1", "ff02::1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "5f00::1",
	"::ffff:127.0.0.1", "::ffff:10.0.0.1",
}

// rebinding attacks N6.
func (m *Machine) rebinding(ctx context.Context) audit.Result {
	n, err := m.network(ctx)
	if err != nil {
		return noStart(err)
	}
	defer n.close()
	if err := n.control(ctx); err != nil {
		return noControl(err.Error())
	}
	for i, address := range privateAddresses {
		host := fmt.Sprintf("h%d.wild.example.com", i)
		n.mu.Lock()
		n.names[host] = []string{address}
		n.mu.Unlock()
		before, _ := n.reached()
		if _, _, err := n.ask(ctx, 0, connectTo(host+":443"), host); err != nil {
			return noStart(err)
		}
		if after, _ := n.reached(); len(after) > len(before) {
			return audit.Break(audit.BuiltIn, "a name that leads to %s was dialled", address)
		}
	}
	// The second answer is another one: what was checked must be dialled.
	const host = "rebind.wild.example.com"
	n.mu.Lock()
	n.names[host] = []string{public, "127.0.0.1"}
	n.mu.Unlock()
	if _, _, err := n.ask(ctx, 0, connectTo(host+":443"), host); err != nil {
		return noStart(err)
	}
	if dialed, _ := n.reached(); dialed[len(dialed)-1] != public+":443" {
		return audit.Break(audit.BuiltIn, "the second answer of the name server was dialled: %s", dialed[len(dialed)-1])
	}
	return audit.Hold(audit.BuiltIn, "%d private and reserved addresses were refused, and the address that was checked was dialled", len(privateAddresses))
}

// serverNames attacks N8.
func (m *Machine) serverNames(ctx context.Context) audit.Result {
	return m.refuses(ctx, "TLS hellos for another host, or for none", []attempt{
		{request: connectTo(allowedHost + ":443"), serverName: otherHost, mayDial: true},
		{request: connectTo(allowedHost + ":443"), serverName: "", mayDial: true},
		{request: connectTo(allowedHost + ":443"), serverName: "a.wild.example.com", mayDial: true},
	})
}

// decisionsAreTold attacks N9.
func (m *Machine) decisionsAreTold(ctx context.Context) audit.Result {
	n, err := m.network(ctx)
	if err != nil {
		return noStart(err)
	}
	defer n.close()
	if err := n.control(ctx); err != nil {
		return noControl(err.Error())
	}
	if _, _, err := n.ask(ctx, 0, connectTo("blocked.test:443"), "blocked.test"); err != nil {
		return noStart(err)
	}
	told := n.decisions()
	allowed := slices.ContainsFunc(told, func(a egress.Access) bool { return a.Allowed && a.Host == allowedHost && a.Port == 443 })
	blocked := slices.ContainsFunc(told, func(a egress.Access) bool { return !a.Allowed && a.Host == "blocked.test" && a.Reason != "" })
	if !allowed || !blocked {
		return audit.Break(audit.BuiltIn, "of an allowed and a blocked connection, reported were: %v", told)
	}
	// If a decision cannot be recorded, nothing may flow.
	n.mu.Lock()
	n.refuse = errors.New("the journal is full")
	n.mu.Unlock()
	if _, through, _ := n.ask(ctx, 0, connectTo(allowedHost+":443"), allowedHost); through {
		return audit.Break(audit.BuiltIn, "a connection whose decision could not be recorded was carried")
	}
	return audit.Hold(audit.BuiltIn, "an allowed and a blocked connection were reported with host, port and reason, and one that could not be recorded was not carried")
}
