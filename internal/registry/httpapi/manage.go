package httpapi

import (
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/server"
)

// tagged says which version a tag means.
type tagged struct {
	Version string `json:"version"`
}

func (h *Handler) setTag(c *call) error {
	var asked tagged
	if err := c.body(&asked); err != nil {
		return err
	}
	if err := h.opts.Registry.SetTag(c.ctx(), c.by, c.params["name"], c.params["tag"], asked.Version); err != nil {
		return err
	}
	return c.json(asked)
}

func (h *Handler) removeTag(c *call) error {
	if err := h.opts.Registry.RemoveTag(c.ctx(), c.by, c.params["name"], c.params["tag"], c.query("version")); err != nil {
		return err
	}
	return c.done()
}

func (h *Handler) setStatus(c *call) error {
	var asked api.SetStatus
	if err := c.body(&asked); err != nil {
		return err
	}
	changed, err := h.opts.Registry.Update(c.ctx(), c.by, c.params["key"], server.Update{Status: &asked})
	if err != nil {
		return err
	}
	return c.json(changed.Version)
}

// unpublish erases a version. Both versions of the API answer with an empty object.
func (h *Handler) unpublish(c *call) error {
	if err := h.opts.Registry.Unpublish(c.ctx(), c.by, c.params["key"]); err != nil {
		return err
	}
	return c.done()
}

// transfer says which organization gets an Expert.
type transfer struct {
	Organization string `json:"organization"`
}

func (h *Handler) transfer(c *call) error {
	var asked transfer
	if err := c.body(&asked); err != nil {
		return err
	}
	done, err := h.opts.Registry.Transfer(c.ctx(), c.by, c.params["name"], asked.Organization)
	if err != nil {
		return err
	}
	if !done {
		return c.json(transferred{"offered"})
	}
	return c.json(transferred{"transferred"})
}

// transferred says whether an Expert has its new owner, or waits for it.
type transferred struct {
	State string `json:"state"`
}

// transferList is a list of Experts that were offered.
type transferList struct {
	Transfers []api.Transfer `json:"transfers"`
}

func (h *Handler) transfers(c *call) error {
	all, err := h.opts.Registry.Transfers(c.ctx(), c.by)
	if err != nil {
		return err
	}
	return c.json(transferList{notNil(all)})
}

func (h *Handler) endTransfer(c *call) error {
	if err := h.opts.Registry.EndTransfer(c.ctx(), c.by, c.params["name"]); err != nil {
		return err
	}
	return c.done()
}

// policy is what an organization decides about all that it publishes.
type policy struct {
	Visibility *string   `json:"visibility,omitzero"`
	Signers    *[]string `json:"signers,omitzero"`
}

func (h *Handler) setPolicy(c *call) error {
	var asked policy
	if err := c.body(&asked); err != nil {
		return err
	}
	if err := h.opts.Registry.SetPolicy(c.ctx(), c.by, c.params["org"], server.Policy(asked)); err != nil {
		return err
	}
	return c.done()
}
