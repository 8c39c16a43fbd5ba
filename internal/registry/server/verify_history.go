package server

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// A history is what the leaves of all logs say about the state of the registry.
type history struct {
	versions map[string]*toldVersion // by exact key
	tags     map[string]toldTag      // by name and tag
	owners   map[string]string       // organization by name
	orgs     map[string]string       // name by id
	signers  map[string]string       // of organizations, by id
	keys     []keyChange             // of the log
}

type toldVersion struct {
	leaf    *tlog.Leaf
	log     string
	number  int64
	sealed  bool // it is private
	status  string
	message string // digest
}

// A toldTag is the version that a tag means, and the leaf that says so.
type toldTag struct {
	version string
	number  int64
}

func newHistory() *history {
	return &history{
		versions: map[string]*toldVersion{}, tags: map[string]toldTag{}, owners: map[string]string{}, orgs: map[string]string{}, signers: map[string]string{},
	}
}

// orgOf returns the organization of the actor of a leaf; "" for the operator.
func orgOf(actor string) string {
	org, _, _ := strings.Cut(actor, " ")
	id, _ := strings.CutPrefix(org, "org:")
	return id
}

// add applies a leaf.
func (h *history) add(log string, number int64, l *tlog.Leaf, sealed bool, report *Report) {
	key := l.Name + "@" + l.Version
	known := h.versions[key]
	switch l.Kind {
	case tlog.Published:
		if known != nil {
			report.add(leafName(log, number), "%s was published by leaf %d already", key, known.number)
			return
		}
		h.versions[key] = &toldVersion{leaf: l, log: log, number: number, sealed: sealed, status: api.Available}
		if h.owners[l.Name] == "" { // the first publisher owns the name
			h.owners[l.Name] = orgOf(l.Actor)
		}
	case tlog.StatusChanged, tlog.Removed:
		if known == nil {
			report.add(leafName(log, number), "it changes %s, which no leaf published", key)
			return
		}
		if known.status, known.message = l.New, l.Message; l.Kind == tlog.Removed {
			known.status = api.Unpublished
		}
	case tlog.Tagged:
		h.tags[l.Name+"@"+l.Tag] = toldTag{l.New, number}
	case tlog.Transferred:
		h.owners[l.Name] = l.New
	case tlog.OrgChanged:
		h.orgs[l.Org] = l.New
	case tlog.PolicyChanged:
		h.signers[l.Org] = l.New
	case tlog.LogKey:
		h.keys = append(h.keys, keyChange{number, l.Old, l.New})
	}
}

