package providers

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// The variables that decide how every provider is reached. They allow reading all traffic,
// so an env file must not set them.
const (
	proxyVariable = "PERSTACK_PROXY_URL"
	rootsVariable = "PERSTACK_CA_CERTS"
)

const maxRoots = 4 << 20 // as large as some systems' own lists, and more

// config is what all providers that are reached over HTTP share. It takes the results of what
// finds the base URL. Token requests and downloads use the same client.
func (o *opening) config(base string, err error) (wire.Config, error) {
	if err != nil {
		return wire.Config{}, err
	}
	client, err := o.http()
	if err != nil {
		return wire.Config{}, err
	}
	header := make(http.Header)
	for name, value := range o.Setting.Headers {
		header.Set(name, value)
	}
	e := o.Expert
	if e == nil {
		e = &expert.Expert{}
	}
	return wire.Config{
		Client:      wire.Client{BaseURL: base, Header: header, HTTP: client},
		Provider:    o.Provider,
		Model:       o.Model,
		Known:       o.known(),
		MaxTokens:   o.Entry.MaxOutputTokens,
		Tools:       e.ProviderTools,
		ToolOptions: e.ProviderToolOptions,
		Skills:      e.ProviderSkills,
		Extra:       o.Setting.ExtraBody,
		Fetch:       (&wire.Fetcher{HTTP: client, ByName: o.Proxy != nil}).Fetch,
		Reaches:     o.reaches,
	}, nil
}

func (o *opening) known() model.Known {
	known, _ := model.Lookup(o.Provider, o.Model)
	return known.With(o.Entry)
}

func (o *opening) http() (*http.Client, error) {
	options := wire.HTTPOptions{Egress: o.Proxy}
	var err error
	if options.Proxy, err = o.proxy(); err != nil {
		return nil, err
	}
	if options.Roots, err = o.roots(); err != nil {
		return nil, err
	}
	return options.Client(), nil
}

// proxy is the one that the user names, else the one of the environment; nil if the egress
// proxy is used. Errors do not show an address, because it may hold a password.
func (o *opening) proxy() (func(*http.Request) (*url.URL, error), error) {
	if egress := o.Proxy; egress != nil {
		if egress.Host == "" || egress.Scheme != "http" && egress.Scheme != "https" {
			return nil, o.errorf("the proxy that everything goes through is not an address like http://host:port")
		}
		return nil, nil
	}
	proxy, err := o.onlyUsers(proxyVariable)
	switch {
	case err != nil:
		return nil, err
	case proxy == "" && o.bundled:
		return nil, nil
	case proxy == "":
		return http.ProxyFromEnvironment, nil
	}
	u, err := url.Parse(proxy)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return nil, o.errorf("%s is not a URL; write it like http://proxy:3128", proxyVariable)
	}
	return http.ProxyURL(u), nil
}

// roots are the authorities of the system and those of a file, such as that of a company
// whose proxy inspects connections; nil if no file is named.
func (o *opening) roots() (*x509.CertPool, error) {
	path, err := o.onlyUsers(rootsVariable)
	if err != nil || path == "" {
		return nil, err
	}
	data, err := o.readFile(o.path(path), maxRoots)
	if err != nil {
		return nil, o.errorf("%s names %s, which cannot be read: %w", rootsVariable, path, err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // the file is all there is then
	}
	count := 0
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		count++
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, o.errorf("%s names %s, whose certificate number %d cannot be read: %w", rootsVariable, path, count, err)
		}
		pool.AddCert(certificate)
	}
	if count == 0 {
		return nil, o.errorf("%s names %s, which holds no certificate; it is a file of PEM blocks that begin with -----BEGIN CERTIFICATE-----", rootsVariable, path)
	}
	return pool, nil
}

func (o *opening) path(name string) string {
	if filepath.IsAbs(name) || o.Dir == "" {
		return name
	}
	return filepath.Join(o.Dir, name)
}

// HTTPClient returns a client for servers that are no models, such as a registry. It uses the proxy and
// the authorities that the user's environment names for models.
func HTTPClient(environment func(name string) string, dir string) (*http.Client, error) {
	return newOpening(Config{
		Provider: "registry", Dir: dir,
		Variables: func(name string) Variable { return Variable{Value: environment(name)} },
	}).http()
}
