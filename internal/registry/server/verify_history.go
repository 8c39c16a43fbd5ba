package server

import (
	"maps"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// A history is what the leaves of all logs say about the state of the registry.
type history struct {
	versions map[string]*toldVersion // by exact key
	tags     map[string]string       // version by name and tag
	owners   map[string]string       // organization by name, if it changed
	orgs     map[string]string       // name by id
}

type toldVersion struct {
	leaf   *tlog.Leaf
	log    string
	number int64
	status string
}

func newHistory() *history {
	return &history{map[string]*toldVersion{}, map[string]string{}, map[string]string{}, map[string]string{}}
}

// add applies a leaf.
func (h *history) add(log string, number int64, l *tlog.Leaf, report *Report) {
	key := l.Name + "@" + l.Version
	known := h.versions[key]
	switch l.Kind {
	case tlog.Published:
		if known != nil {
			report.add(leafName(log, number), "%s was published by leaf %d already", key, known.number)
			return
		}
		h.versions[key] = &toldVersion{l, log, number, api.Available}
	case tlog.StatusChanged, tlog.Removed:
		if known == nil {
			report.add(leafName(log, number), "it changes %s, which no leaf published", key)
			return
		}
		if known.status = l.New; l.Kind == tlog.Removed {
			known.status = api.Unpublished
		}
	case tlog.Tagged:
		h.tags[l.Name+"@"+l.Tag] = l.New
	case tlog.Transferred:
		h.owners[l.Name] = l.New
	case tlog.OrgChanged:
		h.orgs[l.Org] = l.New
	}
}

// compare finds where the tables say something else than the log.
func (v *verification) compare(told *history, versions []version) error {
	delegates, err := v.delegates()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
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
		var want []string
		for _, d := range log.leaf.Delegates {
			want = append(want, d.Key+" "+d.Exact+" "+d.Digest)
		}
		if got := delegates[one.id]; strings.Join(got, "\n") != strings.Join(want, "\n") {
			v.report.add(what, "its delegates are not those of the log")
		}
		if owner := told.owners[one.name]; owner != "" && owner != one.orgID {
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
	err := v.each("SELECT e.name, t.tag, v.version FROM tags t JOIN experts e ON e.id = t.expert_id JOIN versions v ON v.id = t.version_id", nil, func(scan func(...any) error) error {
		var name, tag, number string
		if err := scan(&name, &tag, &number); err != nil {
			return err
		}
		if said := told.tags[name+"@"+tag]; said != number {
			v.report.add("tag "+name+"@"+tag, "it means %s; the log says %q", number, said)
		}
		delete(told.tags, name+"@"+tag)
		return nil
	})
	if err != nil {
		return err
	}
	for _, tag := range slices.Sorted(maps.Keys(told.tags)) {
		if number := told.tags[tag]; number != "" {
			v.report.add("tag "+tag, "it is missing; the log says %s", number)
		}
	}
	return v.each("SELECT id, name FROM organizations", nil, func(scan func(...any) error) error {
		var id, name string
		if err := scan(&id, &name); err != nil {
			return err
		}
		if said := told.orgs[id]; said != name {
			v.report.add("organization "+name, "the log calls %s %q", id, said)
		}
		return nil
	})
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
