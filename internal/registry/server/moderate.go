package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/registry/api"
)

// Quarantine withholds the content of a version. Its row, its leaves and its number stay, and the log says
// that it happened. Only an administrator can do that.
func (r *Registry) Quarantine(ctx context.Context, by Actor, key, message string) error {
	if len(message) > maxMessage || !utf8.ValidString(message) {
		return invalid(fmt.Errorf("a message is text of at most %d bytes", maxMessage))
	}
	return r.moderate(ctx, by, key, func(t *change, v version) error {
		if v.status == api.Quarantined {
			return badRequest("Status is the same as the current status")
		}
		return t.changeStatus(by, v, api.SetStatus{Status: api.Quarantined, Message: message, ReplacedBy: v.replacedBy})
	})
}

// Release ends a quarantine. The version has the status again that it had before.
func (r *Registry) Release(ctx context.Context, by Actor, key string) error {
	return r.moderate(ctx, by, key, func(t *change, v version) error {
		if v.status != api.Quarantined {
			return badRequest("The version is not in quarantine")
		}
		var before string
		if _, err := t.one("SELECT previous FROM version_states WHERE version_id = $1", []any{v.id}, &before); err != nil {
			return err
		}
		return t.changeStatus(by, v, api.SetStatus{Status: cmp.Or(before, api.Disabled), ReplacedBy: v.replacedBy})
	})
}

func (r *Registry) moderate(ctx context.Context, by Actor, key string, do func(*change, version) error) error {
	if !by.IsAdmin() {
		return unauthenticated()
	}
	return r.update(ctx, func(t *change) error {
		v, err := t.exactly(by, Admin, key)
		if err != nil {
			return err
		}
		return do(t, v)
	})
}

// maxReport bounds the text of a report.
const maxReport = 4096

// Report takes a complaint about an Expert from anybody, and returns its id.
func (r *Registry) Report(ctx context.Context, by Actor, asked api.Report) (id string, err error) {
	k, err := parseKey(asked.Key)
	if err != nil {
		return "", err
	}
	switch {
	case asked.Reason == "":
		return "", invalid(errors.New("a report needs a reason"))
	case len(asked.Reason) > maxReport || len(asked.Contact) > 255 || !utf8.ValidString(asked.Reason+asked.Contact):
		return "", invalid(fmt.Errorf("a report is text of at most %d bytes, and a contact of 255", maxReport))
	}
	id = r.opts.NewID()
	err = r.update(ctx, func(t *change) error {
		if _, err := t.visible(by, k.Name); err != nil {
			return err
		}
		return t.exec("INSERT INTO reports (id, name, version, reason, contact, at, closed_at, outcome) VALUES ($1, $2, $3, $4, $5, $6, 0, '')",
			id, k.Name, k.Version, asked.Reason, asked.Contact, t.at.UnixMilli())
	})
	return id, err
}

// Reports returns the reports that are open, the oldest first, for an administrator.
func (r *Registry) Reports(ctx context.Context, by Actor) (all []api.Report, err error) {
	if !by.IsAdmin() {
		return nil, unauthenticated()
	}
	err = r.view(ctx, func(l *look) error {
		return l.each("SELECT id, name, version, reason, contact, at FROM reports WHERE closed_at = 0 ORDER BY at, id LIMIT 1000", nil, func(scan func(...any) error) error {
			var one api.Report
			var number string
			var at int64
			err := scan(&one.ID, &one.Key, &number, &one.Reason, &one.Contact, &at)
			if number != "" {
				one.Key += "@" + number
			}
			one.At = millis(at)
			all = append(all, one)
			return err
		})
	})
	return all, err
}

// CloseReport ends a report with what came of it.
func (r *Registry) CloseReport(ctx context.Context, by Actor, id, outcome string) error {
	if !by.IsAdmin() {
		return unauthenticated()
	}
	if len(outcome) > maxMessage || !utf8.ValidString(outcome) {
		return invalid(fmt.Errorf("an outcome is text of at most %d bytes", maxMessage))
	}
	return r.update(ctx, func(t *change) error {
		open, err := t.one("SELECT id FROM reports WHERE id = $1 AND closed_at = 0", []any{id}, new(string))
		if err != nil {
			return err
		}
		if !open {
			return notFound("Report not found")
		}
		if err := t.exec("UPDATE reports SET closed_at = $1, outcome = $2 WHERE id = $3", t.at.UnixMilli(), outcome, id); err != nil {
			return err
		}
		return t.audit(by, "close report", id, outcome, -1)
	})
}
