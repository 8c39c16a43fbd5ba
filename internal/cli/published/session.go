// Package published is what the commands about published Experts have in common: the registry that an
// Expert belongs to, the versions there, and the screens on which a user chooses one.
//
// It changes nothing. Start reading at [Open], then [Session.Registry]; choose.go has the screens.
package published

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/oci"
	"github.com/perstack-go/perstack/internal/registry/scopes"
	"github.com/perstack-go/perstack/internal/sandbox"
)

// Flags are those that all these commands have.
type Flags struct {
	Config string
	JSON   bool
}

// Add adds the flags to a command.
func (f *Flags) Add(h *host.Host, cmd *cobra.Command) {
	host.AddLocalConfigFlag(cmd, &f.Config)
	h.JSONErrors(cmd, &f.JSON)
}

// A Session is one call of a command.
type Session struct {
	Host   *host.Host
	Config *manifest.Config // nil if there is none

	registries *host.Registries
	commands   *sandbox.Supervisor // starts programs that keep keys
}

// Open reads perstack.toml, which says where registries are, if there is one.
func Open(ctx context.Context, h *host.Host, config string) (*Session, error) {
	if err := host.RefuseRemote(config); err != nil {
		return nil, err
	}
	if _, err := h.TrustedConfig(ctx, config, nil); err != nil {
		return nil, err
	}
	s := &Session{Host: h}
	var err error
	s.Config, err = h.LoadConfig(config)
	if err != nil && (config != "" || !errors.Is(err, manifest.ErrNotFound)) {
		return nil, err
	}
	if s.registries, err = h.Registries(s.Config, h.Dir); err != nil {
		return nil, err
	}
	s.commands = sandbox.NewSupervisor()
	return s, nil
}

// Close ends the programs that were started.
func (s *Session) Close() error { return s.commands.Close() }

// A Registry is the one that an Expert belongs to.
type Registry struct {
	Decision scopes.Decision
	Client   *client.Client

	host       *host.Host
	registries *host.Registries
}

// Registry connects to the registry of an Expert. It makes no request, but can ask the user whether the
// registry gets any.
func (s *Session) Registry(ctx context.Context, name string) (*Registry, error) {
	d, err := s.registries.For(name)
	if err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	if err := s.registries.AllowKey(ctx, d); err != nil {
		return nil, err
	}
	r := &Registry{Decision: d, host: s.Host, registries: s.registries}
	if r.Client, err = s.registries.Client(ctx, d, s.commands); err != nil {
		return nil, r.Explain(err)
	}
	return r, nil
}

// Explain gives an error of the registry its exit code and a hint.
func (r *Registry) Explain(err error) error { return r.host.RegistryError(r.Decision, err) }

// Bind records that the scope of the Expert is in this registry, and the key of its log. It is called after
// an answer was verified: from then on, a project cannot say anything else.
func (r *Registry) Bind(ctx context.Context) error {
	head, err := r.registries.Trust.Log(r.Client.URL()).Head()
	if err != nil {
		return err
	}
	return r.registries.Bound.Bind(ctx, r.Decision, head.Key, head.HadKey)
}

// Containers returns the container registries. It makes no request.
func (s *Session) Containers() (*oci.Source, error) { return s.registries.Containers(s.commands) }
