package server

import (
	"context"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// offerLifetime is how long an Expert that was offered can be accepted.
const offerLifetime = 14 * 24 * time.Hour

// Transfer gives an Expert to another organization. The owner offers it, and an owner of the other
// organization accepts it by the same call: no organization gets an Expert, with the trust in its name and its faults,
// without wanting it. An administrator needs neither. It reports whether the Expert has its new owner. A name
// with a scope stays with the organization of its scope.
func (r *Registry) Transfer(ctx context.Context, by Actor, name, to string) (done bool, err error) {
	err = r.update(ctx, func(t *change) error {
		heir, err := t.organization(to)
		if err != nil {
			return err
		}
		o, accepts, err := t.transferable(by, name, heir)
		if err != nil {
			return err
		}
		if heir.ID == o.orgID {
			return badRequest("The Expert belongs to %s already", to)
		}
		if o.visibility == api.Private {
			return badRequest("A private Expert cannot be transferred")
		}
		if err := r.checkName(Actor{OrgName: heir.Name, OrgType: heir.Type}, name); err != nil {
			return err
		}
		if done = accepts || by.IsAdmin(); done {
			return t.transfer(by, o, heir)
		}
		if err := t.exec("INSERT INTO transfers (expert_id, from_id, to_id, at) VALUES ($1, $2, $3, $4) ON CONFLICT (expert_id) DO UPDATE SET from_id = excluded.from_id, to_id = excluded.to_id, at = excluded.at",
			o.id, o.orgID, heir.ID, t.at.UnixMilli()); err != nil {
			return err
		}
		return t.audit(by, "offer transfer", name, o.orgID+" to "+heir.ID, -1)
	})
	return done && err == nil, err
}

// transferable returns an Expert that the actor may give away, or may accept for its own organization.
func (t *change) transferable(by Actor, name string, heir api.Organization) (o owned, accepts bool, err error) {
	if by.IsAdmin() || by.OrgID != heir.ID {
		o, err = t.owned(by, Admin, name)
		return o, false, err
	}
	if err := by.manages(heir.ID); err != nil {
		return o, false, err
	}
	o.name = name
	known, err := t.one("SELECT id, org_id, visibility FROM experts WHERE name = $1", []any{name}, &o.id, &o.orgID, &o.visibility)
	switch {
	case err != nil:
		return o, false, err
	case !known || o.visibility == api.Private && !by.sees(o.orgID, name):
		return o, false, notFound("Expert not found")
	case o.orgID == heir.ID:
		return o, false, nil
	}
	offered, err := t.one("SELECT expert_id FROM transfers WHERE expert_id = $1 AND from_id = $2 AND to_id = $3 AND at > $4",
		[]any{o.id, o.orgID, heir.ID, t.at.Add(-offerLifetime).UnixMilli()}, new(string))
	if err == nil && !offered {
		err = badRequest("The Expert was not offered to %s", heir.Name)
	}
	return o, true, err
}

// transfer changes the owner, and tells the log.
func (t *change) transfer(by Actor, o owned, heir api.Organization) error {
	number, err := t.record(api.Public, tlog.Leaf{Kind: tlog.Transferred, Name: o.name, Old: o.orgID, New: heir.ID, Actor: by.logName()})
	if err != nil {
		return err
	}
	if err := t.exec("DELETE FROM transfers WHERE expert_id = $1", o.id); err != nil {
		return err
	}
	if err := t.exec("UPDATE experts SET org_id = $1, updated_at = $2 WHERE id = $3", heir.ID, t.at.UnixMilli(), o.id); err != nil {
		return err
	}
	return t.audit(by, "transfer", o.name, o.orgID+" to "+heir.ID, number)
}

const selectTransfers = `SELECT e.name, f.id, f.name, h.id, h.name, t.at FROM transfers t JOIN experts e ON e.id = t.expert_id AND e.org_id = t.from_id
	JOIN organizations f ON f.id = t.from_id JOIN organizations h ON h.id = t.to_id WHERE t.at > $1 AND `

// Transfers lists what the organization of the actor has offered, and what was offered to it.
func (r *Registry) Transfers(ctx context.Context, by Actor) (all []api.Transfer, err error) {
	if by.OrgID == "" || by.manages(by.OrgID) != nil {
		return nil, unauthenticated()
	}
	err = r.view(ctx, func(l *look) error {
		since := r.opts.Now().Add(-offerLifetime).UnixMilli()
		return l.each(selectTransfers+"(t.from_id = $2 OR t.to_id = $2) ORDER BY t.at, e.name LIMIT 1000", []any{since, by.OrgID}, func(scan func(...any) error) error {
			var one api.Transfer
			var at int64
			err := scan(&one.Name, new(string), &one.From, new(string), &one.To, &at)
			one.At = millis(at)
			all = append(all, one)
			return err
		})
	})
	return all, err
}

// EndTransfer takes an offer back, or declines it.
func (r *Registry) EndTransfer(ctx context.Context, by Actor, name string) error {
	return r.update(ctx, func(t *change) error {
		var from, to string
		offered, err := t.one(selectTransfers+"e.name = $2", []any{t.at.Add(-offerLifetime).UnixMilli(), name}, new(string), &from, new(string), &to, new(string), new(int64))
		if err != nil {
			return err
		}
		if !offered || by.manages(from) != nil && by.manages(to) != nil {
			return notFound("The Expert is not offered")
		}
		if err := t.exec("DELETE FROM transfers WHERE expert_id = (SELECT id FROM experts WHERE name = $1)", name); err != nil {
			return err
		}
		return t.audit(by, "end offer of transfer", name, from+" to "+to, -1)
	})
}
