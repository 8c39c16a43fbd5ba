package manifest

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// A Registry is a place that Experts are published to. Package registry/scopes decides which one an
// Expert comes from.
type Registry struct {
	Name   string
	URL    string   // as [netaddr.NormalURL] writes it
	LogKey string   // that signs its log; empty if the file does not say
	Scopes []string // whose Experts are there, like @acme
	// Witnesses are the keys of those who cosign its log, and RequireWitnesses is how many of them must have. Only
	// the user can name them.
	Witnesses        []string
	RequireWitnesses int
}

// DefaultRegistry is the name of the registry of everything that no scope has elsewhere.
const DefaultRegistry = "default"

// A Scope is what the user says about the Experts of a scope.
type Scope struct {
	Name     string // @acme, or the beginning of a reference: oci://registry.example/acme
	Registry string // name of one; empty if [registries] says it
	Require  string // [RequireLogged] or [RequireSigned]; empty for the default
	// Keys are public keys of SSH, one of which must have signed; none means any.
	Keys          []string
	MinReleaseAge time.Duration // 0 if the file does not say
	// Private says that the Experts can only be read with the user's key.
	Private bool
}

// What an Expert has to prove.
const (
	RequireLogged = "logged" // it is in the log of its registry
	RequireSigned = "signed" // its publisher has signed it, too
)

// The bounds of registries and scopes.
const (
	maxRegistries  = 100
	maxScopes      = 1000
	maxSigningKeys = 100
	maxLogKey      = 512
	maxWitnesses   = 16
	maxSigningKey  = 2048
	maxAge         = 365 * 24 * time.Hour
)

const (
	registryName = `^[a-z0-9][a-z0-9_-]*$`
	scopePattern = `^@[a-z0-9][a-z0-9_-]*$` // names of Experts have no dots
	// A policy can also be for a container registry, or a part of it.
	policyPattern = scopePattern + `|^oci://[a-z0-9][a-z0-9.:-]*(/[a-z0-9][a-z0-9._-]*)*$`
	agePattern    = `^[0-9]{1,4}(d|h|m)$`
	// The form of the key of a log, and of a public key of SSH. Package registry/scopes reads them.
	logKeyPattern     = `^[^+\s]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+=*$`
	signingKeyPattern = `^(ssh-|ecdsa-|sk-)[a-z0-9@.-]+ [A-Za-z0-9+/]+=*( .*)?$`
	localURL          = `^[hH][tT][tT][pP][sS]?://`
)

var (
	registryGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(registryName) })
	scopeGrammar    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(scopePattern) })
	logKeyGrammar   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(logKeyPattern) })
	signingGrammar  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(signingKeyPattern) })
	ageGrammar      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(agePattern) })
)

// registryKeys are the keys of [registries."<name>"]. Only the user can name one without
// encryption, on this machine.
func registryKeys(own bool) []key[Registry] {
	type R = Registry
	address := matching(secureURL, 2048, "https address", toml.Length(1, 2048), netaddr.RegistryURL, bareURL)
	if own {
		address = matching(localURL, 2048, "https address", toml.Length(1, 2048), registryAddress, bareURL)
	}
	keys := []key[R]{
		row("url", "Address of the registry.", address, func(r *R, s string) { r.URL = netaddr.NormalURL(s) }).
			required(`write its address, like {path} = "https://registry.example.com"`),
		row("logKey", "Public key of the log of the registry.", matching(logKeyPattern, maxLogKey, "text", toml.Length(1, maxLogKey), toml.Printable, logKey), func(r *R, s string) { r.LogKey = s }).
			without("the key that the registry shows first is kept"),
		row("scopes", "Scopes whose Experts are in the registry.", list(maxScopes, "A scope.", matching(scopePattern, 255, "", scopeName)), func(r *R, all []string) { r.Scopes = all }).
			without("none"),
	}
	if !own {
		return keys
	}
	return append(keys,
		row("witnesses", "Public keys of the witnesses that cosign the log of the registry.", list(maxWitnesses, "A public key, as perstackd witness prints it.", matching(logKeyPattern, maxLogKey, "text", toml.Length(1, maxLogKey), toml.Printable, witnessKey)), func(r *R, all []string) { r.Witnesses = all }).
			without("none"),
		row("requireWitnesses", "How many of the witnesses must have cosigned what the registry shows.", between(0, maxWitnesses, "it counts witnesses"), func(r *R, n int64) { r.RequireWitnesses = int(n) }).
			without("all of them"),
	)
}

