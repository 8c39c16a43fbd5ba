package api

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/moby/moby/api/types/image"
	"github.com/moby/moby/api/types/registry"
)

// Image looks at an image on the daemon.
func (c *Client) Image(ctx context.Context, name string) (image.InspectResponse, error) {
	return fetch[image.InspectResponse](ctx, c, http.MethodGet, "/images/"+name+"/json", nil, nil)
}

// Images lists the images that have a label.
func (c *Client) Images(ctx context.Context, label string) ([]image.Summary, error) {
	return fetch[[]image.Summary](ctx, c, http.MethodGet, "/images/json", withLabels(label), nil)
}

// RemoveImage removes a name of an image, and the image if it was the last.
func (c *Client) RemoveImage(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, "/images/"+name, nil, nil)
}

// Pull fetches an image by its digest.
func (c *Client) Pull(ctx context.Context, name, digest string, report func(Progress)) error {
	return c.follow(ctx, "/images/create", url.Values{"fromImage": {name}, "tag": {digest}}, nil, maxPulled, report)
}

// Load reads images from a tar, as docker save writes it.
func (c *Client) Load(ctx context.Context, tar io.Reader) error {
	return c.follow(ctx, "/images/load", url.Values{"quiet": {"1"}}, tar, maxLoaded, func(Progress) {})
}

// InRegistry asks the registry of an image what it has by that name.
func (c *Client) InRegistry(ctx context.Context, name string) (registry.DistributionInspect, error) {
	return fetch[registry.DistributionInspect](ctx, c, http.MethodGet, "/distribution/"+name+"/json", nil, nil)
}
