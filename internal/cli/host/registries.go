package host

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/credentials"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/scopes"
	"github.com/perstack-go/perstack/internal/registry/trust"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/version"
)

// Registries decide where Experts come from, and connect to these places.
type Registries struct {
	*scopes.Rules
	// Bound is the file in which a command binds what it used, after everything was verified.
	Bound scopes.File
	// Trust is what this machine has verified.
	Trust *trust.Store

	host               *Host
	project, workspace string
	typed              string // the key that the user named
}

// Registries returns the registries of the user in a project. The configuration is nil if there is no
// project.
func (h *Host) Registries(config *manifest.Config, workspace string) (*Registries, error) {
	r := &Registries{host: h, project: workspace, workspace: workspace}
	if config != nil {
		r.project = config.Dir
	}
	user, err := h.userConfig(r.project, workspace)
	if err != nil {
		return nil, err
	}
	dir, err := h.StateDir()
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	r.Trust = trust.Open(filepath.Join(string(dir), "registry"))
	r.Bound = scopes.File{Path: filepath.Join(string(dir), scopes.FileName)}
	bound, err := r.Bound.Load()
	if err == nil && (len(bound.Subjects) > 0 || len(bound.LogKeys) > 0) {
		err = h.planted(r.Bound.Path, r.project, workspace)
	}
	if err != nil {
		return nil, Usagef("%s is not used: %w", r.Bound.Path, err)
	}
	if r.Rules, err = scopes.New(user, config, bound); err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	return r, nil
}

// Asked returns the registries that a run would ask for these Experts and that only the project names.
// The user has to allow them before any request is sent.
func (r *Registries) Asked(keys []string) (all []consent.Registry, err error) {
	for _, key := range keys {
		d, err := r.For(key)
		if err != nil {
			return nil, &ExitError{Code: ExitUsage, Err: err}
		}
		if expert.IsOCI(key) {
			all = r.askedContainers(all, d)
			continue
		}
		if !d.Asks {
			continue
		}
		one := consent.Registry{Name: d.Registry.Name, URL: d.Registry.URL, Scope: d.Subject, KeyOnly: d.From != scopes.Project || d.Default}
		if d.KeyFrom == scopes.Project {
			one.LogKey = d.Registry.LogKey
		}
		if one.Name == manifest.DefaultRegistry || one.KeyOnly {
			one.Scope = ""
		}
		all = append(all, one)
	}
	return all, nil
}

// Client returns the client of the registry that was decided on, with the key of the user if there is
// one. It makes no request. Programs that keep keys are started by commands.
func (r *Registries) Client(ctx context.Context, d scopes.Decision, commands *sandbox.Supervisor) (*client.Client, error) {
	h := r.host
	logins, err := h.Credentials(r.project, r.workspace, commands)
	if err != nil {
		return nil, err
	}
	environment := ""
	if d.Default {
		environment = h.Getenv(credentials.Variable)
	}
	login, err := logins.Registry(ctx, d.Registry.URL, environment)
	if err != nil && !errors.Is(err, credentials.ErrNone) {
		return nil, err
	}
	return r.client(d, login.Key)
}

// Stored is [Registries.Client] for what this machine has verified before: without a key, and nothing
// is started for it.
func (r *Registries) Stored(d scopes.Decision) (*client.Client, error) { return r.client(d, "") }

func (r *Registries) client(d scopes.Decision, key string) (*client.Client, error) {
	h := r.host
	web, err := providers.HTTPClient(h.Getenv, h.Dir)
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	require, private, err := r.require()
	if err != nil {
		return nil, err
	}
	return client.New(client.Options{
		BaseURL: d.Registry.URL, LogKey: d.Registry.LogKey, Key: key,
		Witnesses: d.Registry.Witnesses, RequireWitnesses: d.Registry.RequireWitnesses,
		NewLogKey: d.KeyFrom == scopes.User,
		Insecure:  d.From == scopes.User, // a project cannot name an address without encryption
		Policies:  require, PrivateScopes: private,
		HTTP: web, Trust: r.Trust, UserAgent: "perstack/" + version.String(), Log: h.Logger(false), Clock: func() time.Time { return h.Source.Now() },
	})
}

// require is what Experts have to prove, by all scopes, and which scopes are read with a key: an Expert can
// delegate to one of another scope.
func (r *Registries) require() (require map[string]client.Require, private []string, err error) {
	policies, err := r.Policies()
	if err != nil {
		return nil, nil, &ExitError{Code: ExitUsage, Err: err}
	}
	require = map[string]client.Require{}
	for scope, policy := range policies {
		one := client.Require{Keys: policy.Keys}
		if policy.Strict {
			one.Level = client.Level(policy.Require)
		}
		require[scope] = one
		if policy.Private {
			private = append(private, scope)
		}
	}
	return require, private, nil
}
