package server

import (
	"context"

	"github.com/perstack-go/perstack/internal/registry/api"
)

// Bootstrap is called once before a registry answers. It makes the organization that manages the registry,
// with a first key, if there is no organization yet. The key is shown to the operator once; it is empty if
// there was one.
func (r *Registry) Bootstrap(ctx context.Context) (key string, err error) {
	if r.opts.ReadOnly {
		return "", nil
	}
	err = r.update(ctx, func(t *change) error {
		if err := t.relistMissing(); err != nil {
			return err
		}
		if some, err := t.one("SELECT id FROM organizations LIMIT 1", nil, new(string)); err != nil || some {
			return err
		}
		id := t.r.opts.NewID()
		if err := t.createOrganization(Operator(), id, "registry", ServiceAdmin); err != nil {
			return err
		}
		key, _, err = t.createKey(Operator(), api.Organization{ID: id, Name: "registry", Type: ServiceAdmin}, newKey{
			name: "first key", kind: keyKind, scopes: Scopes(), lifetime: maxWriteLifetime,
		})
		return err
	})
	if err != nil {
		key = ""
	}
	return key, err
}
