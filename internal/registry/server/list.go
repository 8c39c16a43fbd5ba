package server

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
)

// A List asks for Experts as version 1 of the API does.
type List struct {
	OrganizationID string
	Filter         string // beginning of a name, in any case
	Sort           string // name, version, createdAt or updatedAt; createdAt if empty
	Ascending      bool
	Take, Skip     int
	// Text has words that must occur, as in a [Search], and UpdatedSince is when Experts changed at the earliest.
	// The original has neither.
	Text         string
	UpdatedSince time.Time
}

// maxSkip is how far version 1 can look into a list. Version 2 has no end.
const maxSkip = 10_000

// listOrders are the columns by which lists can be sorted.
var listOrders = map[string]string{"": "v.created_at", "name": "e.name", "version": "l.version_order", "createdAt": "v.created_at", "updatedAt": "s.updated_at"}

// List returns the latest version of each Expert, and how many there are in all.
func (r *Registry) List(ctx context.Context, by Actor, asked List) (page []Record, total int64, err error) {
	order, ok := listOrders[asked.Sort]
	switch {
	case !ok:
		return nil, 0, invalid(fmt.Errorf("lists cannot be sorted by %q; use name, version, createdAt or updatedAt", asked.Sort))
	case asked.Take < 1 || asked.Take > api.MaxTake:
		return nil, 0, invalid(fmt.Errorf("take must be 1 to %d", api.MaxTake))
	case asked.Skip < 0 || asked.Skip > maxSkip:
		return nil, 0, invalid(fmt.Errorf("skip must be 0 to %d; the version 2 of the API lists everything", maxSkip))
	case len(asked.Filter) > 256:
		return nil, 0, invalid(fmt.Errorf("a filter has at most 256 characters"))
	}
	direction := " DESC"
	if asked.Ascending {
		direction = " ASC"
	}
	prefix := strings.ToLower(asked.Filter)
	where, args := visibleTo(by, []any{prefix, prefix + "\U0010FFFF", asked.OrganizationID})
	where += " AND ($1 = '' OR e.name >= $1 AND e.name < $2) AND ($3 = '' OR e.org_id = $3)"
	if words := wordsOf(asked.Text); len(words) > 0 {
		where += " AND " + r.opts.Database.Search(words, func(value any) string {
			args = append(args, value)
			return fmt.Sprintf("$%d", len(args))
		})
	}
	if !asked.UpdatedSince.IsZero() {
		args = append(args, asked.UpdatedSince.UnixMilli())
		where += fmt.Sprintf(" AND e.updated_at >= $%d", len(args))
	}
	err = r.view(ctx, func(l *look) error {
		if _, err := l.one("SELECT COUNT(*) FROM listings l JOIN experts e ON e.id = l.expert_id WHERE "+where, args, &total); err != nil {
			return err
		}
		found, err := l.versionsWhere("JOIN listings l ON l.version_id = v.id WHERE "+where+
			fmt.Sprintf(" ORDER BY %s%s, e.name LIMIT %d OFFSET %d", order, direction, asked.Take, asked.Skip), args...)
		if err != nil {
			return err
		}
		page, err = l.recordsOf(found, true)
		return err
	})
	return page, total, err
}

// visibleTo is the condition on Experts that an actor may know of. A key that is limited to names sees the
// private ones by their names only, not in lists.
func visibleTo(by Actor, args []any) (string, []any) {
	if by.IsAdmin() {
		return "1 = 1", args
	}
	org := ""
	if slices.Contains(by.Scopes, Read) && len(by.Patterns) == 0 {
		org = by.OrgID
	}
	return fmt.Sprintf("(e.visibility = '%s' OR e.org_id = $%d)", api.Public, len(args)+1), append(args, org)
}

// A Search asks for Experts as version 2 of the API does.
type Search struct {
	Text  string // words; all of them must occur in the name, the description, the keywords or the skills
	Owner string // name of an organization
	After string // Next of the page before
	Take  int
	// Newest sorts by the time of the last change instead of the name.
	Newest bool
}

// maxWords is how many words of a search count.
const maxWords = 8

// Search returns a page of Experts: first the one with the name, then those whose name begins with the text,
// then those that have it in the name, then the others.
func (r *Registry) Search(ctx context.Context, by Actor, asked Search) (page api.Page, err error) {
	if asked.Take <= 0 || asked.Take > api.MaxTake {
		asked.Take = api.MaxTake
	}
	query, args, err := r.searchQuery(by, asked)
	if err != nil {
		return page, err
	}
	page.Experts = []api.Summary{}
	var last cursor
	err = r.view(ctx, func(l *look) error {
		return l.each(query, args, func(scan func(...any) error) error {
			if len(page.Experts) == asked.Take { // there is another page
				page.Next = last.String()
				return nil
			}
			var s api.Summary
			var keywords string
			var rank, updated int64
			err := scan(&s.Name, &s.Description, &keywords, &s.Latest, &s.Status, &s.Owner, &updated, &s.Reads, &rank)
			s.Keywords, s.UpdatedAt = unlines(keywords), millis(updated)
			page.Experts = append(page.Experts, s)
			last = cursor{rank, s.Name}
			return err
		})
	})
	return page, err
}

