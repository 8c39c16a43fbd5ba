package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/wording"
)

// parseWitnesses reads the keys of the witnesses. One key counts once, whatever its names.
func parseWitnesses(keys []string, required int) (all []*tlog.Witness, err error) {
	for _, key := range keys {
		w, err := tlog.ParseWitness(key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", wording.Quote(key), err)
		}
		for _, other := range all {
			if w.Same(other) {
				return nil, fmt.Errorf("%s and %s are the same key", wording.Quote(other.ID()), wording.Quote(w.ID()))
			}
		}
		all = append(all, w)
	}
	if required < 0 || required > len(all) {
		return nil, fmt.Errorf("%d cosignatures are required, and the number of witnesses is %d", required, len(all))
	}
	return all, nil
}

func (c *Client) witnessIDs() (all []string) {
	if c.options.RequireWitnesses > 0 {
		for _, w := range c.witnesses {
			all = append(all, w.ID())
		}
	}
	return all
}

// errTooFew says that a checkpoint does not have the cosignatures that the user asks for.
var errTooFew = errors.New("too few cosignatures")

// checkWitnesses checks that enough witnesses have cosigned a checkpoint, whose other properties were checked.
func (c *Client) checkWitnesses(operation, signed string, at tlog.Checkpoint) error {
	found := tlog.Cosignatures([]byte(signed), c.witnesses...)
	if len(found) >= c.options.RequireWitnesses {
		return nil
	}
	by := "none"
	var names []string
	for _, one := range found {
		names = append(names, one.Witness.ID())
	}
	if len(names) > 0 {
		by = wording.And(names)
	}
	var of []string
	for _, w := range c.witnesses {
		of = append(of, w.ID())
	}
	e := c.failf(Unverified, operation, "the checkpoint of the size %d is cosigned by %s, and your configuration requires %d of %s",
		at.Size, by, c.options.RequireWitnesses, wording.And(of))
	e.Err, e.Hint = errTooFew, "a new checkpoint is usually cosigned within seconds: try again later, or ask the operator of the registry"
	return e
}

// How often a client waits for cosignatures, and how long at first. Each wait is twice as long as the one before.
const (
	maxCosignatureWaits  = 4
	firstCosignatureWait = time.Second
)

// awaitWitnesses waits before another try if the witnesses have not cosigned a checkpoint yet. It reports whether there
// is to be one.
func (c *Client) awaitWitnesses(ctx context.Context, err error, tries int) bool {
	return errors.Is(err, errTooFew) && tries < maxCosignatureWaits && c.options.Wait(ctx, firstCosignatureWait<<tries) == nil
}

// cosignedQuery asks for a checkpoint that the witnesses have cosigned, if there is one.
func (c *Client) cosignedQuery(v *view) url.Values {
	if c.options.RequireWitnesses == 0 {
		return nil
	}
	return url.Values{
		"cosignatures": {strconv.Itoa(c.options.RequireWitnesses)}, "witness": c.witnessIDs(), "from": {strconv.FormatInt(v.known.Size, 10)},
	}
}
