// Package client talks to one registry over HTTP, and believes only what it can prove.
//
// A registry of ours has a transparency log. Every Expert that [Client.Resolve] returns was parsed from
// bytes whose digest is in a leaf of that log, under exactly this name and version; the log is signed by the
// key that is configured, or else was seen first; and it only grew since this machine last saw it. What
// cannot be proved is an [*Error] that says what was seen, and nothing of it is stored. [Client.Offline]
// returns what was verified before, without a request.
//
// The original registry has no log. Its Experts are marked as unverified, and a version that changes after
// it was seen once is refused. A registry that once had a log cannot become one without.
//
// The package follows no redirect to another origin, and none with a key, which goes to the configured origin
// only. Start reading at [New], then [Client.Resolve] and verify.go.
package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/registry/trust"
)

// Options say which registry it is, and how it is reached.
type Options struct {
	BaseURL string
	// Insecure allows plain HTTP to this machine.
	Insecure bool
	// LogKey is the verifier key of the registry's log; if it is empty, the key that is seen first counts.
	LogKey string
	// NewLogKey says that the user has named LogKey, so that it replaces one that was seen before.
	NewLogKey bool
	// Witnesses are the keys of those who cosign the log, and RequireWitnesses is how many of them must have
	// cosigned a checkpoint before it counts.
	Witnesses        []string
	RequireWitnesses int
	// Key is the API key; empty if there is none.
	Key string
	// PrivateScopes are those whose Experts can only be read with the key, such as @acme. All other reads are
	// made without it.
	PrivateScopes []string
	// Policies say for scopes such as @acme what their Experts must prove; "" is for names without a scope.
	Policies map[string]Require

	HTTP      *http.Client // makes the connections; its redirects and cookies are not used
	Trust     *trust.Store
	UserAgent string
	Log       *slog.Logger
	Clock     func() time.Time
	// Wait waits before another try; nil waits for real.
	Wait func(ctx context.Context, d time.Duration) error
	// Timeout is that of one request with its answer; 0 is 30 seconds.
	Timeout time.Duration
}

// DefaultTimeout is how long a request and its answer can take.
const DefaultTimeout = 30 * time.Second

// A Client is one registry.
type Client struct {
	options Options
	base    *url.URL
	http    *http.Client
	log     *trust.Log
	// witnesses are those of the options.
	witnesses []*tlog.Witness
	// unverified says once that a registry has no log.
	unverified sync.Once
}

// New returns the client of a registry. It makes no request.
func New(o Options) (*Client, error) {
	base, err := parseBase(o.BaseURL, o.Insecure)
	if err != nil {
		return nil, &Error{Kind: Configuration, Host: hostOf(o.BaseURL), Operation: "address", Err: err}
	}
	if o.HTTP == nil || o.Trust == nil || o.Clock == nil {
		return nil, errors.New("a client of a registry needs an HTTP client, a store and a clock")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	c := &Client{options: o, base: base, log: o.Trust.Log(base.String())}
	if strings.ContainsFunc(o.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, c.failf(Configuration, "key", "the API key has characters that no key has")
	}
	if o.LogKey != "" {
		if _, err := newVerifier(o.LogKey); err != nil {
			return nil, c.fail(Configuration, "log key", err)
		}
	}
	if c.witnesses, err = parseWitnesses(o.Witnesses, o.RequireWitnesses); err != nil {
		return nil, c.fail(Configuration, "witnesses", err)
	}
	for scope, require := range o.Policies {
		if err := require.check(); err != nil {
			return nil, c.fail(Configuration, "policy of "+scope, err)
		}
	}
	staying := *o.HTTP
	staying.CheckRedirect, staying.Jar, staying.Timeout = checkRedirect, nil, 0
	c.http = &staying
	return c, nil
}

// URL is the address of the registry, as it is compared and stored.
func (c *Client) URL() string { return c.base.String() }

// parseBase reads the address of a registry. There is one text for each address.
func parseBase(text string, insecure bool) (*url.URL, error) {
	check := netaddr.RegistryURL
	if insecure { // plain HTTP to this machine only
		check = func(s string) (message, hint string) { return netaddr.BaseURL(s, false, true) }
	}
	if message, hint := check(text); message != "" {
		return nil, fmt.Errorf("the URL %s; %s", message, hint)
	}
	u, err := url.Parse(text)
	if err != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, errors.New("the URL has a query or a fragment; write it like https://registry.example")
	}
	if u, err = url.Parse(netaddr.NormalURL(text)); err != nil {
		return nil, err
	}
	clean := u.JoinPath() // without .. and the like
	clean.Path, clean.RawPath = strings.TrimRight(clean.Path, "/"), ""
	return clean, nil
}

func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}

// wait waits for real.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// jitter spreads the tries of many clients: between half of a time and all of it.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
