package server

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// A version is a row of the versions with its Expert and its state.
type version struct {
	id, name, version, digest    string
	orgID, orgName, visibility   string
	signature, signer            string
	status, message, replacedBy  string
	advisories                   string
	expertID                     string
	createdAt, updatedAt, number int64
}

const selectVersions = `SELECT v.id, e.name, v.version, v.digest, e.org_id, o.name, e.visibility, v.signature, v.signer,
	s.status, s.message, s.replaced_by, s.advisories, e.id, v.created_at, s.updated_at, v.leaf
	FROM versions v JOIN experts e ON e.id = v.expert_id JOIN organizations o ON o.id = e.org_id JOIN version_states s ON s.version_id = v.id `

// versionsWhere reads versions.
func (l *look) versionsWhere(where string, args ...any) (all []version, err error) {
	err = l.each(selectVersions+where, args, func(scan func(...any) error) error {
		var v version
		err := scan(&v.id, &v.name, &v.version, &v.digest, &v.orgID, &v.orgName, &v.visibility, &v.signature, &v.signer,
			&v.status, &v.message, &v.replacedBy, &v.advisories, &v.expertID, &v.createdAt, &v.updatedAt, &v.number)
		all = append(all, v)
		return err
	})
	return all, err
}

// versions returns all versions of an Expert, the highest first.
func (l *look) versions(expertID string) ([]version, error) {
	all, err := l.versionsWhere("WHERE e.id = $1", expertID)
	slices.SortFunc(all, func(a, b version) int { return definition.CompareVersions(b.version, a.version) })
	return all, err
}

func (l *look) versionByID(id string) (version, error) {
	all, err := l.versionsWhere("WHERE v.id = $1", id)
	if err == nil && len(all) == 0 {
		err = notFound("Expert not found")
	}
	if err != nil {
		return version{}, err
	}
	return all[0], nil
}

// isVisible reports whether somebody may know of a version.
func (v *version) isVisible(to Actor) bool {
	return v.visibility == api.Public || to.sees(v.orgID, v.name)
}

// find returns the version that a key means.
func (l *look) find(by Actor, key expert.Key) (version, error) {
	var expertID string
	ok, err := l.one("SELECT id FROM experts WHERE name = $1", []any{key.Name}, &expertID)
	if err != nil {
		return version{}, err
	}
	var all []version
	if ok {
		if all, err = l.versions(expertID); err != nil {
			return version{}, err
		}
	}
	if len(all) == 0 || !all[0].isVisible(by) {
		return version{}, notFound("Expert not found")
	}
	meant := key.Version
	switch key.Tag {
	case "", latest:
		if meant == "" {
			meant = latestOf(all)
		}
	default:
		if _, err := l.one("SELECT v.version FROM tags t JOIN versions v ON v.id = t.version_id WHERE t.expert_id = $1 AND t.tag = $2", []any{expertID, key.Tag}, &meant); err != nil {
			return version{}, err
		}
	}
	i := slices.IndexFunc(all, func(v version) bool { return v.version == meant })
	switch {
	case i < 0 || all[i].status == api.Unpublished:
		return version{}, notFound("Expert not found")
	case all[i].status == api.Quarantined:
		return version{}, notFound("The version is withheld by an administrator")
	case key.Version == "" && all[i].status == api.Disabled:
		return version{}, notFound("Expert not found")
	}
	return all[i], nil
}

// latestOf returns the version that latest means: the highest that is available and no prerelease; else the
// highest that is deprecated, else the highest prerelease; "" if there is none. The highest comes first.
func latestOf(all []version) string {
	for _, accept := range []func(version) bool{
		func(v version) bool { return v.status == api.Available && !strings.Contains(v.version, "-") },
		func(v version) bool { return v.status == api.Deprecated && !strings.Contains(v.version, "-") },
		func(v version) bool { return v.status == api.Available || v.status == api.Deprecated },
	} {
		if i := slices.IndexFunc(all, accept); i >= 0 {
			return all[i].version
		}
	}
	return ""
}

// content returns the canonical text with a digest.
func (l *look) content(digest string) (bytes []byte, err error) {
	ok, err := l.one("SELECT bytes FROM contents WHERE digest = $1", []any{digest}, &bytes)
	if err == nil && !ok {
		err = notFound("The content was erased")
	}
	return bytes, err
}

