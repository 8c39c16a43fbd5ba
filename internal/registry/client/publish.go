package client

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strconv"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/registry/trust"
	"github.com/perstack-go/perstack/internal/wording"
)

// Publish publishes a version, and verifies that the log of the registry has it. An error of the kind
// [Unverified] means that the registry says that it was published, and does not prove it.
func (c *Client) Publish(ctx context.Context, p api.Publish) (*Expert, error) {
	const operation = "publish"
	d, err := definition.Parse(p.Content)
	if err != nil {
		return nil, c.fail(Configuration, operation, err)
	}
	v, body, err := c.publish(ctx, operation, p, url.Values{})
	if err != nil {
		return nil, err
	}
	var answer api.Published
	if err := c.decode(operation, body, &answer); err != nil {
		return nil, err
	}
	digest := definition.Digest(p.Content)
	if answer.Expert.Digest != digest || definition.Digest(answer.Expert.Content) != digest {
		return nil, c.failf(Unverified, operation, "the registry has published %s instead of %s", wording.Quote(answer.Expert.Digest), digest)
	}
	// The answer need not prove growth from the state that this machine knows. If it does not, a resolve does.
	// Nor can it have cosignatures yet.
	at, _, err := tlog.OpenCheckpoint([]byte(answer.Checkpoint), v.head.Origin, v.verifier)
	if err == nil {
		err = c.checkWitnesses(operation, answer.Checkpoint, at)
	}
	if err == nil && v.stored.Checkpoint != "" {
		err = tlog.CheckGrowth(answer.Growth, v.known, at)
	}
	if err == nil {
		check := &verification{client: c, operation: operation, at: at, names: map[string]trust.Name{}}
		var e *Expert
		if e, err = check.expert(&answer.Expert); err != nil {
			return nil, err
		}
		found := &Resolution{Experts: map[string]*Expert{e.Key: e}}
		if err = c.commit(ctx, v, operation, answer.Checkpoint, check.proved(found)); err == nil {
			return e, nil
		}
	}
	found, err := c.Resolve(ctx, d.Key())
	if err != nil {
		return nil, err
	}
	if e := found.Experts[d.Key()]; e != nil && e.Digest == digest {
		return e, nil
	}
	return nil, c.failf(Unverified, operation, "the log has another %s than the one that was published", d.Key())
}

// ValidateOnly asks the registry whether it would accept a version, and returns what it has to say about it.
func (c *Client) ValidateOnly(ctx context.Context, p api.Publish) (advisories []string, err error) {
	const operation = "validate"
	_, body, err := c.publish(ctx, operation, p, url.Values{"validateOnly": {"true"}})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Advisories []string `json:"advisories"`
		Expert     struct {
			Advisories []string `json:"advisories"`
		} `json:"expert"`
	}
	if err := c.decode(operation, body, &answer); err != nil {
		return nil, err
	}
	for _, a := range append(answer.Advisories, answer.Expert.Advisories...) {
		advisories = append(advisories, shown(a))
	}
	return advisories, nil
}

func (c *Client) publish(ctx context.Context, operation string, p api.Publish, query url.Values) (*view, []byte, error) {
	if err := c.needKey(operation); err != nil {
		return nil, nil, err
	}
	v, err := c.logged(ctx, operation)
	if err != nil {
		return nil, nil, err
	}
	query.Set("from", strconv.FormatInt(v.known.Size, 10))
	header := http.Header{}
	header.Set(api.DigestHeader, definition.Digest(p.Content))
	header.Set(api.IdempotencyHeader, rand.Text())
	body, err := c.do(ctx, request{
		operation: operation, method: http.MethodPost, path: v.at("experts"), query: query, header: header, body: p, withKey: true,
		limit: maxPublished,
	})
	return v, body, err
}

// SetTag lets a tag of an Expert point at a version.
func (c *Client) SetTag(ctx context.Context, name, tag, version string) error {
	const operation = "set a tag"
	if !definition.IsVersion(version) {
		return c.failf(Configuration, operation, "%s is not a version", wording.Quote(version))
	}
	if err := c.checkTag(operation, name, tag); err != nil {
		return err
	}
	return c.change(ctx, request{operation: operation, method: http.MethodPut, body: map[string]string{"version": version}}, "experts", name, "tags", tag)
}

// RemoveTag removes a tag from a version of an Expert. If the tag means another version, the registry
// refuses.
func (c *Client) RemoveTag(ctx context.Context, name, tag, version string) error {
	const operation = "remove a tag"
	if !definition.IsVersion(version) {
		return c.failf(Configuration, operation, "%s is not a version", wording.Quote(version))
	}
	if err := c.checkTag(operation, name, tag); err != nil {
		return err
	}
	return c.change(ctx, request{operation: operation, method: http.MethodDelete, query: url.Values{"version": {version}}}, "experts", name, "tags", tag)
}

func (c *Client) checkTag(operation, name, tag string) error {
	if !expert.ValidName(name) || !expert.ValidTag(tag) || tag == "latest" {
		return c.failf(Configuration, operation, "%s cannot be a tag of %s", wording.Quote(tag), wording.Quote(name))
	}
	return nil
}

// SetStatus changes the status of a version.
func (c *Client) SetStatus(ctx context.Context, key string, to api.SetStatus) error {
	const operation = "set the status"
	if err := c.checkExact(operation, key); err != nil {
		return err
	}
	return c.change(ctx, request{operation: operation, method: http.MethodPost, body: to}, "experts", key, "status")
}

// Unpublish removes the content of a version. Its number cannot be used again.
func (c *Client) Unpublish(ctx context.Context, key string) error {
	const operation = "unpublish"
	if err := c.checkExact(operation, key); err != nil {
		return err
	}
	return c.change(ctx, request{operation: operation, method: http.MethodDelete}, "experts", key)
}

// change sends a request that changes something. It is sent once: whether it had an effect is not known if
// there is no answer.
func (c *Client) change(ctx context.Context, r request, path ...string) error {
	if err := c.needKey(r.operation); err != nil {
		return err
	}
	v, err := c.logged(ctx, r.operation)
	if err != nil {
		return err
	}
	var answer map[string]any
	r.path, r.withKey = v.at(path...), true
	return c.ask(ctx, r, &answer)
}