// compare finds where the tables say something else than the log.
func (v *verification) compare(told *history, versions []version) error {
	delegates, err := v.delegates()
	if err != nil {
		return err
	}
	actors, err := v.actors()
	if err != nil {
		return err
	}
	seen, owned := map[string]bool{}, map[string]bool{}
	for _, one := range versions {
		v.report.Versions++
		key := one.name + "@" + one.version
		what := "version " + key
		seen[key] = true
		log := told.versions[key]
		switch {
		case log == nil:
			v.report.add(what, "the log has no leaf about it")
			continue
		case log.log != one.log || log.number != one.number:
			v.report.add(what, "it names the leaf %d of %s, and the one about it is %d of %s", one.number, one.log, log.number, log.log)
		case log.leaf.Digest != one.digest:
			v.report.add(what, "it has the digest %s; the log says %s", one.digest, log.leaf.Digest)
		case log.leaf.Signature != signatureHash(one.signature):
			v.report.add(what, "its signature is not the one of the log")
		}
		if log.status != one.status {
			v.report.add(what, "its status is %s; the log says %s", one.status, log.status)
		}
		if log.message != messageDigest(one.message) {
			v.report.add(what, "the message about its status is not the one of the log")
		}
		if log.sealed != (one.visibility == api.Private) {
			v.report.add(what, "it is %s; the log says otherwise", one.visibility)
		}
		if actor := actors[one.id]; !strings.HasPrefix(log.leaf.Actor+" ", actor.org+" ") || !strings.HasSuffix(log.leaf.Actor, ":"+actor.key) {
			v.report.add(what, "it was published by %s with the key %s; the log says %s", actor.org, actor.key, log.leaf.Actor)
		}
		if at := log.leaf.Time.UnixMilli(); at != one.createdAt {
			v.report.add(what, "it was published at %s; the log says %s", millis(one.createdAt).Format(time.RFC3339), millis(at).Format(time.RFC3339))
		}
		var want []string
		for _, d := range log.leaf.Delegates {
			want = append(want, d.Key+" "+d.Exact+" "+d.Digest)
		}
		if got := delegates[one.id]; strings.Join(got, "\n") != strings.Join(want, "\n") {
			v.report.add(what, "its delegates are not those of the log")
		}
		if owner := told.owners[one.name]; owner != one.orgID && !owned[one.name] {
			owned[one.name] = true // once is enough
			v.report.add("Expert "+one.name, "it belongs to %s; the log says %s", one.orgID, owner)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(told.versions)) {
		if log := told.versions[key]; !seen[key] {
			v.report.add("version "+key, "it is missing; leaf %d of %s published it", log.number, log.log)
		}
	}
	return v.compareNames(told)
}

// compareNames does so for tags and organizations.
func (v *verification) compareNames(told *history) error {
	err := v.each("SELECT e.name, t.tag, v.version, t.leaf FROM tags t JOIN experts e ON e.id = t.expert_id JOIN versions v ON v.id = t.version_id", nil, func(scan func(...any) error) error {
		var name, tag, number string
		var leaf int64
		if err := scan(&name, &tag, &number, &leaf); err != nil {
			return err
		}
		switch said := told.tags[name+"@"+tag]; {
		case said.version != number:
			v.report.add("tag "+name+"@"+tag, "it means %s; the log says %q", number, said.version)
		case said.number != leaf:
			v.report.add("tag "+name+"@"+tag, "it names the leaf %d, and the one that set it is %d", leaf, said.number)
		}
		delete(told.tags, name+"@"+tag)
		return nil
	})
	if err != nil {
		return err
	}
	for _, tag := range slices.Sorted(maps.Keys(told.tags)) {
		if number := told.tags[tag].version; number != "" {
			v.report.add("tag "+tag, "it is missing; the log says %s", number)
		}
	}
	return v.compareOrganizations(told)
}

// compareOrganizations does so for the names and the signing keys of organizations. The log has no types; the
// audit trail says with which type an organization was made.
func (v *verification) compareOrganizations(told *history) error {
	types := map[string]string{}
	err := v.each("SELECT object, detail FROM audit WHERE action = 'create organization' AND detail <> ''", nil, func(scan func(...any) error) error {
		var name, kind string
		err := scan(&name, &kind)
		types[name] = kind
		return err
	})
	if err != nil {
		return err
	}
	return v.each("SELECT id, name, type, signers FROM organizations", nil, func(scan func(...any) error) error {
		var id, name, kind, signers string
		if err := scan(&id, &name, &kind, &signers); err != nil {
			return err
		}
		what := "organization " + name
		if said := told.orgs[id]; said != name {
			v.report.add(what, "the log calls %s %q", id, said)
		}
		if said := types[name]; said != "" && said != kind {
			v.report.add(what, "it is of the type %s; the audit trail says %s", kind, said)
		}
		if said := told.signers[id]; said != strings.Join(unlines(signers), ",") {
			v.report.add(what, "the keys that sign for it are not those of the log")
		}
		return nil
	})
}

// A publisher is the actor of a publication.
type publisher struct{ org, key string }

// actors returns the publishers of versions by their ids.
func (v *verification) actors() (map[string]publisher, error) {
	all := map[string]publisher{}
	err := v.each("SELECT id, org_id, key_id FROM versions", nil, func(scan func(...any) error) error {
		var id string
		var p publisher
		err := scan(&id, &p.org, &p.key)
		p.org = "org:" + p.org
		all[id] = p
		return err
	})
	return all, err
}

// delegates returns what delegates mean, by the id of the version that has them.
func (v *verification) delegates() (map[string][]string, error) {
	all := map[string][]string{}
	err := v.each("SELECT d.version_id, d.key, e.name, v.version, v.digest FROM delegations d JOIN versions v ON v.id = d.delegate_id JOIN experts e ON e.id = v.expert_id ORDER BY d.version_id, d.position", nil, func(scan func(...any) error) error {
		var id, key, name, number, digest string
		err := scan(&id, &key, &name, &number, &digest)
		all[id] = append(all[id], key+" "+name+"@"+number+" "+digest)
		return err
	})
	return all, err
}