// checkWitnesses says how many witnesses must have cosigned, if the file does not.
func (r *reader) checkWitnesses(entry *toml.Table, one *Registry) {
	n := entry.Node.Fields["requireWitnesses"]
	switch {
	case n == nil:
		one.RequireWitnesses = len(one.Witnesses)
	case one.RequireWitnesses > len(one.Witnesses):
		r.Fault(n.At, n.Path(), "is more than there are witnesses", "list their keys in witnesses")
	}
}

// scopeKeys are the keys of [scopes."<scope>"].
func scopeKeys() []key[Scope] {
	type S = Scope
	return []key[S]{
		row("registry", "Name of the registry in which the Experts of the scope are.", matching(registryName, 64, "text", registryWord), func(s *S, name string) { s.Registry = name }).
			without("the one that lists the scope, else `default`"),
		custom("require", "What an Expert of the scope has to prove before it runs.", "`\"logged\"`, `\"signed\"`, or a list of public keys of SSH", requireSchema, (*reader).require).
			or(RequireLogged).more("`logged` means that it is in the log of its registry; `signed` that its publisher signed it, too; a list, that one of these keys did"),
		row("keys", "Public keys of SSH, one of which must have signed.", list(maxSigningKeys, "A public key, as in a file that ends in .pub.", publicKey()), func(s *S, all []string) { s.Keys = all }).
			without("any key").more("with `require = \"signed\"`"),
		row("private", "Read the Experts of the scope with your key of the registry.", flag(), func(s *S, b bool) { s.Private = b }).
			or("false").more("for Experts that only your organization can see"),
		minAgeKey(func(s *S) *time.Duration { return &s.MinReleaseAge }).without("that of the top level").more("with a number and `d`, `h` or `m`"),
	}
}

// minAgeKey is the key that keeps fresh versions away.
func minAgeKey[T any](field func(*T) *time.Duration) key[T] {
	return row("minReleaseAge", "How old a version of an Expert must be before a floating key means it.", age(), func(v *T, d time.Duration) { *field(v) = d })
}

// age is a time in days, hours or minutes.
func age() value[time.Duration] {
	const hint = `write it like "7d" or "36h"`
	return value[time.Duration]{
		schema: &jsonSchema{Type: "string", Pattern: agePattern}, form: "text like `\"7d\"`",
		read: func(t *toml.Table, key string) time.Duration {
			n := t.Get(key)
			if !t.Reader.Is(n, toml.KindString) {
				return 0
			}
			d, ok := parseAge(n.Text)
			if !ok {
				t.Reader.Fault(n.At, n.Path(), wording.Quote(n.Text)+" is not an age of at most a year", hint)
			}
			return d
		},
	}
}

func parseAge(s string) (time.Duration, bool) {
	if !ageGrammar().MatchString(s) {
		return 0, false
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		hours, err := time.ParseDuration(days + "h")
		return 24 * hours, err == nil && 24*hours <= maxAge
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d <= maxAge
}

// registryAddress accepts what the user chooses: a registry can be in a private network, and without
// encryption on this machine.
func registryAddress(s string) (message, hint string) { return netaddr.BaseURL(s, false, true) }

// bareURL refuses what is not part of an address that paths are added to.
func bareURL(s string) (message, hint string) {
	u, err := url.Parse(s)
	if err != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#") || strings.Contains(u.EscapedPath(), "%") || slices.ContainsFunc(strings.Split(u.Path, "/"), func(part string) bool { return part == "." || part == ".." }) {
		return "has more than a host and a path", "write it like https://registry.example.com"
	}
	return "", ""
}

