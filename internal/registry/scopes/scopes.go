// Package scopes decides which registry an Expert comes from, with which key its log is checked, and
// what the Expert has to prove.
//
// A scope is in one registry. There is no second one to try: an Expert that a private registry does
// not have must not be looked for in a public one, where anybody can publish its name. Three sources
// speak about a scope: the user's own configuration, the file of the project, and what an earlier run
// has used. The user is believed. A project can say where a scope is that the other two do not know,
// and the user has to allow it. Sources that disagree are an error, never a choice.
//
// The package asks nothing and sends nothing. Start reading at [Rules.For]; bindings.go keeps what
// earlier runs used.
package scopes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/registry/signature"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// A Source says who decided.
type Source string

// The sources.
const (
	BuiltIn Source = "built-in"
	User    Source = "user"    // the user's own configuration
	Project Source = "project" // perstack.toml
)

// A Registry is where an Expert comes from.
type Registry struct {
	Name   string // as the configuration calls it
	URL    string // as [netaddr.NormalURL] writes it
	LogKey string // that the log must be signed with; empty if the first one that is seen counts
	// Witnesses are the keys of those who cosign the log, and RequireWitnesses is how many must have. The user has
	// said so.
	Witnesses        []string
	RequireWitnesses int
}

// A Policy is what an Expert has to prove.
type Policy struct {
	Require string   // [manifest.RequireLogged] or [manifest.RequireSigned]
	Keys    []string // one of them must have signed, as [signature.FormatKey] writes them; none means any
	// Strict says that the user asked for Require. Otherwise a registry without a log can be used, and
	// the user is told.
	Strict        bool
	MinReleaseAge time.Duration
	// Private says that the user's key goes with every read.
	Private bool
}

// A Decision is what holds for an Expert.
type Decision struct {
	Subject  string // what is bound: the scope, or the name of an Expert without one
	Registry Registry
	Policy   Policy
	From     Source // who decided where the Expert comes from
	KeyFrom  Source // who knows the key of the log: the user, the project; empty for none, or an earlier run
	// Default says that it is the default registry, which the key in the environment is for. It is never one
	// that only the project names.
	Default bool
	// Asks says that the project decides something which the user has to allow first: where the Expert comes
	// from, or the key of the log.
	Asks bool
}

// A ConflictError says that two sources disagree.
type ConflictError struct {
	Subject     string // a scope, a name, a registry, or the log key of an address
	Is, Claimed string
	By          string // who said the first, in words
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s is %s by %s, and perstack.toml or the default says %s; say which one is right in your own configuration", e.Subject, e.Is, e.By, e.Claimed)
}

// Rules decide.
type Rules struct {
	user    *manifest.UserConfig
	project *manifest.Config // nil if there is none
	bound   Bindings
}

