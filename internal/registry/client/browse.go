package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/wording"
)

// logged returns the view of a registry with a log. What is asked for does not exist in the API of the
// original.
func (c *Client) logged(ctx context.Context, operation string) (*view, error) {
	v, err := c.view(ctx)
	if err == nil && v.original {
		err = c.failf(Refused, operation, "the registry has no version 2 of the API")
	}
	return v, err
}

// A Query chooses Experts.
type Query struct {
	Text  string
	Owner string
	After string // Next of the page before
	Take  int    // 0 lets the registry choose
}

// Search lists Experts. What it says is not proved.
func (c *Client) Search(ctx context.Context, q Query) (*api.Page, error) {
	const operation = "search"
	v, err := c.logged(ctx, operation)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	for name, value := range map[string]string{"q": q.Text, "owner": q.Owner, "after": q.After} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if q.Take > 0 {
		query.Set("take", strconv.Itoa(min(q.Take, api.MaxTake)))
	}
	page := &api.Page{}
	err = c.ask(ctx, request{
		operation: operation, method: http.MethodGet, path: v.at("experts"), query: query, again: true,
		withKey: len(c.options.PrivateScopes) > 0,
	}, page)
	if err == nil && len(page.Experts) > api.MaxTake {
		err = c.failf(WrongAnswer, operation, "a page has %d Experts, more than %d", len(page.Experts), api.MaxTake)
	}
	if err != nil {
		return nil, err
	}
	return page, nil
}

// Package returns an Expert with all its versions. What it says is not proved.
func (c *Client) Package(ctx context.Context, name string) (*api.Package, error) {
	const operation = "view"
	if !expert.ValidName(name) {
		return nil, c.failf(Configuration, operation, "%s is not the name of an Expert", wording.Quote(name))
	}
	v, err := c.logged(ctx, operation)
	if err != nil {
		return nil, err
	}
	found := &api.Package{}
	if err := c.ask(ctx, request{
		operation: operation, method: http.MethodGet, path: v.at("experts", name), again: true, withKey: c.private(name),
	}, found); err != nil {
		return nil, err
	}
	if found.Name != name && found.MovedTo == "" {
		return nil, c.failf(WrongAnswer, operation, "the registry answers with %s instead of %s", wording.Quote(found.Name), name)
	}
	return found, nil
}

// Content returns the canonical text that has a digest. The key names it for the registry.
func (c *Client) Content(ctx context.Context, key, digest string) ([]byte, error) {
	const operation = "get the content"
	if text, ok, err := c.options.Trust.Definition(digest); ok && err == nil {
		return text, nil
	}
	if err := c.checkExact(operation, key); err != nil {
		return nil, err
	}
	v, err := c.logged(ctx, operation)
	if err != nil {
		return nil, err
	}
	text, err := c.do(ctx, request{
		operation: operation, method: http.MethodGet, path: v.at("experts", key, "content"), again: true, withKey: c.private(key),
		limit: definition.MaxSize, text: true,
	})
	if err != nil {
		return nil, err
	}
	if got := definition.Digest(text); got != digest {
		return nil, c.failf(Unverified, operation, "the content of %s has the digest %s, not %s", key, got, shown(digest))
	}
	return text, nil
}

// Whoami says whose key it is.
func (c *Client) Whoami(ctx context.Context) (*api.Whoami, error) {
	const operation = "whoami"
	if err := c.needKey(operation); err != nil {
		return nil, err
	}
	v, err := c.logged(ctx, operation)
	if err != nil {
		return nil, err
	}
	who := &api.Whoami{}
	if err := c.ask(ctx, request{operation: operation, method: http.MethodGet, path: v.at("whoami"), again: true, withKey: true}, who); err != nil {
		return nil, err
	}
	return who, nil
}

// checkExact refuses keys without a version.
func (c *Client) checkExact(operation, key string) error {
	k, err := expert.ParseKey(key)
	if err != nil {
		return c.fail(Configuration, operation, err)
	}
	if !definition.IsVersion(k.Version) {
		return c.failf(Configuration, operation, "%s names no version; write it like %s@1.0.0", key, k.Name)
	}
	return nil
}
