package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// open reads a checkpoint that the known key has signed. If another one has, and the log proves that it got this one
// from the known one, the new key is the known one from now on. An error of type [Error] says all.
func (c *Client) open(ctx context.Context, v *view, operation, signed string) (tlog.Checkpoint, error) {
	at, _, err := tlog.OpenCheckpoint([]byte(signed), v.head.Origin, v.verifier)
	if err == nil {
		return at, nil
	}
	followed, followErr := c.follow(ctx, v, operation)
	if followErr != nil {
		return at, followErr
	}
	if !followed {
		return at, err
	}
	if at, _, err = tlog.OpenCheckpoint([]byte(signed), v.head.Origin, v.verifier); err != nil {
		return at, err
	}
	return at, c.checkGrowth(ctx, v, operation, v.rotated, at)
}

// maxRotations is how many keys a client follows at once. A log gets a new one once in years.
const maxRotations = 100

// follow asks how the log got its key, and reports whether it has another one than the known one.
func (c *Client) follow(ctx context.Context, v *view, operation string) (bool, error) {
	body, err := c.do(ctx, request{operation: operation, method: http.MethodGet, path: v.inLog("keys"), again: true, optional: true})
	if err != nil || body == nil {
		return false, err
	}
	var keys api.LogKeys
	if err := c.decode(operation, body, &keys); err != nil {
		return false, err
	}
	from, known := v.known, v.head.Key
	for _, r := range keys.Rotations[:min(len(keys.Rotations), maxRotations)] {
		if r.Old() != v.head.Key {
			continue
		}
		key, at, err := r.Follow(v.head.Origin, v.head.Key)
		if err == nil && from.Size > 0 {
			err = c.checkGrowth(ctx, v, operation, from, at)
		}
		if err != nil {
			return false, c.contradiction(ctx, v, operation, r.Checkpoint, err)
		}
		if v.verifier, err = newVerifier(key); err != nil {
			return false, c.failf(WrongAnswer, operation, "%v", err)
		}
		v.head.SetKey(key)
		from, v.rotated = at, at
	}
	if v.head.Key == known {
		return false, nil
	}
	if c.options.NewLogKey {
		refused := c.failf(Configuration, operation, "the log has replaced its key %s, which your configuration names, by %s", known, v.head.Key)
		refused.Hint = "if the operator of the registry confirms the new key, name it in your configuration"
		return false, refused
	}
	c.options.Log.Warn("the registry has replaced the key of its log, and proved it with the old one", "registry", c.base.String(), "old", known, "new", v.head.Key)
	return true, nil
}

// checkGrowth asks for the proof that a log grew from one state to another.
func (c *Client) checkGrowth(ctx context.Context, v *view, operation string, from, to tlog.Checkpoint) error {
	var growth struct {
		Proof []tlog.Hash `json:"proof"`
	}
	if from.Size > 0 && from.Size < to.Size {
		query := url.Values{"from": {strconv.FormatInt(from.Size, 10)}, "to": {strconv.FormatInt(to.Size, 10)}}
		body, err := c.do(ctx, request{operation: operation, method: http.MethodGet, path: v.inLog("consistency"), query: query, again: true})
		if err != nil {
			return err
		}
		if err := c.decode(operation, body, &growth); err != nil {
			return err
		}
	}
	return tlog.CheckGrowth(growth.Proof, from, to)
}