// New returns the rules of a user in a project, which can be nil. It refuses keys that are none.
func New(user *manifest.UserConfig, project *manifest.Config, bound Bindings) (*Rules, error) {
	r := &Rules{user: user, project: project, bound: bound}
	for _, one := range slices.Concat(user.Registries, r.registries()) {
		if err := checkWitnesses(one); err != nil {
			return nil, err
		}
		if one.LogKey == "" {
			continue
		}
		if _, err := note.NewVerifier(one.LogKey); err != nil {
			return nil, fmt.Errorf("the logKey of registry %q is not the key of a log; copy it from the page of the registry", one.Name)
		}
	}
	for i := range user.Scopes {
		if _, err := keysOf(&user.Scopes[i]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// checkWitnesses refuses keys that are not those of witnesses, and one that is there twice.
func checkWitnesses(one manifest.Registry) error {
	var all []*tlog.Witness
	for _, key := range one.Witnesses {
		w, err := tlog.ParseWitness(key)
		if err != nil {
			return fmt.Errorf("a witness of registry %q: %w", one.Name, err)
		}
		if slices.ContainsFunc(all, w.Same) {
			return fmt.Errorf("registry %q has the key of the witness %s twice; each one counts once", one.Name, w.ID())
		}
		all = append(all, w)
	}
	return nil
}

func (r *Rules) registries() []manifest.Registry {
	if r.project == nil {
		return nil
	}
	return r.project.Registries
}

// For decides about the Expert that a key names.
func (r *Rules) For(key string) (Decision, error) {
	if expert.IsOCI(key) {
		return r.forOCI(key)
	}
	k, err := expert.ParseKey(key)
	if err != nil {
		return Decision{}, err
	}
	if !expert.ValidName(k.Name) {
		return Decision{}, fmt.Errorf("%q is not the name of a published Expert; neither scopes nor names have dots", k.Name)
	}
	scope := ""
	d := Decision{Subject: k.Name}
	if name, _, scoped := strings.Cut(k.Name, "/"); scoped {
		scope, d.Subject = name, name
	}
	if err := r.place(&d, scope); err != nil {
		return Decision{}, err
	}
	if err := r.logKey(&d); err != nil {
		return Decision{}, err
	}
	d.Asks = d.Asks || d.KeyFrom == Project
	if d.Policy, err = r.policy(scope); err != nil {
		return Decision{}, err
	}
	return d, nil
}

// forOCI decides about an Expert in a container registry. The reference says where that is, so nothing is
// bound. If it is in a file of the project and the user has not said anything about the place, the user has
// to allow it.
func (r *Rules) forOCI(key string) (Decision, error) {
	ref, err := expert.ParseOCI(key)
	if err != nil {
		return Decision{}, err
	}
	d := Decision{Subject: ref.Name(), From: Project, Asks: true, Registry: Registry{Name: ref.Host, URL: ociScheme + ref.Host}}
	d.Policy = Policy{Require: manifest.RequireLogged, MinReleaseAge: r.user.MinReleaseAge}
	longest := 0
	for i := range r.user.Scopes {
		s := &r.user.Scopes[i]
		if rest, ok := strings.CutPrefix(d.Subject, s.Name); !ok || !expert.IsOCI(s.Name) || rest != "" && rest[0] != '/' || len(s.Name) < longest {
			continue
		}
		longest, d.From, d.Asks = len(s.Name), User, false
		if d.Policy, err = r.policy(s.Name); err != nil {
			return Decision{}, err
		}
	}
	return d, nil
}

const ociScheme = "oci://"

// place decides about the registry.
func (r *Rules) place(d *Decision, scope string) error {
	usual, from, conflict := r.usual()
	mine, explicit := r.ofUser(scope)
	claimed, claims := r.claim(scope)
	if claims {
		if err := r.sameName(claimed); err != nil {
			return err
		}
	}
	switch {
	case explicit && claims && claimed.URL != mine.URL:
		return &ConflictError{d.Subject, mine.URL, claimed.URL, "your configuration"}
	case conflict != nil && (scope == "" || !explicit && !claims):
		return conflict
	case explicit:
		d.Registry, d.From = mine, User
	case claims:
		d.Registry, d.From = claimed, Project
	default:
		d.Registry, d.From = usual, from
	}
	d.Default = d.Registry.URL == usual.URL && from != Project
	d.Asks = d.From == Project && !d.Default
	// Only what the user says about this very scope is stronger than what earlier runs used.
	if was := r.bound.Subjects[d.Subject]; was != "" && was != d.Registry.URL && !explicit {
		return &ConflictError{d.Subject, was, d.Registry.URL, "an earlier run"}
	}
	return nil
}

// usual is the default registry, of names without a scope and of scopes that have no other one. A
// project can name it, unless the user did.
func (r *Rules) usual() (Registry, Source, error) {
	builtIn := Registry{Name: manifest.DefaultRegistry, URL: netaddr.NormalURL(manifest.DefaultAPIBaseURL)}
	theirs := builtIn
	if r.project != nil && r.project.APIBaseURL != "" {
		theirs.URL = netaddr.NormalURL(r.project.APIBaseURL)
	}
	mine, ok := r.named(manifest.DefaultRegistry)
	switch {
	case ok && r.project != nil && r.project.APIBaseURL != "" && theirs.URL != mine.URL:
		return mine, User, &ConflictError{"the default registry", mine.URL, theirs.URL, "your configuration"}
	case ok:
		return mine, User, nil
	case theirs.URL != builtIn.URL:
		return theirs, Project, nil
	}
	return builtIn, BuiltIn, nil
}

// ofUser is what the user says about a scope itself; about names without one, that is the default.
func (r *Rules) ofUser(scope string) (Registry, bool) {
	if scope == "" {
		return r.named(manifest.DefaultRegistry)
	}
	for _, s := range r.user.Scopes {
		if s.Name != scope || s.Registry == "" {
			continue
		}
		if one, ok := r.named(s.Registry); ok {
			return one, true
		}
		// The configuration was checked: the name is that of the built-in one.
		return Registry{Name: manifest.DefaultRegistry, URL: netaddr.NormalURL(manifest.DefaultAPIBaseURL)}, true
	}
	return listed(r.user.Registries, scope)
}

// claim is what the project says about a scope itself.
func (r *Rules) claim(scope string) (Registry, bool) {
	if scope == "" {
		return Registry{}, false // perstackApiBaseUrl is the default
	}
	return listed(r.registries(), scope)
}

func listed(all []manifest.Registry, scope string) (Registry, bool) {
	for _, one := range all {
		if slices.Contains(one.Scopes, scope) {
			return Registry{Name: one.Name, URL: one.URL, LogKey: one.LogKey}, true
		}
	}
	return Registry{}, false
}

func (r *Rules) named(name string) (Registry, bool) {
	for _, one := range r.user.Registries {
		if one.Name == name {
			return Registry{Name: one.Name, URL: one.URL, LogKey: one.LogKey}, true
		}
	}
	return Registry{}, false
}

// sameName refuses a registry of the project that has the name of one of the user's, and is another:
// in a question and in a list, the user would take it for that one.
func (r *Rules) sameName(claimed Registry) error {
	if mine, ok := r.named(claimed.Name); ok && mine.URL != claimed.URL {
		return &ConflictError{fmt.Sprintf("registry %q", claimed.Name), mine.URL, claimed.URL, "your configuration"}
	}
	return nil
}

// logKey decides about the key of the log, which belongs to the address. Where the user has no key
// for it, the one that an earlier run used is stronger than that of the project.
func (r *Rules) logKey(d *Decision) error {
	subject := "the key of the log of " + d.Registry.URL
	mine, theirs := keyFor(r.user.Registries, d.Registry.URL), keyFor(r.registries(), d.Registry.URL)
	was := r.bound.LogKeys[d.Registry.URL]
	switch {
	case mine != "" && theirs != "" && mine != theirs:
		return &ConflictError{subject, mine, theirs, "your configuration"}
	case mine == "" && was != "" && theirs != "" && was != theirs:
		return &ConflictError{subject, was, theirs, "an earlier run"}
	}
	d.Registry.LogKey = cmp.Or(mine, was, theirs)
	for _, one := range r.user.Registries { // a project can neither add witnesses nor take some away
		if one.URL == d.Registry.URL {
			d.Registry.Witnesses, d.Registry.RequireWitnesses = one.Witnesses, one.RequireWitnesses
		}
	}
	switch {
	case mine != "":
		d.KeyFrom = User
	case was == "" && theirs != "":
		d.KeyFrom = Project
	}
	return nil
}

func keyFor(all []manifest.Registry, url string) string {
	for _, one := range all {
		if one.URL == url {
			return one.LogKey
		}
	}
	return ""
}

// policy is what the user wants to be proved. A project has no word in it.
func (r *Rules) policy(scope string) (Policy, error) {
	p := Policy{Require: manifest.RequireLogged, MinReleaseAge: r.user.MinReleaseAge}
	for i := range r.user.Scopes {
		s := &r.user.Scopes[i]
		if s.Name != scope {
			continue
		}
		keys, err := keysOf(s)
		if err != nil {
			return Policy{}, err
		}
		p.Require, p.Strict, p.Keys = cmp.Or(s.Require, p.Require), s.Require != "", keys
		p.MinReleaseAge, p.Private = cmp.Or(s.MinReleaseAge, p.MinReleaseAge), s.Private
	}
	return p, nil
}

// Policies are what the user wants to be proved, by scope; "" is for names without one. Scopes that the
// user does not speak of are not in it.
func (r *Rules) Policies() (all map[string]Policy, err error) {
	all = map[string]Policy{}
	for i := range r.user.Scopes {
		scope := r.user.Scopes[i].Name
		if all[scope], err = r.policy(scope); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func keysOf(s *manifest.Scope) (keys []string, err error) {
	for i, line := range s.Keys {
		key, _, err := signature.ParseKey(line)
		if err != nil {
			return nil, fmt.Errorf("key %d of scope %s: %w", i+1, s.Name, err)
		}
		keys = append(keys, signature.FormatKey(key))
	}
	return keys, nil
}
