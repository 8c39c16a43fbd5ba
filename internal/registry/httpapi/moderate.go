package httpapi

import (
	"bytes"
	"errors"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/registry/api"
)

// moderation lists the routes about misuse, and about who did what.
func (h *Handler) moderation() []*route {
	return []*route{
		{method: http.MethodPost, pattern: api.V1 + "/reports", effect: reports, do: h.report},
		{method: http.MethodPost, pattern: api.V2 + "/reports", effect: reports, do: h.report},
		{method: http.MethodGet, pattern: api.V2 + "/reports", effect: reads, do: h.reports},
		{method: http.MethodPost, pattern: api.V2 + "/reports/{id}/close", effect: changes, do: h.closeReport},
		{method: http.MethodPost, pattern: api.V2 + "/experts/{key}/quarantine", effect: changes, do: h.quarantine},
		{method: http.MethodDelete, pattern: api.V2 + "/experts/{key}/quarantine", effect: changes, do: h.release},
		{method: http.MethodGet, pattern: api.V2 + "/experts/{name}/stats", effect: reads, do: h.stats},
		{method: http.MethodGet, pattern: api.V2 + "/audit", effect: reads, heavy: true, do: h.audit},
	}
}

// newReport is a complaint about an Expert.
type newReport struct {
	Key     string `json:"key"`
	Reason  string `json:"reason"`
	Contact string `json:"contact,omitzero"`
}

// reported says under which id a report is kept.
type reported struct {
	ID string `json:"id"`
}

func (h *Handler) report(c *call) error {
	var asked newReport
	if err := c.body(&asked); err != nil {
		return err
	}
	id, err := h.opts.Registry.Report(c.ctx(), c.by, api.Report{Key: asked.Key, Reason: asked.Reason, Contact: asked.Contact})
	if err != nil {
		return err
	}
	return c.json(reported{id})
}

// reportList is a list of reports.
type reportList struct {
	Reports []api.Report `json:"reports"`
}

func (h *Handler) reports(c *call) error {
	all, err := h.opts.Registry.Reports(c.ctx(), c.by)
	if err != nil {
		return err
	}
	return c.json(reportList{notNil(all)})
}

// closing says what came of a report.
type closing struct {
	Outcome string `json:"outcome"`
}

func (h *Handler) closeReport(c *call) error {
	var asked closing
	if err := c.body(&asked); err != nil {
		return err
	}
	if err := h.opts.Registry.CloseReport(c.ctx(), c.by, c.params["id"], asked.Outcome); err != nil {
		return err
	}
	return c.done()
}

// withholding says why a version is withheld.
type withholding struct {
	Message string `json:"message"`
}

func (h *Handler) quarantine(c *call) error {
	var asked withholding
	if err := c.body(&asked); err != nil {
		return err
	}
	if err := h.opts.Registry.Quarantine(c.ctx(), c.by, c.params["key"], asked.Message); err != nil {
		return err
	}
	return c.done()
}

func (h *Handler) release(c *call) error {
	if err := h.opts.Registry.Release(c.ctx(), c.by, c.params["key"]); err != nil {
		return err
	}
	return c.done()
}

// statistics says how often an Expert was read.
type statistics struct {
	Days []api.DayReads `json:"days"`
}

func (h *Handler) stats(c *call) error {
	all, err := h.opts.Registry.Reads(c.ctx(), c.by, c.params["name"])
	if err != nil {
		return err
	}
	return c.json(statistics{notNil(all)})
}

// count counts that the content of a version was read.
func (c *call) count(name, version string) {
	if err := c.h.opts.Registry.CountRead(name, version, c.address); err != nil {
		c.h.opts.Logger.WarnContext(c.ctx(), "a read was not counted", "request", c.id, "error", err.Error())
	}
}

// maxTrail bounds an answer with the audit trail. The next one begins where it ends.
const maxTrail = 8 << 20

// nextHeader says from when on the rest of the audit trail is.
const nextHeader = "X-Next-Since"

var errTrailEnds = errors.New("the answer has enough of the audit trail")

// audit answers with the audit trail as lines of JSON.
func (h *Handler) audit(c *call) error {
	since, err := c.time("since")
	if err != nil {
		return err
	}
	var out bytes.Buffer
	err = h.opts.Registry.AuditTrail(c.ctx(), c.by, since, func(e api.AuditEntry) error {
		if out.Len() > maxTrail {
			c.w.Header().Set(nextHeader, e.At.Format(time.RFC3339Nano))
			return errTrailEnds
		}
		if err := json.MarshalWrite(&out, e, json.Deterministic(true)); err != nil {
			return err
		}
		return out.WriteByte('\n')
	})
	if err != nil && !errors.Is(err, errTrailEnds) {
		return err
	}
	c.write(http.StatusOK, "application/jsonl", out.Bytes())
	return nil
}
