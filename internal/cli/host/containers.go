package host

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/credentials"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/oci"
	"github.com/perstack-go/perstack/internal/registry/resolve"
	"github.com/perstack-go/perstack/internal/registry/scopes"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/version"
)

// Containers returns the container registries, with the logins of the user for them. It makes no request.
// Programs that keep keys are started by commands.
func (r *Registries) Containers(commands *sandbox.Supervisor) (*oci.Source, error) {
	logins, err := r.host.Credentials(r.project, r.workspace, commands)
	if err != nil {
		return nil, err
	}
	return r.containers(func(ctx context.Context, origin string) (oci.Login, error) {
		login, err := logins.Registry(ctx, origin, "") // no variable is for them
		if errors.Is(err, credentials.ErrNone) {
			return oci.Login{}, nil
		}
		// Many of them take a token as the password, with any name.
		return oci.Login{Username: cmp.Or(login.Account, "token"), Password: login.Key}, err
	})
}

func (r *Registries) containers(login func(context.Context, string) (oci.Login, error)) (*oci.Source, error) {
	h := r.host
	web, err := providers.HTTPClient(h.Getenv, h.Dir)
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	require, _, err := r.require()
	if err != nil {
		return nil, err
	}
	return oci.New(oci.Options{
		Login: login, Policies: require, HTTP: web, Trust: r.Trust, UserAgent: "perstack/" + version.String(), Log: h.Logger(false),
		Clock: func() time.Time { return h.Source.Now() },
	})
}

// stored returns the source that was decided on, for what this machine has verified before: without logins.
func (r *Registries) stored(d scopes.Decision) (resolve.Source, error) {
	if expert.IsOCI(d.Registry.URL) {
		return r.containers(nil)
	}
	return r.Stored(d)
}

// askedContainers adds a container registry, once. One that the user named, or has a policy for, is not
// asked about.
func (r *Registries) askedContainers(all []consent.Registry, d scopes.Decision) []consent.Registry {
	one := consent.Registry{Name: d.Registry.Name, URL: d.Registry.URL}
	named, err := expert.ParseOCI(r.typed)
	if !d.Asks || err == nil && named.Host == d.Registry.Name || slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}

// containerOrigin says what proves an Expert of a container registry.
func containerOrigin(e *client.Expert) string {
	text := "pinned by its digest"
	if e.Unverified {
		text = "which only the registry says"
	}
	if e.Signer == "" {
		return text + ", not signed"
	}
	return text + ", signed by " + e.Signer
}
