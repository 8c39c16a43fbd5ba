package server

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A Scope is something that a key can do.
type Scope string

// The scopes.
const (
	Read      Scope = "read"
	Publish   Scope = "publish"
	Tag       Scope = "tag"
	Status    Scope = "status"
	Unpublish Scope = "unpublish"
	Audit     Scope = "audit" // read the audit trail
	Admin     Scope = "admin" // manage the organization; in one of the type serviceAdmin, the registry
)

// Scopes lists all scopes.
func Scopes() []Scope { return []Scope{Read, Publish, Tag, Status, Unpublish, Audit, Admin} }

// Role returns the scopes of a role, for those who do not want to list them.
func Role(name string) ([]Scope, bool) {
	scopes, ok := map[string][]Scope{
		"owner":      Scopes(),
		"maintainer": {Read, Publish, Tag, Status},
		"reader":     {Read},
		"auditor":    {Read, Audit},
	}[name]
	return scopes, ok
}

// An Actor is a client of the registry. The zero Actor is one without a key.
type Actor struct {
	OrgID    string
	OrgName  string
	OrgType  string
	KeyID    string
	KeyKind  string // key, or oidc for one that a build got for a token
	Scopes   []Scope
	Patterns []string // of names; empty is all
	Networks []string // where the key can be used from; empty is everywhere
	// ExpiresAt is the end of the key; zero if there is none.
	ExpiresAt time.Time

	Address   string // where the request came from, for the audit trail
	RequestID string

	operator bool
}

// Operator is the person who runs the registry, with its files at hand. A request over the network never
// comes from it.
func Operator() Actor { return Actor{operator: true} }

// IsAdmin reports whether the actor manages the whole registry.
func (a Actor) IsAdmin() bool {
	return a.operator || a.OrgType == ServiceAdmin && slices.Contains(a.Scopes, Admin) && len(a.Patterns) == 0
}

// manages returns why the actor does not manage an organization; nil if it does.
func (a Actor) manages(orgID string) error {
	if a.IsAdmin() || orgID != "" && a.OrgID == orgID && slices.Contains(a.Scopes, Admin) && len(a.Patterns) == 0 {
		return nil
	}
	return unauthenticated()
}

// May returns why the actor may not do something with an Expert; nil if it may.
func (a Actor) May(scope Scope, name string) error {
	if a.OrgID == "" || !slices.Contains(a.Scopes, scope) {
		return unauthenticated()
	}
	if len(a.Patterns) == 0 || slices.ContainsFunc(a.Patterns, func(p string) bool { return matches(p, name) }) {
		return nil
	}
	return unauthenticated()
}

// sees reports whether the actor may read what an organization keeps to itself under a name.
func (a Actor) sees(orgID, name string) bool {
	return a.IsAdmin() || orgID != "" && a.OrgID == orgID && a.May(Read, name) == nil
}

// matches reports whether a name is one that a pattern names: itself, or @scope/* for all of a scope.
func matches(pattern, name string) bool {
	if prefix, all := strings.CutSuffix(pattern, "*"); all {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// logName is how the log calls the actor.
func (a Actor) logName() string {
	if a.operator {
		return "operator"
	}
	return "org:" + a.OrgID + " cred:" + cmp.Or(a.KeyKind, keyKind) + ":" + a.KeyID
}

// checkName holds the actor to the names that its organization can have.
func (r *Registry) checkName(a Actor, name string) error {
	scope, _, scoped := strings.Cut(name, "/")
	must := a.OrgType == Team || r.opts.AllScoped
	switch {
	case !must && scoped:
		return badRequest("Expert name cannot be scoped")
	case must && !scoped:
		return badRequest("Expert name must be scoped")
	case must && scope != "@"+a.OrgName:
		return badRequest("Expert name must be scoped with @%s", a.OrgName)
	}
	return nil
}
