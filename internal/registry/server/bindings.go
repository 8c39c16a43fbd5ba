package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
)

// trustedLifetime is how long the key is valid that a build gets.
const trustedLifetime = 15 * time.Minute

// A Build is what a token of an issuer says about the build that presents it. The token was verified.
type Build struct {
	Issuer      string
	Repository  string // its id, which stays when the repository gets another name
	Workflow    string
	Environment string
}

// CreateBinding lets the builds of a repository publish Experts whose names match a pattern. The Experts need
// not exist yet.
func (r *Registry) CreateBinding(ctx context.Context, by Actor, asked api.Binding) (made api.Binding, err error) {
	for _, text := range []string{asked.Issuer, asked.Repository, asked.Workflow, asked.Environment} {
		if !isLine(text, 512) {
			return made, invalid(errors.New("what identifies a build is one line of at most 512 bytes"))
		}
	}
	switch {
	case !strings.HasPrefix(asked.Issuer, "https://") && !strings.HasPrefix(asked.Issuer, "http://127.0.0.1:"):
		return made, invalid(fmt.Errorf("%q is not an issuer; write its https:// address", asked.Issuer))
	case asked.Repository == "":
		return made, invalid(errors.New("a binding needs the id of a repository"))
	case asked.Pattern == "*":
		return made, invalid(errors.New("the pattern * has every name; write a name, or a beginning of names and *"))
	case !validPattern(asked.Pattern):
		return made, invalid(fmt.Errorf("%q is not a pattern of names; write a name, or @scope/*", asked.Pattern))
	}
	err = r.update(ctx, func(t *change) error {
		org, err := t.managed(by, asked.Organization)
		if err != nil {
			return err
		}
		if err := r.checkName(Actor{OrgName: org.Name, OrgType: org.Type}, asked.Pattern); err != nil {
			return err
		}
		made = asked
		made.ID, made.Organization, made.CreatedAt = r.opts.NewID(), org.Name, t.at
		err = t.exec("INSERT INTO bindings (id, org_id, issuer, repository, workflow, environment, pattern, created_at, removed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0)",
			made.ID, org.ID, made.Issuer, made.Repository, made.Workflow, made.Environment, made.Pattern, t.at.UnixMilli())
		if err != nil {
			return err
		}
		return t.audit(by, "create binding", org.Name+"/"+made.ID, made.Issuer+" "+made.Repository+" "+made.Pattern, -1)
	})
	return made, err
}

const selectBindings = "SELECT b.id, o.id, o.name, o.type, b.issuer, b.repository, b.workflow, b.environment, b.pattern, b.created_at FROM bindings b JOIN organizations o ON o.id = b.org_id WHERE b.removed_at = 0 AND "

// A storedBinding is a binding with its organization.
type storedBinding struct {
	api.Binding
	org api.Organization
}

func (l *look) bindingsWhere(where string, args ...any) (all []storedBinding, err error) {
	err = l.each(selectBindings+where+" ORDER BY b.created_at, b.id", args, func(scan func(...any) error) error {
		var b storedBinding
		var at int64
		err := scan(&b.ID, &b.org.ID, &b.org.Name, &b.org.Type, &b.Issuer, &b.Repository, &b.Workflow, &b.Environment, &b.Pattern, &at)
		b.Organization, b.CreatedAt = b.org.Name, millis(at)
		all = append(all, b)
		return err
	})
	return all, err
}

// Bindings lists the bindings of an organization; "" is that of the actor.
func (r *Registry) Bindings(ctx context.Context, by Actor, org string) (all []api.Binding, err error) {
	err = r.view(ctx, func(l *look) error {
		o, err := l.managed(by, org)
		if err != nil {
			return err
		}
		found, err := l.bindingsWhere("b.org_id = $1", o.ID)
		for _, b := range found {
			all = append(all, b.Binding)
		}
		return err
	})
	return all, err
}

// RemoveBinding ends a binding. Keys that builds got through it end by themselves, after minutes.
func (r *Registry) RemoveBinding(ctx context.Context, by Actor, id string) error {
	return r.update(ctx, func(t *change) error {
		found, err := t.bindingsWhere("b.id = $1", id)
		if err != nil {
			return err
		}
		if len(found) == 0 || by.manages(found[0].org.ID) != nil {
			return notFound("Binding not found")
		}
		if err := t.exec("UPDATE bindings SET removed_at = $1 WHERE id = $2", t.at.UnixMilli(), id); err != nil {
			return err
		}
		return t.audit(by, "remove binding", found[0].org.Name+"/"+id, "", -1)
	})
}

// TrustedKey gives a build a key for 15 minutes, with which it can publish the Experts that a binding of an
// organization names. Other organizations can have bindings for the same repository, and theirs never count.
// With several bindings, the name of the Expert chooses one.
func (r *Registry) TrustedKey(ctx context.Context, build Build, org, name, from string) (made api.CreatedKey, err error) {
	if org == "" {
		return made, &Error{Status: invalidStatus, Field: "organization", Reason: "The organization to publish for is missing"}
	}
	err = r.update(ctx, func(t *change) error {
		all, err := t.bindingsWhere("o.name = $1 AND b.issuer = $2 AND b.repository = $3 AND (b.workflow = '' OR b.workflow = $4) AND (b.environment = '' OR b.environment = $5)",
			org, build.Issuer, build.Repository, build.Workflow, build.Environment)
		if err != nil {
			return err
		}
		var chosen *storedBinding
		for i, b := range all {
			if chosen == nil && (name == "" || matches(b.Pattern, name)) {
				chosen = &all[i]
			}
		}
		if chosen == nil {
			return unauthenticated()
		}
		if err := t.exec("DELETE FROM api_keys WHERE kind = $1 AND expires_at < $2", trustedKind, t.at.Add(-keepTrusted).UnixMilli()); err != nil {
			return err
		}
		by := Actor{OrgID: chosen.org.ID, KeyID: chosen.ID, KeyKind: trustedKind, Address: from}
		made.Token, made.Key, err = t.createKey(by, chosen.org, newKey{
			name: "build of " + build.Repository, kind: trustedKind, scopes: []Scope{Read, Publish, Tag}, patterns: []string{chosen.Pattern}, lifetime: trustedLifetime,
		})
		return err
	})
	if err != nil {
		return api.CreatedKey{}, err
	}
	return made, nil
}

// keepTrusted is how long the keys of builds stay known after their end. The log and the audit trail name
// them for ever.
const keepTrusted = 30 * 24 * time.Hour
