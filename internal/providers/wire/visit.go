package wire

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// fetchAttempt bounds the wait for a connection, so that an address that never answers
// does not hide the others.
const fetchAttempt = 10 * time.Second

// get asks one address after another, until one answers.
func (f *Fetcher) get(ctx context.Context, u *url.URL) (*http.Response, error) {
	if f.ByName {
		return f.getByName(ctx, u)
	}
	addrs, err := f.decide(ctx, u)
	if err != nil {
		return nil, err
	}
	proxy, err := f.proxy(ctx, u)
	if err != nil {
		return nil, err
	}
	err = refusal("the host of its address is not known")
	for _, addr := range addrs {
		response, failed := f.ask(ctx, u, addr.String(), proxy)
		if failed == nil {
			return response, nil
		}
		err = failed
	}
	return nil, err
}

// getByName leaves it to the proxy where a name leads. What the name itself tells is
// judged here all the same.
func (f *Fetcher) getByName(ctx context.Context, u *url.URL) (*http.Response, error) {
	if err := f.check(u); err != nil {
		return nil, err
	}
	proxy, err := f.proxy(ctx, u)
	if err != nil {
		return nil, err
	}
	if proxy == nil {
		return nil, refusal("there is no way to its server")
	}
	return f.ask(ctx, u, strings.TrimRight(u.Hostname(), "."), proxy)
}

// ask asks the server at an address. The request is for the address itself, so that
// neither a second look-up nor a proxy's own comes to another one; the server and its
// certificate are held to the name.
func (f *Fetcher) ask(ctx context.Context, u *url.URL, addr string, proxy *url.URL) (*http.Response, error) {
	pinned := *u
	pinned.Fragment = ""
	pinned.Host = net.JoinHostPort(addr, portOf(u))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, pinned.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Host = u.Host
	request.Header.Set("Accept", "*/*")
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set("User-Agent", "perstack")
	return f.transport(strings.TrimRight(u.Hostname(), "."), proxy).RoundTrip(request)
}

func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}

// transport is one for a single request. Of the run's client it has the authorities, and
// no certificate of ours: that would say who asks.
func (f *Fetcher) transport(name string, proxy *url.URL) *http.Transport {
	connect := f.connect
	if connect == nil {
		connect = (&net.Dialer{Timeout: fetchAttempt}).DialContext
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name}
	if base := f.base(); base != nil && base.TLSClientConfig != nil {
		secure.RootCAs = base.TLSClientConfig.RootCAs
	}
	return &http.Transport{
		Proxy:                  http.ProxyURL(proxy),
		DialContext:            connect,
		TLSClientConfig:        secure,
		TLSHandshakeTimeout:    fetchAttempt,
		DisableKeepAlives:      true,
		DisableCompression:     true, // a bomb is not unpacked
		MaxResponseHeaderBytes: 64 << 10,
		OnProxyConnectResponse: proxyRefusal{}.answer,
	}
}

func (f *Fetcher) base() *http.Transport {
	if f.HTTP == nil {
		return nil
	}
	base, _ := f.HTTP.Transport.(*http.Transport)
	return base
}

// proxy is the one that the run's client would take, decided on the name.
func (f *Fetcher) proxy(ctx context.Context, u *url.URL) (*url.URL, error) {
	base := f.base()
	if base == nil || base.Proxy == nil || u.Scheme != "https" {
		return nil, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	return base.Proxy(request)
}
