package server

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/registry/definition"
)

// relistMissing lists the Experts that have no row, such as those of a database that was made before there
// were any.
func (t *change) relistMissing() error {
	var missing []string
	err := t.each("SELECT e.id FROM experts e LEFT JOIN listings l ON l.expert_id = e.id WHERE l.expert_id IS NULL", nil, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		missing = append(missing, id)
		return err
	})
	for _, id := range missing {
		err = errors.Join(err, t.relist(id))
	}
	return err
}

// relist writes the row by which lists and searches find an Expert: that of its latest version. An Expert
// without one is in no list.
func (t *change) relist(expertID string) error {
	all, err := t.versions(expertID)
	if err != nil {
		return err
	}
	return t.listAs(expertID, all)
}

// listAs is the same if all versions are known.
func (t *change) listAs(expertID string, all []version) error {
	last := t.r.latestOf(all)
	i := slices.IndexFunc(all, func(v version) bool { return v.version == last })
	if i < 0 {
		return t.exec("DELETE FROM listings WHERE expert_id = $1", expertID)
	}
	row, err := t.listingOf(all[i])
	if err != nil {
		return err
	}
	return t.exec(`INSERT INTO listings (expert_id, version_id, version_order, description, keywords, text) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (expert_id) DO UPDATE SET version_id = excluded.version_id, version_order = excluded.version_order,
		description = excluded.description, keywords = excluded.keywords, text = excluded.text`,
		expertID, all[i].id, row.order, row.description, lines(row.keywords), row.text)
}

// A listing is what lists and searches know about an Expert.
type listing struct {
	order       string
	description string
	keywords    []string
	text        string // what is searched
}

func (l *look) listingOf(v version) (row listing, err error) {
	content, err := l.content(v.digest)
	if err != nil {
		return row, err
	}
	d, err := definition.Parse(content)
	if err != nil {
		return row, err
	}
	words := append([]string{d.Name, d.Description}, d.Extensions.Keywords...)
	for _, name := range slices.Sorted(maps.Keys(d.Skills)) {
		words = append(words, name, d.Skills[name].PackageName)
	}
	return listing{versionOrder(d.Version), d.Description, d.Extensions.Keywords, strings.ToLower(strings.Join(words, "\n"))}, nil
}

// versionOrder is a text that sorts as a version does: numbers have the same length, a release comes after its
// prereleases, and of these, numbers come before words.
func versionOrder(version string) string {
	core, pre, isPre := strings.Cut(version, "-")
	var out strings.Builder
	for part := range strings.SplitSeq(core, ".") {
		fmt.Fprintf(&out, "%03d%s", len(part), part)
	}
	if !isPre {
		return out.String() + "~"
	}
	for part := range strings.SplitSeq(pre, ".") {
		if strings.Trim(part, "0123456789") == "" {
			fmt.Fprintf(&out, " 0%03d%s", len(part), part)
		} else {
			out.WriteString(" 1" + part)
		}
	}
	return out.String()
}
