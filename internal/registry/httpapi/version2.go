package httpapi

import (
	"errors"
	"math"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/server"
)

// isStatus reports whether an error is an answer with this status.
func isStatus(err error, status int) bool {
	answer, ok := errors.AsType[*server.Error](err)
	return ok && answer.Status == status
}

// resolve says what keys mean.
func (h *Handler) resolve(c *call) error {
	var asked api.Resolve
	if err := c.body(&asked); err != nil {
		return err
	}
	found, err := h.opts.Registry.Resolve(c.ctx(), c.by, asked)
	if err != nil {
		return err
	}
	for i := range found.Experts {
		c.count(found.Experts[i].Name, found.Experts[i].Version.Version)
	}
	return c.json(found)
}

// publish publishes a version, or says whether it could be.
func (h *Handler) publish(c *call) error {
	opts := server.PublishOptions{Digest: c.r.Header.Get(api.DigestHeader), RepeatKey: c.r.Header.Get(api.IdempotencyHeader)}
	var err error
	if opts.From, err = c.number("from", 0, 0, math.MaxInt64); err != nil {
		return err
	}
	var asked api.Publish
	if err := c.body(&asked); err != nil {
		return err
	}
	if c.flag("validateOnly") {
		advisories, err := h.opts.Registry.Validate(c.ctx(), c.by, asked, opts)
		if err != nil {
			return err
		}
		return c.json(validated{Advisories: notNil(advisories)})
	}
	done, err := h.opts.Registry.Publish(c.ctx(), c.by, asked, opts)
	if err != nil {
		return err
	}
	return c.json(done)
}

// validated says that a version could be published.
type validated struct {
	Advisories []string `json:"advisories"`
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
