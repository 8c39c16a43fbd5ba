package wire

import (
	"cmp"
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
	hosts, err := f.decide(ctx, u)
	if err != nil {
		return nil, err
	}
	proxy, err := f.proxy(ctx, u)
	switch {
	case err != nil:
		return nil, err
	case proxy == nil && f.ByName:
		return nil, refusal("there is no way to its server")
	}
	err = refusal("the host of its address is not known")
	for _, host := range hosts {
		response, failed := f.ask(ctx, u, host, proxy)
		if failed == nil {
			return response, nil
		}
		err = failed
	}
	return nil, err
}

// ask asks the server at an address. The request is for the address itself, so that
// neither a second look-up nor a proxy's own comes to another one; the server and its
// certificate are held to the name.
func (f *Fetcher) ask(ctx context.Context, u *url.URL, host string, proxy *url.URL) (*http.Response, error) {
	pinned := *u
	pinned.Fragment = ""
	pinned.Host = net.JoinHostPort(host, cmp.Or(u.Port(), "443"))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, pinned.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Host = u.Host
	request.Header.Set("Accept", "*/*")
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set("User-Agent", userAgent())
	return f.transport(strings.TrimRight(u.Hostname(), "."), proxy).RoundTrip(request)
}

// transport is one for a single request. Of the run's client it has the authorities, and
// no certificate of ours: that would identify the user.
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
	if base == nil || base.Proxy == nil {
		return nil, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	return base.Proxy(request)
}
