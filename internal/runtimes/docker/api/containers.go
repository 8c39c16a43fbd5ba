package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/moby/moby/api/types/container"
)

// Create makes a container and returns its id. The daemon invents a name for it if it has none.
func (c *Client) Create(ctx context.Context, name string, request container.CreateRequest) (id string, err error) {
	query := url.Values{}
	if name != "" {
		query.Set("name", name)
	}
	made, err := fetch[container.CreateResponse](ctx, c, http.MethodPost, "/containers/create", query, request)
	return made.ID, err
}

// Attach connects to the input and output of a container.
func (c *Client) Attach(ctx context.Context, id string) (*Stream, error) {
	query := url.Values{"stream": {"1"}, "stdin": {"1"}, "stdout": {"1"}, "stderr": {"1"}}
	return c.upgrade(ctx, "/containers/"+id+"/attach", query)
}

// Wait asks to be told when a container ends the next time. It returns when the daemon has
// understood; ended then waits for the end.
func (c *Client) Wait(ctx context.Context, id string) (ended func() error, err error) {
	query := url.Values{"condition": {string(container.WaitConditionNextExit)}}
	resp, err := c.send(ctx, http.MethodPost, "/containers/"+id+"/wait", query, nil) //nolint:bodyclose // ended closes it
	if err != nil {
		return nil, err
	}
	return func() error {
		defer resp.Body.Close()
		_, err := decode[container.WaitResponse](json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)))
		return err
	}, nil
}

// Start starts a container.
func (c *Client) Start(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodPost, "/containers/"+id+"/start", nil, nil)
}

// Kill ends a container at once.
func (c *Client) Kill(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodPost, "/containers/"+id+"/kill", url.Values{"signal": {"SIGKILL"}}, nil)
}

// Remove removes a container with its volumes, running or not.
func (c *Client) Remove(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/containers/"+id, url.Values{"force": {"1"}, "v": {"1"}}, nil)
}

// Inspect looks at a container.
func (c *Client) Inspect(ctx context.Context, id string) (container.InspectResponse, error) {
	return fetch[container.InspectResponse](ctx, c, http.MethodGet, "/containers/"+id+"/json", nil, nil)
}

// Containers lists containers, running or not, that have all the labels: NAME or NAME=VALUE.
func (c *Client) Containers(ctx context.Context, labels ...string) ([]container.Summary, error) {
	query := withLabels(labels...)
	query.Set("all", "1")
	return fetch[[]container.Summary](ctx, c, http.MethodGet, "/containers/json", query, nil)
}

// Has reports whether there is anything at a path of a container that was not started.
func (c *Client) Has(ctx context.Context, id, path string) (bool, error) {
	found, err := c.Stat(ctx, id, path)
	return found != nil, err
}

// Stat returns what is at a path of a container that was not started; nil if nothing is. The
// target of a link is where it leads in the end.
func (c *Client) Stat(ctx context.Context, id, path string) (*container.PathStat, error) {
	resp, err := c.send(ctx, http.MethodHead, "/containers/"+id+"/archive", url.Values{"path": {path}}, nil)
	if IsNotFound(err) {
		return nil, nil
	}
	if err == nil {
		resp.Body.Close()
		header := base64.NewDecoder(base64.StdEncoding, strings.NewReader(resp.Header.Get("X-Docker-Container-Path-Stat")))
		var found container.PathStat
		if found, err = decode[container.PathStat](json.NewDecoder(header)); err == nil {
			return &found, nil
		}
	}
	return nil, fmt.Errorf("look for %s in the image: %w", path, err)
}

// Unpack unpacks a tar in the root directory of a container.
func (c *Client) Unpack(ctx context.Context, id string, tar io.Reader) error {
	query := url.Values{"path": {"/"}, "noOverwriteDirNonDir": {"true"}}
	return c.call(ctx, http.MethodPut, "/containers/"+id+"/archive", query, tar)
}

// Commit makes an image of a container.
func (c *Client) Commit(ctx context.Context, id, repository, tag, comment string, config *container.Config) error {
	query := url.Values{"container": {id}, "repo": {repository}, "tag": {tag}, "comment": {comment}}
	return c.call(ctx, http.MethodPost, "/commit", query, config)
}

// withLabels returns the query that asks for things with all the labels.
func withLabels(labels ...string) url.Values {
	filters, _ := json.Marshal(map[string][]string{"label": labels}) // strings never fail
	return url.Values{"filters": {string(filters)}}
}
