package server

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// The types of organizations.
const (
	Personal     = "personal"
	PersonalPlus = "personalPlus"
	Team         = "team"
	ServiceAdmin = "serviceAdmin"
)

// orgTypes lists all types of organizations.
var orgTypes = []string{Personal, PersonalPlus, Team, ServiceAdmin}

// CreateOrganization adds an organization, and tells the log.
func (r *Registry) CreateOrganization(ctx context.Context, by Actor, name, kind string) (id string, err error) {
	if !by.IsAdmin() {
		return "", unauthenticated()
	}
	if !orgGrammar(name) {
		return "", invalid(fmt.Errorf("%q cannot name an organization; use lower-case letters, digits, - and _", name))
	}
	if !slices.Contains(orgTypes, kind) {
		return "", invalid(fmt.Errorf("%q is not a type of organizations; use one of %s", kind, strings.Join(orgTypes, ", ")))
	}
	id = r.opts.NewID()
	return id, r.update(ctx, func(t *change) error {
		return t.createOrganization(by, id, name, kind)
	})
}

// orgGrammar reports whether an organization can have a name, which can become a scope.
func orgGrammar(name string) bool {
	return len(name) <= 128 && expert.ValidName(name) && name[0] != '@'
}

func (t *change) createOrganization(by Actor, id, name, kind string) error {
	taken, err := t.one("SELECT id FROM organizations WHERE name = $1", []any{name}, new(string))
	if err != nil {
		return err
	}
	if taken {
		return badRequest("Organization %s already exists", name)
	}
	if err := t.exec("INSERT INTO organizations (id, name, type, visibility, created_at) VALUES ($1, $2, $3, $4, $5)", id, name, kind, api.Public, t.at.UnixMilli()); err != nil {
		return err
	}
	number, err := t.record(api.Public, tlog.Leaf{Kind: tlog.OrgChanged, Org: id, New: name, Actor: by.logName()})
	if err != nil {
		return err
	}
	return t.audit(by, "create organization", name, kind, number)
}

// ExemptNames lets an organization publish any number of new names a day, or ends that. Only an administrator
// can do that.
func (r *Registry) ExemptNames(ctx context.Context, by Actor, org string, exempt bool) error {
	if !by.IsAdmin() {
		return unauthenticated()
	}
	return r.update(ctx, func(t *change) error {
		o, err := t.organization(org)
		if err != nil {
			return err
		}
		value := 0
		if exempt {
			value = 1
		}
		if err := t.exec("UPDATE organizations SET any_names = $1 WHERE id = $2", value, o.ID); err != nil {
			return err
		}
		return t.audit(by, "exempt from new names a day", o.Name, strconv.FormatBool(exempt), -1)
	})
}

// Organizations lists those that the actor manages or belongs to: all of them for an administrator.
func (r *Registry) Organizations(ctx context.Context, by Actor) (all []api.Organization, err error) {
	if !by.IsAdmin() && by.OrgID == "" {
		return nil, unauthenticated()
	}
	err = r.view(ctx, func(l *look) error {
		return l.each("SELECT id, name, type FROM organizations ORDER BY name", nil, func(scan func(...any) error) error {
			var o api.Organization
			err := scan(&o.ID, &o.Name, &o.Type)
			if by.IsAdmin() || o.ID == by.OrgID {
				all = append(all, o)
			}
			return err
		})
	})
	return all, err
}

// Organization returns the one that has a name.
func (r *Registry) Organization(ctx context.Context, name string) (o api.Organization, err error) {
	err = r.view(ctx, func(l *look) error { o, err = l.organization(name); return err })
	return o, err
}

func (l *look) organization(name string) (o api.Organization, err error) {
	ok, err := l.one("SELECT id, name, type FROM organizations WHERE name = $1", []any{name}, &o.ID, &o.Name, &o.Type)
	if err == nil && !ok {
		err = notFound("Organization not found")
	}
	return o, err
}