// closure returns versions and all that they reach by the delegates that were pinned, each once, and how
// deep that is.
func (l *look) closure(first []version) (all []version, depth int, err error) {
	seen := map[string]bool{}
	for level := first; len(level) > 0; depth++ {
		var next []version
		for _, v := range level {
			if seen[v.id] {
				continue
			}
			seen[v.id] = true
			all = append(all, v)
			if len(all) > api.MaxClosure {
				return all, depth, nil
			}
			found, err := l.versionsWhere("JOIN delegations d ON d.delegate_id = v.id WHERE d.version_id = $1 ORDER BY d.position", v.id)
			if err != nil {
				return nil, 0, err
			}
			next = append(next, found...)
		}
		level = next
	}
	return all, depth, nil
}

// expert returns a version with its content and the proof of its publication.
func (l *look) expert(v version, size int64) (e api.Expert, err error) {
	if e.Content, err = l.content(v.digest); err != nil {
		return e, err
	}
	if e.Entry, err = l.entry(size, v.number); err != nil {
		return e, err
	}
	e.Version, err = l.describe(v)
	e.Signature = v.signature
	return e, err
}

// describe returns what is known about a version.
func (l *look) describe(v version) (api.Version, error) {
	tags, err := l.tagsOf(v)
	out := api.Version{
		Name: v.name, Version: v.version, Digest: v.digest, Status: v.status, StatusMessage: v.message, ReplacedBy: v.replacedBy,
		Tags: tags, Index: v.number, PublishedAt: time.UnixMilli(v.createdAt).UTC(), PublishedBy: v.orgName, Signer: v.signer,
	}
	out.Advisories = unlines(v.advisories)
	return out, err
}

// tagsOf returns the tags of a version, with latest.
func (l *look) tagsOf(v version) ([]string, error) {
	all, err := l.versions(v.expertID)
	if err != nil {
		return nil, err
	}
	tags := []string{}
	if latestOf(all) == v.version {
		tags = append(tags, latest)
	}
	err = l.each("SELECT tag FROM tags WHERE version_id = $1 ORDER BY tag", []any{v.id}, func(scan func(...any) error) error {
		var tag string
		err := scan(&tag)
		tags = append(tags, tag)
		return err
	})
	return tags, err
}

// Resolve says what keys mean, with all that they delegate to, and proves it.
func (r *Registry) Resolve(ctx context.Context, by Actor, asked api.Resolve) (out api.Resolved, err error) {
	if len(asked.Keys) == 0 || len(asked.Keys) > api.MaxClosure {
		return out, badRequest("Ask for 1 to %d keys", api.MaxClosure)
	}
	err = r.view(ctx, func(l *look) error {
		h, err := l.head()
		if err != nil {
			return err
		}
		out = api.Resolved{Checkpoint: string(h.note), Keys: map[string]string{}, Tags: map[string]api.Entry{}, Growth: []tlog.Hash{}}
		if out.Growth, err = l.growth(asked.From, h.size); err != nil {
			return err
		}
		var all []version
		for _, text := range asked.Keys {
			key, err := parseKey(text)
			if err != nil {
				return err
			}
			v, err := l.find(by, key)
			if err != nil {
				return named(err, text)
			}
			all = append(all, v)
			out.Keys[text] = v.name + "@" + v.version
			if key.Tag != "" && key.Tag != latest {
				if out.Tags[text], err = l.tagEntry(v, key.Tag, h.size); err != nil {
					return err
				}
			}
		}
		if asked.Closure {
			if all, _, err = l.closure(all); err != nil {
				return err
			}
		}
		for _, v := range all {
			if slices.ContainsFunc(out.Experts, func(e api.Expert) bool { return e.Digest == v.digest }) {
				continue
			}
			e, err := l.expert(v, h.size)
			if err != nil {
				return named(err, v.name+"@"+v.version)
			}
			out.Experts = append(out.Experts, e)
		}
		return nil
	})
	return out, err
}

// named says which key an answer is about.
func named(err error, key string) error {
	if answer, ok := errors.AsType[*Error](err); ok {
		return &Error{Status: answer.Status, Reason: answer.Reason + ": " + key, Field: answer.Field, Hint: answer.Hint}
	}
	return err
}

// tagEntry returns the leaf that set a tag.
func (l *look) tagEntry(v version, tag string, size int64) (e api.Entry, err error) {
	var number int64
	if _, err := l.one("SELECT leaf FROM tags WHERE expert_id = $1 AND tag = $2", []any{v.expertID, tag}, &number); err != nil {
		return e, err
	}
	return l.entry(size, number)
}