// wordsOf returns the words of a search that count.
func wordsOf(text string) []string {
	plain := strings.NewReplacer("%", "", `\`, "", "\x00", "").Replace(strings.ToLower(strings.ToValidUTF8(text, "")))
	words := strings.Fields(plain)
	return words[:min(len(words), maxWords)]
}

// searchQuery writes the statement of a search. What a user asked for is in its arguments only.
func (r *Registry) searchQuery(by Actor, asked Search) (query string, args []any, err error) {
	words := wordsOf(asked.Text)
	where, args := visibleTo(by, nil)
	arg := func(value any) string {
		args = append(args, value)
		return "$" + strconv.Itoa(len(args))
	}
	// The first page of a long list must not read all of it: without words, an index has the order.
	rank, order := "0", "name"
	switch {
	case asked.Newest:
		rank, order = "-e.updated_at", "updated DESC, name"
	case len(words) > 0:
		first := words[0]
		rank = fmt.Sprintf("CASE WHEN e.name = %s THEN 0 WHEN e.name LIKE %s OR e.name LIKE %s THEN 1 WHEN e.name LIKE %s THEN 2 ELSE 3 END",
			arg(first), arg(first+"%"), arg("%/"+first+"%"), arg("%"+first+"%"))
		order = "rank, name"
	}
	if len(words) > 0 {
		where += " AND " + r.opts.Database.Search(words, arg)
	}
	if asked.Owner != "" {
		where += " AND e.org_id = (SELECT id FROM organizations WHERE name = " + arg(asked.Owner) + ")"
	}
	if asked.After != "" {
		after, err := parseCursor(asked.After)
		if err != nil {
			return "", nil, err
		}
		switch {
		case asked.Newest:
			at, name := arg(-after.rank), arg(after.name)
			where += fmt.Sprintf(" AND (e.updated_at < %s OR e.updated_at = %s AND e.name > %s)", at, at, name)
		case len(words) == 0:
			where += " AND e.name > " + arg(after.name)
		default:
			place, name := arg(after.rank), arg(after.name)
			where += fmt.Sprintf(" AND ((%s) > %s OR (%s) = %s AND e.name > %s)", rank, place, rank, place, name)
		}
	}
	// What only the rows of the page need is read for these only.
	return `SELECT found.name, found.description, found.keywords, v.version, s.status, o.name AS owner, found.updated,
		(SELECT COALESCE(SUM(count), 0) FROM reads WHERE reads.expert_id = found.id AND reads.day > ` + arg(dayOf(r.opts.Now().Add(-readsWindow))) + `) AS reads, found.rank FROM (
		SELECT e.id AS id, e.name AS name, e.org_id AS org_id, l.version_id AS version_id, l.description AS description, l.keywords AS keywords, e.updated_at AS updated, ` + rank + ` AS rank
		FROM listings l JOIN experts e ON e.id = l.expert_id WHERE ` + where + fmt.Sprintf(" ORDER BY %s LIMIT %d) AS found", order, asked.Take+1) + `
		JOIN versions v ON v.id = found.version_id JOIN version_states s ON s.version_id = v.id JOIN organizations o ON o.id = found.org_id
		ORDER BY ` + inFound.Replace(order), args, nil
}

// inFound names the columns of an order as those of the rows that were found: other tables have a name too.
var inFound = strings.NewReplacer("rank", "found.rank", "updated", "found.updated", "name", "found.name")

// readsWindow is the time that the number of reads in a list covers.
const readsWindow = 30 * 24 * time.Hour

const secondsOfDay = 24 * 60 * 60

// A cursor is the place of an Expert in a list.
type cursor struct {
	rank int64
	name string
}

func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", c.rank, c.name))
}

// parseCursor reads what [cursor.String] writes.
func parseCursor(text string) (c cursor, err error) {
	plain, err := base64.RawURLEncoding.DecodeString(text)
	rank, name, ok := strings.Cut(string(plain), " ")
	if err == nil {
		c.rank, err = strconv.ParseInt(rank, 10, 64)
	}
	if c.name = name; err != nil || !ok || c.String() != text || strings.ToValidUTF8(name, "") != name || strings.Contains(name, "\x00") {
		return c, invalid(fmt.Errorf("after is not the next of a page"))
	}
	return c, nil
}
