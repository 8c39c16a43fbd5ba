// Package oci reads Experts from container registries and writes them there.
//
// An Expert is one manifest with one layer, which is the canonical text of its definition. A reference such as
// oci://registry.example/acme/reader:1.0.0@sha256:… names the manifest. What it says with a digest is checked
// by that digest, so the server has no say in it, and what was fetched once is never asked for again. A
// container registry has no log: what a tag means today is only its word, unless a key that the user requires
// has signed the definition. [client.Expert.Unverified] says so.
//
// A [Source] returns the types of package client, so that container registries are a source like any other.
// Delegates are references with a digest too, to the same registry: [Source.Pin] makes them before an Expert is
// pushed.
//
// Credentials go to the origin that they are for, and to no other: not with a redirect, and not to a token
// server elsewhere. Start reading at [Source.Resolve]; transport.go decides about every request.
package oci

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/trust"
)

// A Login is what a server accepts.
type Login struct {
	Username string
	Password string
}

// Options say how container registries are reached.
type Options struct {
	// Login returns the login for an origin such as https://registry.example; an empty one if there is none.
	// Nil means that there are none.
	Login func(ctx context.Context, origin string) (Login, error)
	// Policies say what Experts must prove. A key is the scope of the Expert's name, such as @acme, or the
	// beginning of a reference, such as oci://registry.example/acme. All that apply must be met.
	Policies map[string]client.Require

	HTTP      *http.Client // makes the connections; its redirects and cookies are not used
	Trust     *trust.Store
	UserAgent string
	Log       *slog.Logger
	Clock     func() time.Time
	// Wait waits before another try; nil waits for real.
	Wait func(ctx context.Context, d time.Duration) error
	// Timeout is that of fetching or storing one thing; 0 is [client.DefaultTimeout].
	Timeout time.Duration
}

// A Source is all container registries.
type Source struct {
	options Options
	cache   auth.Cache // tokens

	lock         sync.Mutex
	repositories map[string]*remote.Repository // by name: each learns what its server can do
}

// New returns the source. It makes no request.
func New(o Options) (*Source, error) {
	if o.HTTP == nil || o.Trust == nil || o.Clock == nil {
		return nil, errors.New("container registries need an HTTP client, a store and a clock")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	if o.Timeout <= 0 {
		o.Timeout = client.DefaultTimeout
	}
	for name, require := range o.Policies {
		if _, err := fingerprints(require.Keys); err != nil {
			return nil, &client.Error{Kind: client.Configuration, Host: name, Operation: "policy", Err: err}
		}
	}
	return &Source{options: o, cache: auth.NewCache(), repositories: map[string]*remote.Repository{}}, nil
}

// Latest is the tag of a reference that has neither tag nor digest.
const Latest = "latest"

// parse reads a reference.
func parse(operation, text string) (expert.OCI, error) {
	ref, err := expert.ParseOCI(text)
	if err == nil && netaddr.HostReach(hostname(ref.Host)) == netaddr.NoHost {
		err = fmt.Errorf("%q is not a host", ref.Host)
	}
	if err != nil {
		return ref, &client.Error{Kind: client.Configuration, Host: ref.Host, Operation: operation, Err: err}
	}
	return ref, nil
}

func hostname(host string) string {
	name, _, _ := strings.Cut(host, ":")
	return name
}

// isPlain reports whether a host is reached without encryption: this machine only.
func isPlain(host string) bool { return netaddr.HostReach(hostname(host)) == netaddr.Loopback }

// origin is where the requests for a host go.
func origin(host string) string {
	if isPlain(host) {
		return netaddr.NormalURL("http://" + host)
	}
	return netaddr.NormalURL("https://" + registry.Reference{Registry: host}.Host()) // that of Docker Hub has another name
}

// Origin is the origin whose login counts for a reference.
func Origin(ref expert.OCI) string { return origin(ref.Host) }

// repository returns the client of a repository.
func (s *Source) repository(ref expert.OCI) *remote.Repository {
	s.lock.Lock()
	defer s.lock.Unlock()
	if known := s.repositories[ref.Name()]; known != nil {
		return known
	}
	guard := &transport{source: s, base: s.options.HTTP.Transport, host: ref.Host, origin: origin(ref.Host)}
	staying := *s.options.HTTP
	staying.Transport, staying.CheckRedirect, staying.Jar, staying.Timeout = guard, guard.checkRedirect, nil, 0
	web := &auth.Client{Client: &staying, Cache: s.cache, Credential: func(ctx context.Context, _ string) (auth.Credential, error) {
		login, err := s.login(ctx, guard.origin)
		return auth.Credential{Username: login.Username, Password: login.Password}, err
	}}
	web.SetUserAgent(s.options.UserAgent)
	made := &remote.Repository{
		Client: web, PlainHTTP: isPlain(ref.Host),
		Reference:            registry.Reference{Registry: ref.Host, Repository: ref.Repository},
		ManifestMediaTypes:   []string{manifestType, indexType},
		ReferrerListMaxPages: maxPages, MaxMetadataBytes: maxManifest,
		SkipReferrersGC: true, // many registries do not delete
	}
	s.repositories[ref.Name()] = made
	return made
}

func (s *Source) login(ctx context.Context, origin string) (Login, error) {
	if s.options.Login == nil {
		return Login{}, nil
	}
	return s.options.Login(ctx, origin)
}
