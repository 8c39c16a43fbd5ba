package packages

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/lockfile"
)

// A tree is a package with all its dependencies, each with version and integrity. As text
// it is a package-lock.json for npm ci, in one canonical form: sorted, a line for a
// package, and nothing that npm does not need for the same result. It has no addresses: a
// lockfile must work with and without mirrors.
type tree struct {
	Packages map[string]entry `json:"packages"` // by place, like node_modules/a/node_modules/b
}

// An entry is a package at its path. Its fields are what npm needs to build the same tree
// again; other fields are dropped.
type entry struct {
	Name      string `json:"name,omitzero"` // if the place has another one
	Version   string `json:"version,omitzero"`
	Integrity string `json:"integrity,omitzero"`

	InBundle   bool `json:"inBundle,omitzero"` // it came inside of the package around it
	Optional   bool `json:"optional,omitzero"`
	Peer       bool `json:"peer,omitzero"`
	HasScripts bool `json:"hasInstallScript,omitzero"` // which are never run; for the reader

	Dependencies         map[string]string   `json:"dependencies,omitempty"`
	OptionalDependencies map[string]string   `json:"optionalDependencies,omitempty"`
	PeerDependencies     map[string]string   `json:"peerDependencies,omitempty"`
	PeerMeta             map[string]peerMeta `json:"peerDependenciesMeta,omitempty"`
	Bundled              words               `json:"bundleDependencies,omitempty"`

	OS   words `json:"os,omitempty"`
	CPU  words `json:"cpu,omitempty"`
	Libc words `json:"libc,omitempty"`
}

type peerMeta struct {
	Optional bool `json:"optional,omitzero"`
}

const (
	modules      = "node_modules"
	lockName     = "package-lock.json"
	manifestName = "package.json"

	maxTree     = 8 << 20 // bytes
	maxPackages = 5_000
	maxNesting  = 32      // of places; npm puts most packages at the top
	maxMembers  = 100_000 // as the commas of the text; a tree of 5,000 packages has half of them
)

var (
	namePattern = `(?:@[a-zA-Z0-9~][\w.~-]*/)?[a-zA-Z0-9~][\w.~-]*`
	nameOnly    = pattern(`^` + namePattern + `$`)
	placeOnly   = pattern(`^node_modules/` + namePattern + `(?:/node_modules/` + namePattern + `)*$`)
	versionOnly = pattern(`^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$`)
	tagOnly     = pattern(`^[a-zA-Z0-9][\w.-]*$`)
	// A range of versions, of this name or of another one. Addresses and paths would let
	// a package come from elsewhere than the registry.
	rangeOnly = pattern(`^(?:npm:` + namePattern + `@?)?[\w.\-+*^~<>=| ]*$`)
	wordOnly  = pattern(`^!?[\w./@~-]+$`)
)

// pattern compiles an expression when it is used first.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

const maxWord = 214 // that is npm's limit for names

func isName(s string) bool    { return len(s) <= maxWord && nameOnly().MatchString(s) }
func isVersion(s string) bool { return len(s) <= maxWord && versionOnly().MatchString(s) }
func isTag(s string) bool     { return len(s) <= maxWord && tagOnly().MatchString(s) }

