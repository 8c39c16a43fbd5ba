package evil

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A Probe is one attempt to get out.
type Probe struct {
	Target  string `json:"target"`
	Reached bool   `json:"reached"`
	Detail  string `json:"detail"` // what came back, or why nothing did
}

// patience is how long one attempt may take. A packet that was dropped gets no answer.
const patience = 3 * time.Second

// ProbeAll tries all targets. Each is a URL whose host is an address of this machine, or
// of one of the networks; names are not looked up, since a test must not ask the world:
//
//	tcp://127.0.0.1:80       connects
//	udp://127.0.0.1:53       sends a packet and waits for one
//	http://127.0.0.1:80/     asks, past every proxy
//	proxy+http://127.0.0.1/  asks by way of the proxy of the environment
//	https://127.0.0.1:443/   asks, whatever the certificate says
//	dns://127.0.0.1:53/name  asks a server for the address of a name
func ProbeAll(ctx context.Context, targets []string, networks []netip.Prefix) []Probe {
	probes := make([]Probe, len(targets))
	for i, target := range targets {
		detail, err := probe(ctx, target, networks)
		probes[i] = Probe{Target: target, Reached: err == nil, Detail: detail}
		if err != nil {
			probes[i].Detail = err.Error()
		}
	}
	return probes
}

func probe(ctx context.Context, target string, networks []netip.Prefix) (string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", errors.New("the target is not a URL")
	}
	if err := near(u, networks); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch u.Scheme {
	case "tcp":
		return dial(ctx, "tcp", u.Host, "")
	case "udp":
		return dial(ctx, "udp", u.Host, "evilmcp was here\n")
	case "http", "https":
		return get(ctx, target, nil)
	case "proxy+http", "proxy+https":
		return get(ctx, strings.TrimPrefix(target, "proxy+"), http.ProxyFromEnvironment)
	case "dns":
		return ask(ctx, u.Host, strings.Trim(u.Path, "/"))
	}
	return "", fmt.Errorf("scheme %q is unknown; use tcp, udp, http, https or dns", u.Scheme)
}

// near refuses to leave the machine, unless the test has a network of its own.
func near(u *url.URL, networks []netip.Prefix) error {
	addr, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return fmt.Errorf("%q is not an address; names are not looked up", u.Hostname())
	}
	addr = addr.Unmap()
	if addr.IsLoopback() || slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(addr) }) {
		return nil
	}
	return fmt.Errorf("%s is not this machine; a network of the test must be named", addr)
}

// dial connects, says something and returns the beginning of the answer. A TCP server
// that says nothing was reached all the same.
func dial(ctx context.Context, network, address, say string) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if say == "" {
		return "connected", nil
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return "", err
		}
	}
	if _, err := io.WriteString(conn, say); err != nil {
		return "", err
	}
	reply := make([]byte, 512)
	n, err := conn.Read(reply)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("answered %q", reply[:n]), nil
}

func get(ctx context.Context, target string, proxy func(*http.Request) (*url.URL, error)) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return "", err
	}
	transport := &http.Transport{
		Proxy: proxy,
		// Whether the bytes arrive is the question, not who receives them.
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
		DisableKeepAlives: true,
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	return response.Status, nil
}

// ask asks one server for a name, and no other.
func ask(ctx context.Context, server, name string) (string, error) {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, server)
	}}
	addresses, err := resolver.LookupHost(ctx, name)
	if err != nil {
		return "", err
	}
	return strings.Join(addresses, " "), nil
}
