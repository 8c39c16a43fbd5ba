// Package server has the rules of a registry: what can be published, who may, what a key means, and how
// all of it is written to the log. It keeps everything in a database, and speaks no HTTP.
//
// A [Registry] is one registry. Every change is one transaction: the rows, the leaf that tells about it,
// the hashes of the log and the signed checkpoint are there together, or none of them is. Start reading at
// [Registry.Publish] and [Registry.Resolve].
package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/server/database"
)

// Options are what a registry needs.
type Options struct {
	Database *database.DB
	Origin   string      // names the log, such as registry.example.com/log
	Signer   note.Signer // signs the checkpoints
	Now      func() time.Time
	NewID    func() string
	Strict   bool // packages of skills must have an exact version
}

// A Registry is one registry.
type Registry struct{ opts Options }

// New returns the registry that a database holds.
func New(opts Options) (*Registry, error) {
	if opts.Database == nil || opts.Origin == "" || opts.Signer == nil || opts.Now == nil || opts.NewID == nil {
		return nil, errors.New("a registry needs a database, an origin, a signer, a clock and ids")
	}
	return &Registry{opts}, nil
}

// An Error is the answer to a request that cannot be granted. Other errors are faults of the registry.
type Error struct {
	Status int // of HTTP
	Reason string
	Field  string
	Hint   string
}

func (e *Error) Error() string { return e.Reason }

// The statuses of errors.
const (
	badRequestStatus      = 400
	unauthenticatedStatus = 401
	notFoundStatus        = 404
	invalidStatus         = 422
)

func badRequest(format string, args ...any) *Error {
	return &Error{Status: badRequestStatus, Reason: fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) *Error {
	return &Error{Status: notFoundStatus, Reason: fmt.Sprintf(format, args...)}
}

// invalid is the answer to what is not well formed.
func invalid(err error) *Error {
	e := &Error{Status: invalidStatus, Reason: err.Error()}
	if faults, ok := errors.AsType[definition.Faults](err); ok && len(faults) == 1 {
		e.Reason, e.Field, e.Hint = faults[0].Message, faults[0].Field, faults[0].Hint
	}
	return e
}

// unauthenticated is the one answer to every key that is not good.
func unauthenticated() *Error {
	return &Error{Status: unauthenticatedStatus, Reason: "Failed to authenticate"}
}

// A Scope is something that a key can do.
type Scope string

// The scopes.
const (
	Read      Scope = "read"
	Publish   Scope = "publish"
	Tag       Scope = "tag"
	Status    Scope = "status"
	Unpublish Scope = "unpublish"
	Admin     Scope = "admin"
)

// An Actor is a client of the registry. The zero Actor is one without a key.
type Actor struct {
	OrgID    string
	OrgName  string
	OrgType  string
	KeyID    string
	Scopes   []Scope
	Patterns []string // of names; empty is all
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

// matches reports whether a name is one that a pattern names: itself, or @scope/* for all of a scope.
func matches(pattern, name string) bool {
	if prefix, all := strings.CutSuffix(pattern, "*"); all {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// logName is how the log calls the actor.
func (a Actor) logName() string { return "org:" + a.OrgID + " cred:key:" + a.KeyID }

// The types of organizations.
const (
	Personal     = "personal"
	PersonalPlus = "personalPlus"
	Team         = "team"
	ServiceAdmin = "serviceAdmin"
)

// checkName holds the actor to the names that its organization can have.
func (a Actor) checkName(name string) error {
	scope, _, scoped := strings.Cut(name, "/")
	switch {
	case a.OrgType != Team && scoped:
		return badRequest("Expert name cannot be scoped")
	case a.OrgType == Team && !scoped:
		return badRequest("Expert name must be scoped")
	case a.OrgType == Team && scope != "@"+a.OrgName:
		return badRequest("Expert name must be scoped with @%s", a.OrgName)
	}
	return nil
}

// parseKey reads the key of an Expert.
func parseKey(text string) (expert.Key, error) {
	key, err := expert.ParseKey(text)
	if err != nil {
		return key, invalid(err)
	}
	return key, nil
}

// CreateOrganization adds an organization, and tells the log.
func (r *Registry) CreateOrganization(ctx context.Context, by Actor, name, kind string) (id string, err error) {
	if !orgGrammar(name) {
		return "", invalid(fmt.Errorf("%q cannot name an organization; use lower-case letters, digits, - and _", name))
	}
	if !slices.Contains([]string{Personal, PersonalPlus, Team, ServiceAdmin}, kind) {
		return "", invalid(fmt.Errorf("%q is not a type of organizations", kind))
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