// fetchedTree reads what npm resolved. Unlike our own text, it has many unknown fields.
func fetchedTree(text []byte, name string) (*tree, error) {
	var fetched struct {
		Packages map[string]struct {
			entry
			Link bool `json:"link"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(text, &fetched, json.RejectUnknownMembers(false)); err != nil {
		return nil, fmt.Errorf("npm wrote a %s that cannot be read: %w", lockName, err)
	}
	t := &tree{Packages: make(map[string]entry)}
	for place, e := range fetched.Packages {
		if e.Link {
			return nil, fmt.Errorf("it needs %s, which is a link and not a package of the registry", safeText(place))
		}
		t.Packages[place] = e.entry
	}
	t.Packages[""] = entry{Dependencies: map[string]string{name: t.root(name).Version}}
	if t.needsElsewhere() {
		return nil, errElsewhere // the same words as if npm had failed there
	}
	return t, t.check(name)
}

// lockedTree reads the tree of a pinned package, which may come from an untrusted file.
func lockedTree(p *lockfile.Package) (*tree, error) {
	if p.Manager != manager || !isName(p.Name) || !isVersion(p.Version) {
		return nil, fmt.Errorf("%w: it is not an exact npm package", errBroken)
	}
	if len(p.Tree) > maxTree {
		return nil, fmt.Errorf("%w: its tree has more than %d bytes", errBroken, maxTree)
	}
	if strings.Count(p.Tree, ",") > maxMembers {
		return nil, fmt.Errorf("%w: its tree has more than %d members", errBroken, maxMembers)
	}
	var text struct {
		LockfileVersion int  `json:"lockfileVersion"`
		Requires        bool `json:"requires"`
		tree
	}
	if err := json.Unmarshal([]byte(p.Tree), &text, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%w: its tree cannot be read: %w", errBroken, err)
	}
	t := &text.tree
	if err := t.check(p.Name); err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	if root := t.root(p.Name); root.Version != p.Version || root.Integrity != p.Integrity {
		return nil, fmt.Errorf("%w: its tree is about version %s with integrity %s", errBroken, root.Version, root.Integrity)
	}
	if p.Tree != t.String() { // one text for one tree, so that a difference means something
		return nil, fmt.Errorf("%w: its tree is not in the form in which it was written", errBroken)
	}
	return t, nil
}

func (t *tree) root(name string) entry { return t.Packages[modules+"/"+name] }

// count is how many packages there are, not all of them for this machine.
func (t *tree) count() int { return len(t.Packages) - 1 }

// check makes sure that one package is asked for, and that all packages come from the
// registry and are pinned.
func (t *tree) check(name string) error {
	if len(t.Packages) > maxPackages {
		return fmt.Errorf("it needs %d packages; %d are allowed", t.count(), maxPackages)
	}
	root := t.root(name)
	if !reflect.DeepEqual(t.Packages[""], entry{Dependencies: map[string]string{name: root.Version}}) || root.Version == "" {
		return errors.New("its tree is about another package")
	}
	if root.Name != "" { // one that only calls itself so; what a package needs may do that
		return fmt.Errorf("it is another package, %s", safeText(root.Name))
	}
	places := slices.Sorted(maps.Keys(t.Packages))[1:] // without the empty one
	for _, place := range places {
		if len(place) > maxNesting*256 || strings.Count(place, modules+"/") > maxNesting || !placeOnly().MatchString(place) {
			return fmt.Errorf("%s is no place for a package", safeText(place))
		}
	}
	bundled := t.bundled(places)
	for _, place := range places {
		if err := t.Packages[place].check(bundled[place]); err != nil {
			return fmt.Errorf("it needs %s: %w", place, err)
		}
	}
	return nil
}

func (e entry) check(bundled bool) error {
	if e.Name != "" && !isName(e.Name) || !isVersion(e.Version) {
		return fmt.Errorf("%s@%s is not a version of a package", safeText(e.Name), safeText(e.Version))
	}
	// What came inside of another package is covered by the integrity of that.
	if !isStrong(e.Integrity) && (e.Integrity != "" || !bundled) {
		return fmt.Errorf("it does not come from the registry with a strong checksum (integrity %q)", safeText(e.Integrity))
	}
	for _, all := range []map[string]string{e.Dependencies, e.OptionalDependencies, e.PeerDependencies} {
		for name, version := range all {
			if !isName(name) || !rangeOnly().MatchString(version) {
				return fmt.Errorf("it needs %s from %s, which is not a version in the registry", safeText(name), safeText(version))
			}
		}
	}
	for name := range e.PeerMeta {
		if !isName(name) {
			return fmt.Errorf("%s is not the name of a package", safeText(name))
		}
	}
	for _, w := range slices.Concat(e.Bundled, e.OS, e.CPU, e.Libc) {
		if len(w) > maxWord || !wordOnly().MatchString(w) {
			return fmt.Errorf("%s is not understood", safeText(w))
		}
	}
	return nil
}

// isStrong reports whether npm can check a download against it, and collisions are not
// feasible.
func isStrong(integrity string) bool {
	kind, sum, _ := strings.Cut(integrity, "-")
	size, ok := map[string]int{"sha256": 32, "sha384": 48, "sha512": 64}[kind]
	raw, err := base64.StdEncoding.Strict().DecodeString(sum)
	return ok && err == nil && len(raw) == size
}

// String returns the text for the lockfile.
func (t *tree) String() string { return t.text(func(e entry) entry { return e }) }

// forNpm returns the text for npm. In it, bundled packages have an integrity that no
// download can match. npm ignores it, unless the outer package lacks what it claims to
// bundle. Then npm would fetch the missing package, which is not pinned.
func (t *tree) forNpm() string {
	return t.text(func(e entry) entry {
		if e.InBundle && e.Integrity == "" {
			e.Integrity = "sha512-" + base64.StdEncoding.EncodeToString(make([]byte, 64))
		}
		return e
	})
}

func (t *tree) text(form func(entry) entry) string {
	var b strings.Builder
	b.WriteString("{\"lockfileVersion\":3,\"requires\":true,\"packages\":{\n")
	for i, place := range slices.Sorted(maps.Keys(t.Packages)) {
		if i > 0 {
			b.WriteString(",\n")
		}
		e, err := json.Marshal(form(t.Packages[place]), json.Deterministic(true))
		if err != nil {
			return "" // maps and strings of valid text; and the empty text is no tree
		}
		key, _ := jsontext.AppendQuote(nil, place)
		fmt.Fprintf(&b, "%s:%s", key, e)
	}
	b.WriteString("\n}}\n")
	return b.String()
}

func (t *tree) digest() string { return hashOf(t.String()) }

func hashOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// words are a list, for which old packages have a single word.
type words []string

// UnmarshalJSONFrom takes both.
func (w *words) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == '"' {
		var one string
		err := json.UnmarshalDecode(d, &one)
		*w = words{one}
		return err
	}
	return json.UnmarshalDecode(d, (*[]string)(w))
}

// bundled returns the places of packages that came inside another package: those that it
// lists as bundled, and their dependencies that lie in the same package. The integrity of
// the outer package covers them. The places are sorted: an outer package comes before what is in
// it. Each is visited once: what came inside another package has nothing to add to that.
func (t *tree) bundled(places []string) map[string]bool {
	all, at := make(map[string]bool), make(map[string]*location)
	for _, place := range places {
		t.locate(at, place)
	}
	for _, place := range places {
		if len(t.Packages[place].Bundled) == 0 || all[place] {
			continue
		}
		bundler, next := at[place], []*location(nil)
		need := func(from *location, name string) {
			if found := from.find(name, bundler); found != nil && !all[found.place] {
				all[found.place] = true
				next = append(next, found)
			}
		}
		for _, name := range t.Packages[place].Bundled {
			need(bundler, name)
		}
		for len(next) > 0 {
			from := next[0]
			next = next[1:]
			inner := t.Packages[from.place]
			for _, names := range []map[string]string{inner.Dependencies, inner.OptionalDependencies, inner.PeerDependencies} {
				for name := range names {
					need(from, name)
				}
			}
			for _, name := range inner.Bundled {
				need(from, name)
			}
		}
	}
	return all
}

// A location is a place in the directories of a tree.
type location struct {
	place  string
	around *location            // nil at the top
	inner  map[string]*location // the bundled packages in its node_modules, by name
}

// locate returns the location of a place, and makes it if there is none yet.
func (t *tree) locate(at map[string]*location, place string) *location {
	if l := at[place]; l != nil {
		return l
	}
	l := &location{place: place, inner: make(map[string]*location)}
	at[place] = l
	if i := strings.LastIndex(place, "/"+modules+"/"); i >= 0 {
		l.around = t.locate(at, place[:i])
		if t.Packages[place].InBundle {
			l.around.inner[place[i+len("/"+modules+"/"):]] = l
		}
	}
	return l
}

// find looks for a bundled package as node does: from a place upwards, here up to the bundler.
func (l *location) find(name string, bundler *location) *location {
	for ; ; l = l.around {
		if found := l.inner[name]; found != nil || l == bundler {
			return found
		}
	}
}
