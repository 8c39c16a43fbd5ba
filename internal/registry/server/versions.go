package server

import (
	"cmp"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
)

// A version is a row of the versions with its Expert and its state.
type version struct {
	id, name, version, digest    string
	orgID, orgName, visibility   string // owner
	publisher                    string // name of the organization that published it
	signature, signer            string
	status, message, replacedBy  string
	advisories, description      string
	expertID, log                string
	createdAt, updatedAt, number int64
}

const selectVersions = `SELECT v.id, e.name, v.version, v.digest, e.org_id, o.name, p.name, e.visibility, v.signature, v.signer,
	s.status, s.message, s.replaced_by, s.advisories, s.description, e.id, v.log, v.created_at, s.updated_at, v.leaf
	FROM versions v JOIN experts e ON e.id = v.expert_id JOIN organizations o ON o.id = e.org_id JOIN organizations p ON p.id = v.org_id JOIN version_states s ON s.version_id = v.id `

// versionsWhere reads versions.
func (l *look) versionsWhere(where string, args ...any) (all []version, err error) {
	err = l.each(selectVersions+where, args, func(scan func(...any) error) error {
		var v version
		err := scan(&v.id, &v.name, &v.version, &v.digest, &v.orgID, &v.orgName, &v.publisher, &v.visibility, &v.signature, &v.signer,
			&v.status, &v.message, &v.replacedBy, &v.advisories, &v.description, &v.expertID, &v.log, &v.createdAt, &v.updatedAt, &v.number)
		all = append(all, v)
		return err
	})
	return all, err
}

// versions returns all versions of an Expert, the highest first.
func (l *look) versions(expertID string) ([]version, error) {
	all, err := l.versionsWhere("WHERE e.id = $1", expertID)
	sortVersions(all)
	return all, err
}

// sortVersions puts the highest first.
func sortVersions(all []version) {
	slices.SortFunc(all, func(a, b version) int { return definition.CompareVersions(b.version, a.version) })
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
	var found []version
	var err error
	switch {
	case key.Version != "":
		found, err = l.versionsWhere("WHERE e.name = $1 AND v.version = $2", key.Name, key.Version)
	case key.Tag == "" || key.Tag == latest:
		found, err = l.versionsWhere("JOIN listings l ON l.version_id = v.id WHERE e.name = $1", key.Name)
	default:
		found, err = l.versionsWhere("JOIN tags t ON t.version_id = v.id WHERE e.name = $1 AND t.tag = $2", key.Name, key.Tag)
	}
	switch {
	case err != nil:
		return version{}, err
	case len(found) == 0 || !found[0].isVisible(by) || found[0].status == api.Unpublished:
		return version{}, notFound("Expert not found")
	case found[0].status == api.Quarantined:
		return version{}, errWithheld()
	case key.Version == "" && found[0].status == api.Disabled:
		return version{}, notFound("Expert not found")
	}
	return found[0], nil
}

// latestOf returns the version that latest means: the highest that is available and no prerelease; else the
// highest that is deprecated, else the highest prerelease; "" if there is none. The highest comes first.
// A registry that is to behave as the original takes the one that was published last.
func (r *Registry) latestOf(all []version) string {
	if r.opts.LatestByTime {
		all = slices.SortedFunc(slices.Values(all), func(a, b version) int {
			return cmp.Or(cmp.Compare(b.createdAt, a.createdAt), cmp.Compare(b.number, a.number))
		})
	}
	for _, accept := range []func(version) bool{
		func(v version) bool { return v.status == api.Available && (r.opts.LatestByTime || !isPrerelease(v)) },
		func(v version) bool { return v.status == api.Deprecated && !isPrerelease(v) },
		func(v version) bool { return v.status == api.Available || v.status == api.Deprecated },
	} {
		if i := slices.IndexFunc(all, accept); i >= 0 {
			return all[i].version
		}
	}
	return ""
}

func isPrerelease(v version) bool { return strings.Contains(v.version, "-") }

// content returns the canonical text with a digest.
func (l *look) content(digest string) (bytes []byte, err error) {
	ok, err := l.one("SELECT bytes FROM contents WHERE digest = $1", []any{digest}, &bytes)
	if err == nil && !ok {
		err = notFound("The content was erased")
	}
	return bytes, err
}
