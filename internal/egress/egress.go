// Package egress decides about the network: which hosts may be spoken to, and at which
// addresses. What is decided is what is dialled.
//
// A name is looked up once for a connection, all its addresses are judged, and one of
// those very addresses is dialled: a second answer of a lying name server is never asked
// for. Proxies named by the environment are not used, only one that a policy names; and
// nothing is kept between requests but connections: no cookies.
//
// Start reading at [Client], which speaks to one server, or at [Proxy], which stands in the
// way of programs that speak to many.
package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// A Policy says where a client may go.
type Policy struct {
	Origin *url.URL // scheme, host and port of every request; nothing else is dialled
	// AllowPrivate permits private and loopback addresses. Without it every address
	// that the name resolves to must be public. Plain http goes to loopback addresses
	// only, and so needs it.
	AllowPrivate bool
	RootCAs      *x509.CertPool // nil means those of the system
	MaxBody      int64          // bytes of an answer that is no stream of events; 0 means DefaultMaxBody
	Resolver     Resolver       // nil means that of the system
	// Proxy is an HTTP proxy through which the origin is reached, by CONNECT; nil for none.
	// Its host is an address. Nothing but the proxy is dialled then, and no name is looked
	// up: whether the addresses of the origin are public is for the proxy to judge, and
	// plain http is refused, as it would be read there.
	Proxy *url.URL
}

// A Resolver looks names up. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// DefaultMaxBody is the size of the largest answer when a policy does not say.
const DefaultMaxBody = 16 << 20

// The limits of what happens before a request is sent. How long an answer may take is
// for the context of the request to say: a tool may work for an hour before it answers.
const (
	dialTimeout  = 30 * time.Second // look-up and all attempts
	tlsTimeout   = 10 * time.Second
	idleTimeout  = 90 * time.Second
	maxHeader    = 256 << 10
	maxRedirects = 5
)

// Client returns a client that speaks to one origin. Requests to others, also by a
// redirect, fail before anything is dialled; addresses are checked when they are
// dialled, and the checked one is dialled. Its errors wrap a [*Refusal] when it was
// this package that said no.
func Client(p Policy) *http.Client { return newClient(p, (&net.Dialer{}).DialContext) }

// newClient takes the function that opens connections to addresses, so that tests see
// which ones are.
func newClient(p Policy, connect connectFunc) *http.Client {
	g := &guard{maxBody: p.MaxBody}
	if g.maxBody == 0 {
		g.maxBody = DefaultMaxBody
	}
	g.origin, g.broken = originOf(p.Origin)
	d := &dialer{origin: g.origin, allowPrivate: p.AllowPrivate, resolver: p.Resolver, connect: connect}
	if d.resolver == nil {
		d.resolver = &net.Resolver{}
	}
	if p.Proxy != nil && g.broken == nil {
		d.proxy, g.broken = proxyAddress(p.Proxy)
	}
	g.next = &http.Transport{
		DialContext:            d.dial,
		Proxy:                  nil, // one from the environment would see and choose the address
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: p.RootCAs},
		TLSHandshakeTimeout:    tlsTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // a small answer must not become a large one
		MaxResponseHeaderBytes: maxHeader,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConnsPerHost:    4,
	}
	if p.Proxy != nil {
		g.next.Proxy = http.ProxyURL(p.Proxy)
		g.next.OnProxyConnectResponse = answered
	}
	return &http.Client{Transport: g, CheckRedirect: g.redirect}
}
