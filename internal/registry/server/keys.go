package server

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
)

// The kinds of keys.
const (
	keyKind     = "key"
	trustedKind = "oidc" // a build got it for a token of its issuer
)

// How long keys are valid.
const (
	defaultLifetime  = 7 * 24 * time.Hour
	maxWriteLifetime = 90 * 24 * time.Hour
	maxReadLifetime  = 10 * 365 * 24 * time.Hour
)

// A newKey is a key to be made.
type newKey struct {
	name, kind         string
	scopes             []Scope
	patterns, networks []string
	lifetime           time.Duration
}

// CreateKey makes an API key for an organization. The token is in the answer, and nowhere else.
func (r *Registry) CreateKey(ctx context.Context, by Actor, asked api.CreateKey) (made api.CreatedKey, err error) {
	k, err := checkKey(asked)
	if err != nil {
		return made, err
	}
	err = r.update(ctx, func(t *change) error {
		org, err := t.managed(by, asked.Organization)
		if err != nil {
			return err
		}
		if k, err = t.inherit(by, k, asked.Days); err != nil {
			return err
		}
		made.Token, made.Key, err = t.createKey(by, org, k)
		return err
	})
	if err != nil {
		return api.CreatedKey{}, err
	}
	return made, nil
}

// checkKey holds a key to the rules.
func checkKey(asked api.CreateKey) (k newKey, err error) {
	k = newKey{name: asked.Name, kind: keyKind, patterns: asked.Patterns, lifetime: time.Duration(asked.Days) * 24 * time.Hour}
	if !isLine(asked.Name, 255) {
		return k, invalid(fmt.Errorf("the name of a key is one line of at most 255 bytes"))
	}
	for _, scope := range asked.Scopes {
		if !slices.Contains(Scopes(), Scope(scope)) {
			return k, invalid(fmt.Errorf("%q is not a scope; use %s", scope, list(Scopes())))
		}
		k.scopes = append(k.scopes, Scope(scope))
	}
	if len(k.scopes) == 0 {
		return k, invalid(fmt.Errorf("a key needs at least one scope of %s", list(Scopes())))
	}
	for _, p := range asked.Patterns {
		if !validPattern(p) {
			return k, invalid(fmt.Errorf("%q is not a pattern of names; write a name, or @scope/*", p))
		}
	}
	for _, text := range asked.Networks {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return k, invalid(fmt.Errorf("%q is not a network; write it as 192.0.2.0/24", text))
		}
		k.networks = append(k.networks, network.Masked().String())
	}
	longest := maxReadLifetime
	if slices.ContainsFunc(k.scopes, func(s Scope) bool { return s != Read }) {
		longest = maxWriteLifetime
	}
	switch {
	case k.lifetime == 0:
		k.lifetime = defaultLifetime
	case asked.Days < 0 || asked.Days > int(longest.Hours()/24):
		return k, invalid(fmt.Errorf("a key with these scopes can be valid for 1 to %d days", int(longest.Hours()/24)))
	}
	return k, nil
}

// inherit bounds a key by the key of its maker: a stolen key must not become one that is valid longer, or
// in more places. A key that is limited to names makes none.
func (t *change) inherit(by Actor, k newKey, days int) (newKey, error) {
	if len(k.networks) == 0 {
		k.networks = by.Networks
	}
	for _, text := range k.networks {
		if len(by.Networks) > 0 && !slices.ContainsFunc(by.Networks, func(outer string) bool { return covers(outer, text) }) {
			return k, invalid(fmt.Errorf("the network %s is not in those of the key that asks: %s", text, strings.Join(by.Networks, ", ")))
		}
	}
	if by.ExpiresAt.IsZero() || !t.at.Add(k.lifetime).After(by.ExpiresAt) {
		return k, nil
	}
	if days > 0 {
		e := invalid(fmt.Errorf("the key that asks is valid until %s, and another one cannot be valid longer", by.ExpiresAt.UTC().Format(time.RFC3339)))
		e.Hint = "ask for fewer days, or ask the operator of the registry for a key"
		return k, e
	}
	k.lifetime = by.ExpiresAt.Sub(t.at)
	return k, nil
}

// covers reports whether a network has another one in it.
func covers(outer, inner string) bool {
	o, err := netip.ParsePrefix(outer)
	i, innerErr := netip.ParsePrefix(inner)
	return err == nil && innerErr == nil && o.Bits() <= i.Bits() && o.Contains(i.Addr())
}

// validPattern reports whether a pattern is a name, or a beginning of names and *.
func validPattern(p string) bool {
	if prefix, all := strings.CutSuffix(p, "*"); all {
		return expert.ValidName(prefix + "a")
	}
	return expert.ValidName(p)
}

