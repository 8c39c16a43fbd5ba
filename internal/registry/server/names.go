package server

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
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
	return t.each("SELECT name, visibility FROM experts WHERE org_id <> $1 AND name NOT LIKE '@%'", []any{orgID}, func(scan func(...any) error) error {
		var other, visibility string
		if err := scan(&other, &visibility); err != nil {
			return err
		}
		switch {
		case !alike(name, other):
			return nil
		case visibility == api.Private: // its name is for its organization
			return badRequest("The name %s is taken, or too similar to one that is", name)
		}
		return badRequest("The name %s is too similar to %s, which belongs to another organization", name, other)
	})
}

// alike reports whether people can take one name for the other.
func alike(a, b string) bool {
	return skeleton(a) == skeleton(b) || len(a) > 3 && len(b) > 3 && isOneEdit(a, b)
}

// skeleton is a name without what the eye passes over.
func skeleton(name string) string { return lookAlikes().Replace(name) }

var lookAlikes = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("-", "", "_", "", ".", "", "0", "o", "1", "l", "3", "e", "5", "s", "i", "l", "rn", "m", "vv", "w")
})

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

// tooManyStatus is that of a client that has to wait.
const tooManyStatus = 429

// checkNewNames holds an organization to the number of new names in a day: names are what squatters take.
func (t *change) checkNewNames(orgID string) error {
	most := t.r.opts.NewNamesPerDay
	if most == 0 {
		return nil
	}
	var exempt int
	if _, err := t.one("SELECT any_names FROM organizations WHERE id = $1", []any{orgID}, &exempt); err != nil || exempt != 0 {
		return err
	}
	// The first publisher counts: an organization that gives a name away cannot take another for it.
	var made int
	if _, err := t.one("SELECT COUNT(DISTINCT e.id) FROM experts e JOIN versions v ON v.expert_id = e.id AND v.created_at = e.created_at WHERE v.org_id = $1 AND e.created_at > $2",
		[]any{orgID, t.at.Add(-24 * time.Hour).UnixMilli()}, &made); err != nil {
		return err
	}
	if made >= most {
		return &Error{Status: tooManyStatus, Reason: fmt.Sprintf("An organization can publish %d new names a day", most), Hint: "new versions of Experts that exist can be published"}
	}
	return nil
}
