package egress

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/netaddr"
)

// tlsPort is the only port that the proxy connects to.
const tlsPort = 443

// admit checks method, token, host, port and list of a request. It returns the canonical
// host, also if only the list does not have it; the text of the request is not used after that.
func (d *compiledListener) admit(q request) (string, *denial) {
	if q.method != http.MethodConnect {
		return "", refused(ReasonMethod, "only CONNECT is supported, for https; plain http is refused")
	}
	if !d.knows(q) {
		return "", refused(ReasonToken, "this proxy needs a token: user %s and the token as password", TokenUser)
	}
	name, port := splitTarget(q.target)
	host, err := ParseHost(name)
	if err != nil {
		return "", refused(ReasonHost, "%s", err)
	}
	if port != strconv.Itoa(tlsPort) {
		return "", refused(ReasonPort, "only port %d may be reached", tlsPort)
	}
	// The header Host decides nothing, but a client that sends two names tries to deceive.
	if text, ok := q.header["host"]; ok {
		name, port := splitTarget(text)
		if other, err := ParseHost(name); err != nil || other != host || port != "" && port != strconv.Itoa(tlsPort) {
			return "", refused(ReasonRequest, "the header Host names another host than the request")
		}
	}
	if !d.allow.Allows(host) {
		return host, notListed(host)
	}
	return host, nil
}

// serves reports whether the listener takes requests from an address.
func (d *compiledListener) serves(from net.Addr) bool {
	if len(d.Clients) == 0 {
		return true
	}
	at, err := netip.ParseAddrPort(from.String())
	return err == nil && slices.ContainsFunc(d.Clients, func(b netip.Prefix) bool { return b.Contains(at.Addr().Unmap()) })
}

// knows reports whether the request has the token. It compares hashes of equal length, so
// that the time it takes says nothing about the token.
func (d *compiledListener) knows(q request) bool {
	if d.secret == "" {
		return true
	}
	scheme, shown, _ := strings.Cut(q.header["proxy-authorization"], " ")
	want, got := sha256.Sum256([]byte(d.secret)), sha256.Sum256([]byte(strings.TrimLeft(shown, " ")))
	return strings.EqualFold(scheme, "basic") && subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// reach connects to an allowed host, and returns the address.
func (p *Proxy) reach(ctx context.Context, host string) (net.Conn, string, *denial) {
	ctx, cancel := context.WithTimeout(ctx, p.limits.dial)
	defer cancel()
	if p.upstream.address != "" {
		return p.reachThrough(ctx, host)
	}
	d := &dialer{origin: origin{scheme: "https", host: host, port: tlsPort}, resolver: p.resolver, connect: p.connect}
	addrs, err := d.decide(ctx)
	var no *Refusal
	switch {
	case errors.As(err, &no):
		return nil, "", refused(ReasonAddress, "%s", no.Text)
	case err != nil:
		return nil, "", refused(ReasonResolve, "the name %s cannot be looked up, or has no address", host)
	}
	conn, addr, err := d.connectAny(ctx, addrs)
	if err != nil {
		return nil, "", refused(ReasonUnreached, "no server answers at %s", host)
	}
	return conn, addr.String(), nil
}

// reachThrough connects through the upstream proxy, which looks the name up. Private names
// are refused here as well.
func (p *Proxy) reachThrough(ctx context.Context, host string) (net.Conn, string, *denial) {
	if netaddr.HostReach(host) != netaddr.Public {
		return nil, "", refused(ReasonAddress, "%s is not a public address", host)
	}
	conn, err := p.connect(ctx, "tcp", p.upstream.address)
	if err != nil {
		return nil, "", refused(ReasonUnreached, "the upstream proxy does not answer")
	}
	if err := p.upstream.ask(ctx, conn, net.JoinHostPort(host, strconv.Itoa(tlsPort))); err != nil {
		_ = conn.Close()
		return nil, "", refused(ReasonUnreached, "the upstream proxy did not connect to %s: %s", host, err)
	}
	return conn, "", nil
}

// ask makes the upstream proxy connect to host:port.
func (u *upstream) ask(ctx context.Context, conn net.Conn, authority string) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	text := "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n"
	if u.secret != "" {
		text += "Proxy-Authorization: Basic " + u.secret + "\r\n"
	}
	if _, err := io.WriteString(conn, text+"\r\n"); err != nil {
		return errors.New("it closed the connection")
	}
	head, rest, err := readHead(conn)
	if err != nil {
		return errors.New("it gave no answer")
	}
	line, _, _ := strings.Cut(string(head), "\r\n")
	version, status, _ := strings.Cut(line, " ")
	status, _, _ = strings.Cut(status, " ")
	code, err := strconv.ParseUint(status, 10, 16)
	switch {
	case err != nil || len(status) != 3 || version != "HTTP/1.1" && version != "HTTP/1.0":
		return errors.New("it does not speak HTTP")
	case code < 200 || code > 299:
		return errors.New("it answered " + status)
	case len(rest) > 0:
		return errors.New("it sent bytes before the tunnel began") // no TLS server does
	}
	if !stop() {
		return errors.New("it took too long")
	}
	return nil
}
