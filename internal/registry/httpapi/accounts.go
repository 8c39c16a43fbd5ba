package httpapi

import (
	"net/http"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/server"
)

// unauthenticated is the one answer to every key that is not good.
func unauthenticated() error {
	return &server.Error{Status: http.StatusUnauthorized, Reason: "Failed to authenticate"}
}

// whoami says whose key it is.
func (h *Handler) whoami(c *call) error {
	if c.by.OrgID == "" {
		return unauthenticated()
	}
	who, err := h.opts.Registry.Whoami(c.ctx(), c.by)
	if err != nil {
		return err
	}
	return c.json(who)
}

// organizationList is a list of organizations.
type organizationList struct {
	Organizations []api.Organization `json:"organizations"`
}

func (h *Handler) organizations(c *call) error {
	all, err := h.opts.Registry.Organizations(c.ctx(), c.by)
	if err != nil {
		return err
	}
	return c.json(organizationList{notNil(all)})
}

// newOrganization asks for an organization.
type newOrganization struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

func (h *Handler) createOrganization(c *call) error {
	var asked newOrganization
	if err := c.body(&asked); err != nil {
		return err
	}
	id, err := h.opts.Registry.CreateOrganization(c.ctx(), c.by, asked.Name, asked.Type)
	if err != nil {
		return err
	}
	return c.json(api.Organization{ID: id, Name: asked.Name, Type: asked.Type})
}

// keyList is a list of keys.
type keyList struct {
	Keys []api.KeyInfo `json:"keys"`
}

func (h *Handler) keys(c *call) error {
	all, err := h.opts.Registry.Keys(c.ctx(), c.by, c.query("organization"))
	if err != nil {
		return err
	}
	return c.json(keyList{notNil(all)})
}

func (h *Handler) createKey(c *call) error {
	var asked api.CreateKey
	if err := c.body(&asked); err != nil {
		return err
	}
	made, err := h.opts.Registry.CreateKey(c.ctx(), c.by, asked)
	if err != nil {
		return err
	}
	return c.json(made)
}

func (h *Handler) revokeKey(c *call) error {
	if err := h.opts.Registry.RevokeKey(c.ctx(), c.by, c.params["id"]); err != nil {
		return err
	}
	return c.done()
}
