package host

import (
	"context"
	"fmt"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/registry/scopes"
	"github.com/perstack-go/perstack/internal/terminal"
)

// AllowKey asks whether a registry that only the project names gets requests with a key of the user. It
// is called before the first of them. --yes is no answer: the key could publish in the name of the user.
func (r *Registries) AllowKey(ctx context.Context, d scopes.Decision) error {
	if !d.Asks {
		return nil
	}
	h := r.host
	user, err := h.userConfig(r.project, r.workspace)
	if err != nil || h.allows(user, r.project, manifest.RequestRegistries) {
		return err
	}
	what := fmt.Sprintf("perstack.toml says that %s is in the registry %s, which you have not allowed", d.Subject, terminal.RevealLine(d.Registry.URL))
	if d.From != scopes.Project || d.Default {
		what = fmt.Sprintf("perstack.toml says that the log of %s has the key %s, which you have not allowed", terminal.RevealLine(d.Registry.URL), terminal.RevealLine(d.Registry.LogKey))
	}
	if !h.CanConfirm() {
		return Usagef("%s; name it in %s", what, terminal.CleanLine(h.UserConfigPath()))
	}
	yes, err := h.Confirm(ctx, "perstack: %s. Send it requests with your key for it?", what)
	if err == nil && !yes {
		err = Usagef("not allowed; nothing was sent")
	}
	return err
}
