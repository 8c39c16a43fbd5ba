package httpapi

import (
	"math"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/card"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/server"
)

// search lists Experts.
func (h *Handler) search(c *call) error {
	take, err := c.number("take", api.MaxTake, 1, api.MaxTake)
	if err != nil {
		return err
	}
	sort, err := c.oneOf("sort", "name", "name", "updatedAt")
	if err != nil {
		return err
	}
	const longest = 256
	if len(c.query("q")) > longest {
		return invalid("q", "a search has at most 256 characters")
	}
	page, err := h.opts.Registry.Search(c.ctx(), c.by, server.Search{
		Text: c.query("q"), Owner: c.query("owner"), After: c.query("after"), Take: int(take), Newest: sort == "updatedAt",
	})
	if err != nil {
		return err
	}
	return c.json(page)
}

// expertPackage answers with an Expert and all its versions.
func (h *Handler) expertPackage(c *call) error {
	found, err := h.opts.Registry.Package(c.ctx(), c.by, c.params["key"])
	if err != nil {
		return err
	}
	return c.json(found)
}

// content answers with the canonical text of a version. That of an exact one never changes.
func (h *Handler) content(c *call) error {
	key := c.params["key"]
	found, err := h.opts.Registry.Get(c.ctx(), c.by, key)
	if err != nil {
		return err
	}
	c.count(found.Name, found.Version.Version)
	return c.static(api.ContentType, found.Digest, cachingOf(key, found.Visibility), found.Content)
}

// shownCard is what a version can do, with all that it delegates to. Clients compute it themselves from what
// they have verified; this is for display.
type shownCard struct {
	Key       string         `json:"key"` // exact
	Digest    string         `json:"digest"`
	Hash      string         `json:"hash"`
	Abilities []card.Ability `json:"abilities"`
}

// card answers with the capability card of a version.
func (h *Handler) card(c *call) error {
	found, err := h.opts.Registry.Resolve(c.ctx(), c.by, api.Resolve{Keys: []string{c.params["key"]}, Closure: true})
	if err != nil {
		return err
	}
	var closure []*definition.Definition // the version itself comes first
	for i := range found.Experts {
		d, err := definition.Parse(found.Experts[i].Content)
		if err != nil {
			return err
		}
		closure = append(closure, d)
	}
	of := card.Of(closure)
	return c.json(shownCard{Key: of.Expert, Digest: found.Experts[0].Digest, Hash: of.Hash(), Abilities: notNil(of.Abilities)})
}

// cachingOf says what caches can do with the content of a key.
func cachingOf(key, visibility string) string {
	exact, err := expert.ParseKey(key)
	switch {
	case visibility != api.Public:
		return "private, no-cache"
	case err == nil && exact.Version != "":
		return immutable
	}
	return fresh
}

// index answers with the versions of an Expert as lines of JSON.
func (h *Handler) index(c *call) error {
	text, err := h.opts.Registry.Index(c.ctx(), c.by, c.params["name"])
	if err != nil {
		return err
	}
	caching := fresh
	if c.by.OrgID != "" { // the answer depends on the key
		caching = "private, no-cache"
	}
	return c.static("application/jsonl", tagOf(text), caching, text)
}

// changes answers with what happened since the log had a size.
func (h *Handler) changes(c *call) error {
	after, err := c.number("after", 0, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	const most = 256
	take, err := c.number("take", most, 1, most)
	if err != nil {
		return err
	}
	found, err := h.opts.Registry.Changes(c.ctx(), after, int(take))
	if err != nil {
		return err
	}
	return c.json(found)
}
