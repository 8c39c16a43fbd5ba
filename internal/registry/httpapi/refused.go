package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/perstack-go/perstack/internal/registry/server"
	"github.com/perstack-go/perstack/internal/wording"
)

// How many refusals the audit trail gets in an hour: for each key, and of keys that are not good, for all addresses
// together. The trail only grows, and those who are refused must not fill it.
const (
	auditedRefusals = 60
	auditedFailures = 60
)

// refusals are the statuses of changes that were refused because of what was asked for, or of who has asked.
var refusals = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity,
}

// auditRefusal notes that a change was refused to a key that is good.
func (c *call) auditRefusal(err error) {
	refused, ok := errors.AsType[*server.Error](err)
	if !ok || c.by.OrgID == "" || c.route.effect != changes && c.route.effect != publishes || !slices.Contains(refusals, refused.Status) || c.flag("validateOnly") {
		return
	}
	c.auditAs(allowance{"audited refusals " + c.by.KeyID, time.Hour, auditedRefusals}, refused)
}

// auditFailure notes that a key is not good.
func (c *call) auditFailure(err error) {
	if refused, ok := errors.AsType[*server.Error](err); ok {
		c.auditAs(allowance{"audited failures", time.Hour, auditedFailures}, refused)
	}
}

// auditAs writes into the audit trail, if the allowance has something left. The answer does not depend on it.
func (c *call) auditAs(a allowance, refused *server.Error) {
	if c.h.opts.ReadOnly {
		return
	}
	if _, wait := c.h.ledger.take(a, c.began); wait > 0 {
		return
	}
	const most = 300
	object := wording.Visible(wording.Cut(cmp.Or(c.params["key"], c.params["name"], c.params["org"], c.params["id"]), most))
	noted := *refused
	noted.Reason = wording.Visible(wording.Cut(noted.Reason, most))
	ctx := context.WithoutCancel(c.ctx())
	if err := c.h.opts.Registry.AuditRefusal(ctx, c.by, c.route.method+" "+c.route.pattern, object, &noted); err != nil {
		c.h.opts.Logger.WarnContext(ctx, "a refusal could not be noted", "request", c.id, "error", err.Error())
	}
}