func logKey(s string) (message, hint string) {
	if !logKeyGrammar().MatchString(s) {
		return "is not the key of a log", "copy it from the page of the registry; it is like example.com/log+1a2b3c4d+AbC…"
	}
	return "", ""
}

func witnessKey(s string) (message, hint string) {
	if !logKeyGrammar().MatchString(s) {
		return "is not the key of a witness", "copy it from what perstackd witness prints; it is like example.com/w1+1a2b3c4d+AbC…"
	}
	return "", ""
}

func scopeName(s string) (message, hint string) {
	if len(s) > 255 || !scopeGrammar().MatchString(s) {
		return wording.Quote(s) + " is not a scope", "write it like @acme, in lower case"
	}
	return "", ""
}

// policyName accepts a scope, or the beginning of references to a container registry.
func policyName(s string) (message, hint string) {
	if !expert.IsOCI(s) {
		return scopeName(s)
	}
	name := s
	if _, path, _ := strings.Cut(strings.TrimPrefix(s, "oci://"), "/"); path == "" {
		name += "/x" // a whole registry
	}
	if ref, err := expert.ParseOCI(name); err != nil || len(s) > 255 || ref.Name() != name || strings.HasSuffix(s, "/") {
		return wording.Quote(s) + " is not a container registry", "write it like oci://registry.example/acme, without tag and digest"
	}
	return "", ""
}

func registryWord(s string) (message, hint string) {
	if len(s) > 64 || !registryGrammar().MatchString(s) {
		return wording.Quote(s) + " is not the name of a registry", "use lower-case letters, digits, - and _"
	}
	return "", ""
}

// publicKey is one of SSH.
func publicKey() value[string] {
	return matching(signingKeyPattern, maxSigningKey, "text", toml.Length(1, maxSigningKey), toml.Printable, func(s string) (message, hint string) {
		if !signingGrammar().MatchString(s) {
			return "is not a public key of SSH", "copy the line of the file that ends in .pub"
		}
		return "", ""
	})
}

func requireSchema() *jsonSchema {
	words, keys := word(RequireLogged, RequireSigned).schema, list(maxSigningKeys, "A public key of SSH.", publicKey()).schema
	words.Description, keys.Description = "What is proved.", "Keys, one of which must have signed."
	return &jsonSchema{AnyOf: []*jsonSchema{words, keys}}
}

func (r *reader) require(t *toml.Table, s *Scope) {
	n := t.Get("require")
	if n == nil || n.Unreadable {
		return
	}
	if n.Kind != toml.KindArray {
		if r.Is(n, toml.KindString) && r.Check(n, toml.OneOf(RequireLogged, RequireSigned)) {
			s.Require = n.Text
		}
		return
	}
	s.Require, s.Keys = RequireSigned, t.Strs("require", maxSigningKeys, publicKey().rules...)
	if len(n.Items) == 0 {
		r.Fault(n.At, n.Path(), "has no key", `list keys, or write "signed" for any`)
	}
	if other := t.Node.Fields["keys"]; other != nil {
		r.Fault(other.KeyAt, other.Path(), "is there beside keys in require", "keep one of them")
	}
}

// registriesKey is the key of the table of registries.
func registriesKey[T any](own bool, field func(*T) *[]Registry) key[T] {
	schema := func() *jsonSchema {
		s := tablesOf(matching(registryName, 64, "").schema, schemaOf("A registry of Experts.", registryKeys(own)))
		s.MaxProperties = maxRegistries
		return s
	}
	return custom("registries", "Registries of Experts, by a name of your choice.", "table", schema, func(r *reader, top *toml.Table, v *T) {
		*field(v) = r.registries(top, own)
	}).without("the one at `" + DefaultAPIBaseURL + "`").more("see [registries](#registries)")
}

