package httpapi

import "github.com/perstack-go/perstack/internal/registry/server"

// logRoutes lists the routes of the log.
func (h *Handler) logRoutes() []*route { return nil }

// ready says whether requests can be answered.
func (h *Handler) ready(c *call) error {
	if _, err := h.opts.Registry.Organizations(c.ctx(), server.Operator()); err != nil {
		return notReady()
	}
	return h.health(c)
}
