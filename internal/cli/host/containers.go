package host

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/perstack-go/perstack/internal/credentials"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/registry/oci"
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
	require, err := r.require()
	if err != nil {
		return nil, err
	}
	return oci.New(oci.Options{
		Login: login, Policies: require, HTTP: web, Trust: r.Trust, UserAgent: "perstack/" + version.String(),
		Clock: func() time.Time { return h.Source.Now() },
	})
}