// registries reads the table. A scope is in one registry, and an address has one name: otherwise the
// order of the file would decide where an Expert comes from.
func (r *reader) registries(top *toml.Table, own bool) (all []Registry) {
	t := top.Sub("registries")
	if t == nil {
		return nil
	}
	r.AtMost(t.Node, len(t.Node.Keys), maxRegistries, "registries")
	scopes, addresses := map[string]string{}, map[string]string{}
	t.Each(func(name string, entry *toml.Table) {
		if !r.Check(entry.Node.Name(name), registryWord) {
			return
		}
		if name == DefaultRegistry && !own {
			r.Fault(entry.Node.KeyAt, entry.Node.Path(), "only the configuration of the user has a registry of this name", "write perstackApiBaseUrl instead")
		}
		one := Registry{Name: name}
		readKeys(r, entry, registryKeys(own), &one)
		if own {
			r.checkWitnesses(entry, &one)
		}
		entry.Finish(r.misplaced)
		if other := addresses[one.URL]; other != "" && one.URL != "" {
			n := entry.Node.Fields["url"]
			r.Fault(n.At, n.Path(), "is the address of registry "+wording.Quote(other)+", too", "keep one of them, with all scopes")
		}
		addresses[one.URL] = name
		for _, scope := range one.Scopes {
			if other := scopes[scope]; other != "" {
				n := entry.Node.Fields["scopes"]
				r.Fault(n.At, n.Path(), "has "+scope+", which registry "+wording.Quote(other)+" has, too", "a scope is in one registry")
			}
			scopes[scope] = name
		}
		all = append(all, one)
	})
	return all
}

// scopesKey is the key of the table of scopes. It comes after that of registries.
func scopesKey() key[UserConfig] {
	schema := func() *jsonSchema {
		s := tablesOf(matching(policyPattern, 255, "").schema, schemaOf("What holds for the Experts of a scope, or of a container registry.", scopeKeys()))
		s.MaxProperties = maxScopes
		return s
	}
	return custom("scopes", "What holds for the Experts of a scope, or of a container registry.", "table", schema, (*reader).scopes).without("none").more("see [scopes](#scopes)")
}

func (r *reader) scopes(top *toml.Table, u *UserConfig) {
	t := top.Sub("scopes")
	if t == nil {
		return
	}
	r.AtMost(t.Node, len(t.Node.Keys), maxScopes, "scopes")
	t.Each(func(name string, entry *toml.Table) {
		if !r.Check(entry.Node.Name(name), policyName) {
			return
		}
		one := Scope{Name: name}
		readKeys(r, entry, scopeKeys(), &one)
		entry.Finish()
		if n := entry.Node.Fields["keys"]; n != nil && one.Require != RequireSigned {
			r.Fault(n.KeyAt, n.Path(), "has no effect without signatures", `add require = "signed" beside it`)
		}
		if n := entry.Node.Fields["registry"]; n != nil && one.Registry != "" {
			if expert.IsOCI(name) {
				r.Fault(n.KeyAt, n.Path(), "has no effect: the name of the table says where the Experts are", "remove it")
			} else {
				r.scopeRegistry(n, one, u)
			}
		}
		if n := entry.Node.Fields["require"]; n != nil && one.Require == RequireLogged && expert.IsOCI(name) {
			r.Fault(n.At, n.Path(), "container registries have no log", "require \"signed\", or list keys")
		}
		u.Scopes = append(u.Scopes, one)
	})
}

// scopeRegistry refuses a scope whose registry is not in the file, or that another one lists.
func (r *reader) scopeRegistry(n *toml.Node, one Scope, u *UserConfig) {
	known := []string{DefaultRegistry}
	for _, registry := range u.Registries {
		known = append(known, registry.Name)
		if registry.Name != one.Registry && slices.Contains(registry.Scopes, one.Name) {
			r.Fault(n.At, n.Path(), "is "+wording.Quote(one.Registry)+", but registry "+wording.Quote(registry.Name)+" has "+one.Name, "a scope is in one registry; remove it from one of them")
		}
	}
	if !slices.Contains(known, one.Registry) {
		r.Fault(n.At, n.Path(), "there is no registry "+wording.Quote(one.Registry)+" in this file", wording.DidYouMean(one.Registry, known))
	}
}
