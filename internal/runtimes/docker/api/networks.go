package api

import (
	"context"
	"net/http"

	"github.com/moby/moby/api/types/network"
)

// CreateNetwork makes a network and returns its id.
func (c *Client) CreateNetwork(ctx context.Context, request network.CreateRequest) (id string, err error) {
	made, err := fetch[network.CreateResponse](ctx, c, http.MethodPost, "/networks/create", nil, request)
	return made.ID, err
}

// Network looks at a network.
func (c *Client) Network(ctx context.Context, id string) (network.Inspect, error) {
	return fetch[network.Inspect](ctx, c, http.MethodGet, "/networks/"+id, nil, nil)
}

// Networks lists the networks that have all the labels: NAME or NAME=VALUE.
func (c *Client) Networks(ctx context.Context, labels ...string) ([]network.Summary, error) {
	return fetch[[]network.Summary](ctx, c, http.MethodGet, "/networks", withLabels(labels...), nil)
}

// ConnectNetwork adds a network to a container.
func (c *Client) ConnectNetwork(ctx context.Context, id string, request network.ConnectRequest) error {
	return c.call(ctx, http.MethodPost, "/networks/"+id+"/connect", nil, request)
}

// RemoveNetwork removes a network that no container is on.
func (c *Client) RemoveNetwork(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/networks/"+id, nil, nil)
}
