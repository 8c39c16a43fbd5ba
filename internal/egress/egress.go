// Package egress decides about the network: which hosts may be reached, and at which
// addresses. The address that was checked is the address that is dialled.
//
// A name is looked up once for a connection, all its addresses are checked, and one of
// these addresses is dialled, so a name server cannot give another answer in between.
// Proxies named by the environment are not used, only one that a policy names. Nothing is
// kept between requests except connections: no cookies.
//
// Start reading at [Client], which is for one server, or at [Proxy], which is for programs
// that reach many.
package egress

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
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
	// Its host is an address. Then nothing but the proxy is dialled, and no name is looked
	// up: the proxy checks whether the addresses of the origin are public. Plain http is
	// refused, since the proxy could read it.
	Proxy *url.URL
}

// A Resolver looks names up. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

func orSystem(r Resolver) Resolver { return cmp.Or[Resolver](r, &net.Resolver{}) }

// DefaultMaxBody is the size of the largest answer when a policy does not say.
const DefaultMaxBody = 16 << 20

// The limits of what happens before a request is sent. The context of the request limits
// the time for an answer: a tool may work for an hour before it answers.
const (
	dialTimeout  = 30 * time.Second // look-up and all attempts
	tlsTimeout   = 10 * time.Second
	idleTimeout  = 90 * time.Second
	maxHeader    = 256 << 10
	maxRedirects = 5
)

// Client returns a client for one origin. Requests to others, including redirects, fail
// before anything is dialled. Addresses are checked when they are dialled, and the checked
// address is dialled. Its errors wrap a [*Refusal] when this package refused a request.
func Client(p Policy) *http.Client { return newClient(p, (&net.Dialer{}).DialContext) }

// newClient takes the function that opens connections, so that tests see which addresses
// are dialled.
func newClient(p Policy, connect connectFunc) *http.Client {
	g := &guard{maxBody: cmp.Or(p.MaxBody, DefaultMaxBody)}
	g.origin, g.broken = originOf(p.Origin)
	d := &dialer{origin: g.origin, allowPrivate: p.AllowPrivate, resolver: orSystem(p.Resolver), connect: connect}
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

// A Refusal is an error for what this package refuses. Its text names hosts and addresses,
// never paths or queries, which may contain keys.
type Refusal struct {
	Kind Kind
	Text string
}

// Kind says what was refused.
type Kind int

// What is refused, and why.
const (
	BadOrigin      Kind = iota // the policy has no origin that can be spoken to
	OtherOrigin                // a request or a redirect to somewhere else
	BadRedirect                // a redirect that goes in circles, or makes another request
	PrivateAddress             // an address that is not public, without permission
	PlainText                  // http to an address that is not this machine
	TooLarge                   // an answer above the limit
	Encoded                    // a compressed answer that was not asked for
)

func (r *Refusal) Error() string { return r.Text }

func refuse(kind Kind, format string, args ...any) *Refusal {
	return &Refusal{kind, fmt.Sprintf(format, args...)}
}
