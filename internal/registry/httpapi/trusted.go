package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/builds"
	"github.com/perstack-go/perstack/internal/registry/server"
)

// A Builds verifies tokens of builds. [builds.Verifier] is one.
type Builds interface {
	Build(ctx context.Context, token string) (server.Build, error)
	Issuers() []string
}

// trusted lists the routes by which builds publish without a stored key.
func (h *Handler) trusted() []*route {
	return []*route{
		{method: http.MethodPost, pattern: api.V1 + "/auth/oidc", effect: exchanges, do: h.exchange},
		{method: http.MethodGet, pattern: api.V2 + "/bindings", effect: reads, do: h.bindings},
		{method: http.MethodPost, pattern: api.V2 + "/bindings", effect: changes, do: h.createBinding},
		{method: http.MethodDelete, pattern: api.V2 + "/bindings/{id}", effect: changes, do: h.removeBinding},
	}
}

// exchange1 asks for a key of an organization in exchange for a token of a build. The name of an Expert chooses
// between several bindings.
type exchange1 struct {
	Token        string `json:"token"`
	Organization string `json:"organization"`
	Name         string `json:"name,omitzero"`
}

// exchange gives a build a key for minutes.
func (h *Handler) exchange(c *call) error {
	if h.opts.Builds == nil {
		return &server.Error{Status: http.StatusNotFound, Reason: "The registry trusts no issuer of tokens"}
	}
	if err := c.checkFailures(); err != nil {
		return err
	}
	var asked exchange1
	if err := c.body(&asked); err != nil {
		return err
	}
	build, err := h.opts.Builds.Build(c.ctx(), asked.Token)
	if err != nil {
		// The reason is for the operator: it would help somebody who tries tokens.
		h.opts.Logger.WarnContext(c.ctx(), "a token of a build was refused", "request", c.id, "error", err.Error())
		if _, ok := errors.AsType[*builds.Unreachable](err); ok {
			return &server.Error{Status: http.StatusServiceUnavailable, Reason: "The issuer of the token could not be asked"}
		}
		c.countFailure()
		return unauthenticated()
	}
	made, err := h.opts.Registry.TrustedKey(c.ctx(), build, asked.Organization, asked.Name, c.address.String())
	if err != nil {
		if isStatus(err, http.StatusUnauthorized) {
			h.opts.Logger.WarnContext(c.ctx(), "no binding fits a build", "request", c.id, "issuer", build.Issuer, "repository", build.Repository, "workflow", build.Workflow, "environment", build.Environment)
			c.countFailure()
		}
		return err
	}
	return c.json(made)
}

// bindingList is a list of bindings.
type bindingList struct {
	Bindings []api.Binding `json:"bindings"`
}

func (h *Handler) bindings(c *call) error {
	all, err := h.opts.Registry.Bindings(c.ctx(), c.by, c.query("organization"))
	if err != nil {
		return err
	}
	return c.json(bindingList{notNil(all)})
}

// newBinding asks for a binding.
type newBinding struct {
	Organization string `json:"organization,omitzero"`
	Issuer       string `json:"issuer"`
	Repository   string `json:"repository"`
	Workflow     string `json:"workflow,omitzero"`
	Environment  string `json:"environment,omitzero"`
	Pattern      string `json:"pattern"`
}

func (h *Handler) createBinding(c *call) error {
	var asked newBinding
	if err := c.body(&asked); err != nil {
		return err
	}
	made, err := h.opts.Registry.CreateBinding(c.ctx(), c.by, api.Binding{
		Organization: asked.Organization, Issuer: asked.Issuer, Repository: asked.Repository, Workflow: asked.Workflow, Environment: asked.Environment, Pattern: asked.Pattern,
	})
	if err != nil {
		return err
	}
	return c.json(made)
}

func (h *Handler) removeBinding(c *call) error {
	if err := h.opts.Registry.RemoveBinding(c.ctx(), c.by, c.params["id"]); err != nil {
		return err
	}
	return c.done()
}
