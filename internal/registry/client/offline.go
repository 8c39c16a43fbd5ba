package client

import (
	"context"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/registry/trust"
)

// A Pin is a version that a lockfile names.
type Pin struct {
	Key    string // exact
	Digest string
}

// Offline returns pinned Experts, with all that they delegate to, from what [Client.Resolve] has verified on
// this machine before. It makes no request. A pin that was never verified here is an error of the kind
// [NotVerified]: a lockfile can come from anywhere.
func (c *Client) Offline(ctx context.Context, pins ...Pin) (*Resolution, error) {
	found := &Resolution{Keys: map[string]string{}, Experts: map[string]*Expert{}}
	p := &verification{client: c, operation: "read verified Experts", names: map[string]trust.Name{}}
	rest := pins
	for len(rest) > 0 {
		pin := rest[0]
		rest = rest[1:]
		if ctx.Err() != nil {
			return nil, c.cancelled(ctx, p.operation)
		}
		if e := found.Experts[pin.Key]; e != nil {
			if e.Digest != pin.Digest {
				return nil, p.lie("%s is pinned as %s and as %s", pin.Key, e.Digest, pin.Digest)
			}
			continue
		}
		if len(found.Experts) == api.MaxClosure {
			return nil, p.lie("more than %d Experts are pinned", api.MaxClosure)
		}
		e, err := p.stored(pin)
		if err != nil {
			return nil, err
		}
		found.Experts[e.Key] = e
		for _, d := range e.Delegates {
			rest = append(rest, Pin{d.Exact, d.Digest})
		}
	}
	for _, pin := range pins {
		found.Keys[pin.Key] = pin.Key
	}
	if err := p.closure(found); err != nil {
		return nil, err
	}
	return found, p.policy(found)
}

// stored reads one Expert from the store. All but the proof is checked again.
func (p *verification) stored(pin Pin) (*Expert, error) {
	c := p.client
	record, ok, err := c.log.Verified(pin.Digest)
	if err != nil {
		return nil, c.fail(Storage, p.operation, err)
	}
	if !ok {
		return nil, c.failf(NotVerified, p.operation, "%s with the digest %s was never verified on this machine", shown(pin.Key), shown(pin.Digest))
	}
	if record.Key != pin.Key {
		return nil, p.lie("the digest %s is that of %s, not of %s", pin.Digest, record.Key, shown(pin.Key))
	}
	text, ok, err := c.options.Trust.Definition(pin.Digest)
	if err != nil {
		return nil, c.fail(Unverified, p.operation, err)
	}
	if !ok {
		return nil, c.failf(NotVerified, p.operation, "the definition of %s is no longer stored on this machine", pin.Key)
	}
	e, err := p.parse(text, pin.Key)
	if err != nil {
		return nil, err
	}
	e.Index, e.Status, e.Message, e.ReplacedBy = record.Index, record.Status, record.Message, record.ReplacedBy
	if record.Leaf == "" {
		e.Unverified = true
		for _, d := range record.Delegates {
			e.Delegates = append(e.Delegates, tlog.Delegate(d))
		}
		return e, nil
	}
	leaf, err := tlog.ParseLeaf([]byte(record.Leaf))
	if err != nil {
		return nil, c.fail(Storage, p.operation, err)
	}
	if leaf.Kind != tlog.Published || leaf.Name+"@"+leaf.Version != e.Key || leaf.Digest != e.Digest {
		return nil, p.lie("the stored leaf of %s is of another Expert", e.Key)
	}
	if err := p.delegates(e, leaf); err != nil {
		return nil, err
	}
	e.PublishedAt = leaf.Time
	e.Signer, err = p.signer(e, leaf, record.Signature)
	return e, err
}
