package server

import (
	"bytes"
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
)

// expert returns a version with its content and the proof of its publication.
func (l *look) expert(v version, h head) (e api.Expert, err error) {
	if v.status == api.Quarantined {
		return e, errWithheld()
	}
	if e.Content, err = l.content(v.digest); err != nil {
		return e, err
	}
	if e.Entry, err = l.entry(h, v.number); err != nil {
		return e, err
	}
	tags, err := l.tags(v.expertID)
	e.Version, e.Signature = describe(v, tags), v.signature
	return e, err
}

// describe returns what is known about a version.
func describe(v version, tags map[string][]string) api.Version {
	return api.Version{
		Name: v.name, Version: v.version, Digest: v.digest, Status: v.status, StatusMessage: v.message, ReplacedBy: v.replacedBy,
		Tags: append([]string{}, tags[v.id]...), Index: v.number, PublishedAt: millis(v.createdAt), PublishedBy: v.publisher, Signer: v.signer,
		Advisories: unlines(v.advisories),
	}
}

// tags returns the tags of Experts by the id of their version, with latest.
func (l *look) tags(expertIDs ...string) (map[string][]string, error) {
	tags := map[string][]string{}
	in, args := among(expertIDs)
	err := l.each("SELECT version_id FROM listings WHERE expert_id"+in, args, func(scan func(...any) error) error {
		var last string
		err := scan(&last)
		tags[last] = []string{latest}
		return err
	})
	if err != nil {
		return nil, err
	}
	err = l.each("SELECT version_id, tag FROM tags WHERE expert_id"+in+" ORDER BY tag", args, func(scan func(...any) error) error {
		var id, tag string
		err := scan(&id, &tag)
		tags[id] = append(tags[id], tag)
		return err
	})
	return tags, err
}

// visible returns all versions of the Expert that has a name, the highest first.
func (l *look) visible(by Actor, name string) ([]version, error) {
	if !expert.ValidName(name) {
		return nil, invalid(&keyError{name})
	}
	all, err := l.versionsWhere("WHERE e.name = $1", name)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 || !all[0].isVisible(by) {
		return nil, notFound("Expert not found")
	}
	sortVersions(all)
	return all, nil
}

// A keyError says that something is not the name of an Expert.
type keyError struct{ name string }

func (e *keyError) Error() string { return "Invalid expert key format: " + e.name }

// Get returns the version that a key means. One that is quarantined or unpublished is not found.
func (r *Registry) Get(ctx context.Context, by Actor, key string) (rec Record, err error) {
	err = r.view(ctx, func(l *look) error { rec, err = l.get(by, key); return err })
	return rec, err
}

func (l *look) get(by Actor, key string) (rec Record, err error) {
	k, err := parseKey(key)
	if err != nil {
		return rec, err
	}
	v, err := l.find(by, k)
	if err != nil {
		return rec, err
	}
	return l.recordOf(v)
}

// Versions returns all versions of an Expert without their contents, the highest first, and the one that is
// the latest. Those that were unpublished are left out.
func (r *Registry) Versions(ctx context.Context, by Actor, name string) (all []Record, last string, err error) {
	err = r.view(ctx, func(l *look) error {
		found, err := l.visible(by, name)
		if err != nil {
			return err
		}
		last = r.latestOf(found)
		found = slices.DeleteFunc(found, func(v version) bool { return v.status == api.Unpublished })
		if all, err = l.recordsOf(found, false); err != nil {
			return err
		}
		switch {
		case len(all) == 0:
			return notFound("Expert not found")
		case last == "":
			return notFound("Latest version not found")
		}
		return nil
	})
	return all, last, err
}

// Package returns an Expert with all its versions, those that were unpublished too: their numbers stay taken.
func (r *Registry) Package(ctx context.Context, by Actor, name string) (p api.Package, err error) {
	err = r.view(ctx, func(l *look) error {
		all, err := l.visible(by, name)
		if err != nil {
			return err
		}
		first := all[0]
		p = api.Package{Name: name, Owner: api.Organization{ID: first.orgID, Name: first.orgName}, Visibility: first.visibility, Latest: r.latestOf(all), Tags: map[string]string{}}
		if p.Owner, err = l.organization(first.orgName); err != nil {
			return err
		}
		tags, err := l.tags(first.expertID)
		if err != nil {
			return err
		}
		for _, v := range all {
			p.Versions = append(p.Versions, describe(v, tags))
			for _, tag := range tags[v.id] {
				p.Tags[tag] = v.version
			}
			if v.version == p.Latest {
				p.Description = v.description
			}
		}
		p.Dependents, err = l.dependents(by, first.expertID)
		return err
	})
	return p, err
}

// maxDependents is how many dependents are named.
const maxDependents = 100

// dependents returns the names of Experts that delegate to one.
func (l *look) dependents(by Actor, expertID string) (names []string, err error) {
	err = l.each(`SELECT DISTINCT e.name, e.org_id, e.visibility FROM delegations d
		JOIN versions target ON target.id = d.delegate_id
		JOIN versions v ON v.id = d.version_id JOIN version_states s ON s.version_id = v.id JOIN experts e ON e.id = v.expert_id
		WHERE target.expert_id = $1 AND e.id <> $1 AND s.status <> $2 ORDER BY e.name`, []any{expertID, api.Unpublished}, func(scan func(...any) error) error {
		v := version{}
		err := scan(&v.name, &v.orgID, &v.visibility)
		if len(names) < maxDependents && v.isVisible(by) {
			names = append(names, v.name)
		}
		return err
	})
	return names, err
}

// Index returns the versions of an Expert as lines of JSON, the oldest first. The text changes only if one of
// them does, so that mirrors and caches can serve it.
func (r *Registry) Index(ctx context.Context, by Actor, name string) (text []byte, err error) {
	p, err := r.Package(ctx, by, name)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(p.Versions, func(a, b api.Version) int { return int(a.Index - b.Index) })
	var out bytes.Buffer
	for _, v := range p.Versions {
		if err := json.MarshalWrite(&out, v, json.Deterministic(true)); err != nil {
			return nil, err
		}
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}
