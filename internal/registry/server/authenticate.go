package server

import (
	"context"
	"crypto/subtle"
	"net/netip"
	"slices"
	"time"
)

// Authenticate returns the actor that a token stands for. Every token that is not good gets the same answer.
// The address is where the request came from.
func (r *Registry) Authenticate(ctx context.Context, text string, from netip.Addr) (Actor, error) {
	presented, ok := parseToken(text)
	if !ok {
		return Actor{}, unauthenticated()
	}
	var k storedKey
	err := r.view(ctx, func(l *look) error {
		found, err := l.keysWhere("WHERE k.id = $1", presented.id)
		if err == nil && len(found) == 1 {
			k = found[0]
		}
		return err
	})
	if err != nil {
		return Actor{}, err
	}
	now := r.opts.Now()
	if subtle.ConstantTimeCompare(presented.hash(), k.hash) != 1 || k.revokedAt != 0 || !now.Before(k.ExpiresAt) || !within(k.Networks, from) {
		return Actor{}, unauthenticated()
	}
	if !r.opts.ReadOnly && now.Sub(k.UsedAt) >= usedPrecision {
		err := r.update(ctx, func(t *change) error {
			return t.exec("UPDATE api_keys SET used_at = $1, used_from = $2 WHERE id = $3", t.at.UnixMilli(), from.String(), k.ID)
		})
		if err != nil {
			return Actor{}, err
		}
	}
	a := Actor{OrgID: k.org.ID, OrgName: k.org.Name, OrgType: k.org.Type, KeyID: k.ID, KeyKind: k.kind, Patterns: k.Patterns, Networks: k.Networks, ExpiresAt: k.ExpiresAt, Address: from.String()}
	for _, s := range k.Scopes {
		a.Scopes = append(a.Scopes, Scope(s))
	}
	return a, nil
}

// usedPrecision is how exactly the last use of a key is known. A busy key does not write with every request.
const usedPrecision = time.Minute

// within reports whether an address is in one of the networks; no network is all of them.
func within(networks []string, from netip.Addr) bool {
	return len(networks) == 0 || slices.ContainsFunc(networks, func(text string) bool {
		network, err := netip.ParsePrefix(text)
		return err == nil && network.Contains(from.Unmap())
	})
}