func list(scopes []Scope) string {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// createKey stores a key.
func (t *change) createKey(by Actor, org api.Organization, k newKey) (string, api.KeyInfo, error) {
	kind := "org"
	switch {
	case k.kind == trustedKind:
		kind = "ci"
	case org.Type == ServiceAdmin:
		kind = "admin"
	}
	made, err := newToken(kind, t.r.opts.Random)
	if err != nil {
		return "", api.KeyInfo{}, err
	}
	info := api.KeyInfo{
		ID: made.id, Name: k.name, Patterns: k.patterns, Networks: k.networks,
		CreatedAt: t.at, ExpiresAt: t.at.Add(k.lifetime),
	}
	for _, s := range k.scopes {
		info.Scopes = append(info.Scopes, string(s))
	}
	err = t.exec("INSERT INTO api_keys (id, org_id, name, hash, scopes, patterns, networks, created_at, expires_at, used_at, revoked_at, kind) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 0, $10)",
		made.id, org.ID, k.name, made.hash(), lines(info.Scopes), lines(k.patterns), lines(k.networks), t.at.UnixMilli(), info.ExpiresAt.UnixMilli(), k.kind)
	if err != nil {
		return "", api.KeyInfo{}, err
	}
	return made.text, info, t.audit(by, "create key", org.Name+"/"+made.id, strings.Join(info.Scopes, ", "), -1)
}

// lines keeps a list in one column.
func lines(all []string) string { return strings.Join(all, "\n") }

// unlines reads what lines wrote.
func unlines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// A storedKey is a key with its organization.
type storedKey struct {
	api.KeyInfo
	org       api.Organization
	kind      string
	hash      []byte
	revokedAt int64
}

const selectKeys = `SELECT k.id, k.name, k.kind, k.hash, k.scopes, k.patterns, k.networks, k.created_at, k.expires_at, k.used_at, k.revoked_at, o.id, o.name, o.type
	FROM api_keys k JOIN organizations o ON o.id = k.org_id `

func (l *look) keysWhere(where string, args ...any) (all []storedKey, err error) {
	err = l.each(selectKeys+where, args, func(scan func(...any) error) error {
		var k storedKey
		var scopes, patterns, networks string
		var created, expires, used int64
		err := scan(&k.ID, &k.Name, &k.kind, &k.hash, &scopes, &patterns, &networks, &created, &expires, &used, &k.revokedAt, &k.org.ID, &k.org.Name, &k.org.Type)
		k.Scopes, k.Patterns, k.Networks = unlines(scopes), unlines(patterns), unlines(networks)
		k.CreatedAt, k.ExpiresAt = millis(created), millis(expires)
		if used > 0 {
			k.UsedAt = millis(used)
		}
		all = append(all, k)
		return err
	})
	return all, err
}

func millis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// Keys lists the keys of an organization; "" is that of the actor.
func (r *Registry) Keys(ctx context.Context, by Actor, org string) (all []api.KeyInfo, err error) {
	err = r.view(ctx, func(l *look) error {
		o, err := l.managed(by, org)
		if err != nil {
			return err
		}
		found, err := l.keysWhere("WHERE k.org_id = $1 AND k.revoked_at = 0 AND k.expires_at > $2 ORDER BY k.created_at, k.id", o.ID, r.opts.Now().UnixMilli())
		for _, k := range found {
			all = append(all, k.KeyInfo)
		}
		return err
	})
	return all, err
}

// RevokeKey ends the life of a key. A key can revoke itself.
func (r *Registry) RevokeKey(ctx context.Context, by Actor, id string) error {
	return r.update(ctx, func(t *change) error {
		found, err := t.keysWhere("WHERE k.id = $1", id)
		if err != nil {
			return err
		}
		if len(found) == 0 || by.KeyID != id && by.manages(found[0].org.ID) != nil {
			return notFound("Key not found")
		}
		if found[0].revokedAt != 0 {
			return nil
		}
		if err := t.exec("UPDATE api_keys SET revoked_at = $1 WHERE id = $2", t.at.UnixMilli(), id); err != nil {
			return err
		}
		return t.audit(by, "revoke key", found[0].org.Name+"/"+id, "", -1)
	})
}

// Whoami says whose key an actor has.
func (r *Registry) Whoami(ctx context.Context, by Actor) (who api.Whoami, err error) {
	err = r.view(ctx, func(l *look) error {
		found, err := l.keysWhere("WHERE k.id = $1", by.KeyID)
		if err == nil && len(found) == 0 {
			err = unauthenticated()
		}
		if err == nil {
			who = api.Whoami{Organization: found[0].org, Key: found[0].KeyInfo}
		}
		return err
	})
	return who, err
}
