package server

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// reserved names cannot be published.
var reserved = []string{"perstack", "admin", "administrator", "latest", "official", "registry", "support", "api", "root", "system", "base"}

// checkNewName refuses a name that is reserved, or that people would take for another one. A scope belongs
// to its organization, so within it anything can be called anything.
func (t *change) checkNewName(name, orgID string) error {
	if strings.HasPrefix(name, "@") {
		if strings.HasPrefix(name, "@perstack/") {
			return badRequest("The scope @perstack is reserved")
		}
		return nil
	}
	if slices.Contains(reserved, name) {
		return badRequest("The name %s is reserved", name)
	}
	return t.each("SELECT name FROM experts WHERE org_id <> $1 AND name NOT LIKE '@%'", []any{orgID}, func(scan func(...any) error) error {
		var other string
		if err := scan(&other); err != nil {
			return err
		}
		if alike(name, other) {
			return badRequest("The name %s is too similar to %s, which belongs to another organization", name, other)
		}
		return nil
	})
}

// alike reports whether people can take one name for the other.
func alike(a, b string) bool {
	return skeleton(a) == skeleton(b) || len(a) > 3 && len(b) > 3 && isOneEdit(a, b)
}

// skeleton is a name without what the eye passes over.
func skeleton(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "", "0", "o", "1", "l", "3", "e", "5", "s", "i", "l", "rn", "m", "vv", "w").Replace(name)
}

// isOneEdit reports whether one letter makes the difference.
func isOneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	at := 0
	for at < len(a) && a[at] == b[at] {
		at++
	}
	if len(a) == len(b) {
		return at == len(a) || a[at+1:] == b[at+1:]
	}
	return a[at:] == b[at+1:]
}

// setTag lets a tag mean a version, and tells the log.
func (t *change) setTag(by Actor, o owned, tag string, v version) error {
	var old string
	if _, err := t.one("SELECT v.version FROM tags t JOIN versions v ON v.id = t.version_id WHERE t.expert_id = $1 AND t.tag = $2", []any{o.id, tag}, &old); err != nil {
		return err
	}
	if old == v.version {
		return nil
	}
	number, err := t.record(t.r.opts.Origin, tlog.Leaf{Kind: tlog.Tagged, Name: o.name, Tag: tag, Old: old, New: v.version, Actor: by.logName()})
	if err != nil {
		return err
	}
	return t.exec("INSERT INTO tags (expert_id, tag, version_id, leaf) VALUES ($1, $2, $3, $4) ON CONFLICT (expert_id, tag) DO UPDATE SET version_id = excluded.version_id, leaf = excluded.leaf", o.id, tag, v.id, number)
}
