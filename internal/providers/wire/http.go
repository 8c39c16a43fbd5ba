package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"
)

// HTTPOptions say how providers are reached. The zero value reaches them directly, and
// trusts the authorities that the system trusts.
type HTTPOptions struct {
	Proxy func(*http.Request) (*url.URL, error)
	Roots *x509.CertPool // authorities for certificates; nil: those of the system

	// Egress is perstack's own egress proxy, if it is the only way out. Every request goes
	// through it, and a request that it could read is not sent. Proxy is not used then.
	Egress *url.URL
}

// NewHTTPClient returns the client of a run. proxy may be nil.
func NewHTTPClient(proxy func(*http.Request) (*url.URL, error)) *http.Client {
	return HTTPOptions{Proxy: proxy}.Client()
}

// Client returns the client of a run.
func (o HTTPOptions) Client() *http.Client {
	transport := &http.Transport{
		Proxy:                  encrypted(o.Proxy),
		TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    20 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    1000, // what many Runs at once have opened serves their next turns too
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true, // a stream gains nothing, and a bomb is not unpacked
		MaxResponseHeaderBytes: 64 << 10,
		OnProxyConnectResponse: proxyRefusal{}.answer,
		// A connection that died unnoticed, of a laptop that slept, would be used for
		// every retry as well.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
	if o.Egress != nil {
		onlyThrough(transport, o.Egress)
	}
	return &http.Client{Transport: transport, CheckRedirect: stay}
}

// encrypted keeps a proxy from requests that it could read. They go to this machine, or
// without a key to one that the user knows (see Check), and need none.
func encrypted(proxy func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(r *http.Request) (*url.URL, error) {
		if proxy == nil || r.URL.Scheme != "https" {
			return nil, nil
		}
		return proxy(r)
	}
}

// Staying is a copy of a client that goes nowhere else with what it carries: it follows no
// redirect and has no cookies.
func Staying(client *http.Client) *http.Client {
	staying := *client
	staying.CheckRedirect, staying.Jar = stay, nil
	return &staying
}

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// onlyThrough sends everything of a transport through the egress proxy. Nothing else is
// dialled, so a dial that fails is about the proxy.
func onlyThrough(t *http.Transport, egress *url.URL) {
	dial := t.DialContext
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		if r.URL.Scheme != "https" {
			return nil, errPlain // the proxy could read it, and so could others in its network
		}
		return egress, nil
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, &proxyDown{err}
		}
		return conn, nil
	}
	t.OnProxyConnectResponse = proxyRefusal{egress: true}.answer
}

var errPlain = errors.New("its address is not https, and nothing else goes out of here")

type proxyDown struct{ error }

func (p *proxyDown) Unwrap() error { return p.error }

// reasonHeader is where perstack's egress proxy says in one word why it refuses.
const reasonHeader = "Perstack-Reason"

const (
	refusedHint = "the egress proxy does not allow it; its proxyAccess event says why"
	silentHint  = "the egress proxy could not connect to it"
	closedHint  = "the egress proxy does not answer"
	nameHint    = "check the base URL, region, location or resource name"
)

func egressHint(reason string) string {
	switch reason {
	case "resolve":
		return nameHint
	case "unreached":
		return silentHint
	}
	return refusedHint
}
