package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/registry/trust"
)

// An Expert is one version, parsed from verified bytes.
type Expert struct {
	Key        string // exact
	Digest     string
	Content    []byte // canonical text
	Definition *definition.Definition
	Expert     *expert.Expert
	Index      int64 // of its leaf in the log
	// Delegates are what each delegate meant when the Expert was published.
	Delegates   []tlog.Delegate
	Signer      string    // fingerprint of the key that has signed it; empty if none has
	PublishedAt time.Time // as the log has it
	// Unverified says that the registry has no log, so that only its word is known.
	Unverified bool

	// What the registry says of the version now. It is not proved.
	Status     string
	Message    string
	ReplacedBy string
}

// A Resolution is what keys mean.
type Resolution struct {
	Keys    map[string]string  // the exact key of each key that was asked for
	Experts map[string]*Expert // by exact key: the closure of all of them
	Size    int64              // of the log; 0 if the registry has none
	// Newer has, for keys that ask for the newest version, a newer one than the registry names now and has
	// named on this machine before. It can have been withdrawn, or the registry holds it back.
	Newer map[string]string
}

// maxRaces bounds how often another process can store a newer state of the log in between.
const maxRaces = 5

// Resolve returns what keys mean, with everything that they delegate to, verified and stored for [Client.Offline].
// It is one request, and one more for a registry that was never seen and whose log key is not configured.
func (c *Client) Resolve(ctx context.Context, keys ...string) (*Resolution, error) {
	const operation = "resolve"
	if err := c.checkKeys(operation, keys); err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		found, err := c.resolve(ctx, operation, keys)
		if !c.awaitWitnesses(ctx, err, tries) {
			return found, err
		}
	}
}

func (c *Client) resolve(ctx context.Context, operation string, keys []string) (*Resolution, error) {
	for range maxRaces {
		v, err := c.view(ctx)
		if err != nil {
			return nil, err
		}
		var found *Resolution
		if v.original {
			found, err = c.resolveOriginal(ctx, v, keys)
		} else {
			found, err = c.resolveLogged(ctx, v, keys)
		}
		if !errors.Is(err, trust.ErrMoved) {
			return found, err
		}
	}
	return nil, c.fail(Storage, operation, trust.ErrMoved)
}

func (c *Client) checkKeys(operation string, keys []string) error {
	if len(keys) == 0 || len(keys) > api.MaxClosure {
		return c.failf(Configuration, operation, "1 to %d keys can be asked for, not %d", api.MaxClosure, len(keys))
	}
	for _, key := range keys {
		if _, err := expert.ParseKey(key); err != nil {
			return c.fail(Configuration, operation, err)
		}
	}
	return nil
}

// private reports whether the key goes with a read of these Experts.
func (c *Client) private(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		return slices.Contains(c.options.PrivateScopes, scopeOf(key)) && scopeOf(key) != ""
	})
}

// resolveLogged asks a registry with a log.
func (c *Client) resolveLogged(ctx context.Context, v *view, keys []string) (*Resolution, error) {
	const operation = "resolve"
	withKey := c.private(keys...)
	if withKey {
		if err := c.needKey(operation); err != nil {
			return nil, err
		}
	}
	var answer api.Resolved
	if err := c.ask(ctx, request{
		operation: operation, method: http.MethodPost, path: v.at("resolve"), withKey: withKey, limit: maxResolved,
		again: true, // it changes nothing
		body:  api.Resolve{Keys: keys, Closure: true, From: v.known.Size, Witnesses: c.witnessIDs(), Cosignatures: c.options.RequireWitnesses},
	}, &answer); err != nil {
		return nil, err
	}
	at, err := c.checkpoint(ctx, v, operation, answer.Checkpoint, answer.Growth)
	if err != nil {
		return nil, err
	}
	check := &verification{client: c, operation: operation, at: at, names: map[string]trust.Name{}}
	found, err := check.resolved(keys, &answer)
	if err != nil {
		return nil, err
	}
	if err := c.commit(ctx, v, operation, answer.Checkpoint, check.proved(found)); err != nil {
		return nil, err
	}
	return found, nil
}

// proved is what an answer adds to the store.
func (p *verification) proved(found *Resolution) (add trust.Commit) {
	for _, e := range found.Experts {
		add.Definitions = append(add.Definitions, e.Content)
		add.Records = append(add.Records, trust.Record{
			Digest: e.Digest, Key: e.Key, Index: e.Index, Leaf: p.leaves[e.Key], Signature: p.signatures[e.Key],
			Status: e.Status, Message: e.Message, ReplacedBy: e.ReplacedBy, Time: p.client.options.Clock().UTC(),
		})
		if p.leaves[e.Key] == "" {
			r := &add.Records[len(add.Records)-1]
			for _, d := range e.Delegates {
				r.Delegates = append(r.Delegates, trust.Delegate(d))
			}
		}
	}
	for _, n := range p.names {
		add.Names = append(add.Names, n)
	}
	return add
}
