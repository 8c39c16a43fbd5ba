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
// server elsewhere. Start reading at [Source.Resolve]; repository.go speaks the protocol, and transport.go
// decides about every request.
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

	lock           sync.Mutex
	authorizations map[permit]string

	asking chan struct{}    // has one place; holding it allows to use the logins
	logins map[string]Login // by origin
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
	return &Source{
		options: o, authorizations: map[permit]string{}, asking: make(chan struct{}, 1), logins: map[string]Login{},
	}, nil
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
	if host == "docker.io" {
		host = "registry-1.docker.io" // Docker Hub has its registry elsewhere
	}
	return netaddr.NormalURL("https://" + host)
}

// Origin is the origin whose login counts for a reference.
func Origin(ref expert.OCI) string { return origin(ref.Host) }
