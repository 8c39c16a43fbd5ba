package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
)

// operatorOrg is the organization of the operator in the audit trail.
const operatorOrg = "operator"

// audit notes what an actor did. A leaf of -1 says that the log has nothing about it.
func (t *change) audit(by Actor, action, object, detail string, leaf int64) error {
	return t.auditOutcome(by, action, object, "done", detail, leaf)
}

func (t *change) auditOutcome(by Actor, action, object, outcome, detail string, leaf int64) error {
	org := by.OrgID
	if by.operator {
		org = operatorOrg
	}
	return t.exec("INSERT INTO audit (at, org_id, key_id, address, action, object, outcome, request_id, detail, leaf) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
		t.at.UnixMilli(), org, by.KeyID, by.Address, action, object, outcome, by.RequestID, detail, leaf)
}

// AuditRefusal notes that a request was refused, and with which status. The caller bounds how many are noted: the
// trail only grows.
func (r *Registry) AuditRefusal(ctx context.Context, by Actor, action, object string, refused *Error) error {
	return r.update(ctx, func(t *change) error {
		return t.auditOutcome(by, action, object, fmt.Sprintf("refused %d", refused.Status), refused.Reason, -1)
	})
}

// AuditTrail calls each with what happened from a time on, in order: everything for an administrator, what the
// own organization did for a key with the scope audit.
func (r *Registry) AuditTrail(ctx context.Context, by Actor, since time.Time, each func(api.AuditEntry) error) error {
	org := ""
	if !by.IsAdmin() {
		if org = by.OrgID; org == "" || !slices.Contains(by.Scopes, Audit) || len(by.Patterns) > 0 {
			return unauthenticated()
		}
	}
	return r.view(ctx, func(l *look) error {
		return l.each("SELECT at, org_id, key_id, address, action, object, detail, outcome, request_id, leaf FROM audit WHERE at >= $1 AND ($2 = '' OR org_id = $2) ORDER BY at, leaf", []any{since.UnixMilli(), org}, func(scan func(...any) error) error {
			var e api.AuditEntry
			var at, leaf int64
			if err := scan(&at, &e.Organization, &e.Key, &e.Address, &e.Action, &e.Object, &e.Detail, &e.Outcome, &e.RequestID, &leaf); err != nil {
				return err
			}
			e.At = millis(at)
			if leaf >= 0 {
				e.Leaf = &leaf
			}
			return each(e)
		})
	})
}
