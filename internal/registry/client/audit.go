package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/registry/trust"
	"github.com/perstack-go/perstack/internal/wording"
)

// maxTile bounds a tile of leaves.
const maxTile = tlog.TileWidth * (2 + tlog.MaxLeaf)

// An Audit is what the whole log of a registry says.
type Audit struct {
	Origin string
	Size   int64
	Root   string // hash of the whole log, in base64 as the checkpoint has it
	// Problems are what the log says and cannot be right, such as a version that was published twice. The
	// log has the hash that it is signed for all the same.
	Problems []Problem
	// Cosignatures are those of the witnesses of the user, on the checkpoint of this size.
	Cosignatures []Cosignature
	// Touching are the leaves that are about the scope or the name that was asked for.
	Touching []AuditLeaf
}

// A Cosignature says when a witness has seen a state of the log.
type Cosignature struct {
	Witness string // its name with the number of its key
	Time    time.Time
}

// A Problem is a leaf that contradicts those before it.
type Problem struct {
	Index   int64
	Message string
}

// An AuditLeaf is a leaf with its number.
type AuditLeaf struct {
	Index int64
	Leaf  *tlog.Leaf
}

// Audit reads the whole log, computes its hash from the leaves, and compares that with the checkpoint of the
// registry and the one that this machine knows. Leaves about about, a scope such as @acme or a name, are in the
// report; "" leaves them out. progress is told how many leaves of how many were read; it can be nil.
func (c *Client) Audit(ctx context.Context, about string, progress func(read, size int64)) (*Audit, error) {
	const operation = "audit"
	v, err := c.logged(ctx, operation)
	if err != nil {
		return nil, err
	}
	signed, at, err := c.auditCheckpoint(ctx, v)
	for tries := 0; c.awaitWitnesses(ctx, err, tries); tries++ {
		signed, at, err = c.auditCheckpoint(ctx, v)
	}
	if err != nil {
		return nil, err
	}
	r := &replay{hashes: map[int64]tlog.Hash{}, versions: map[string]string{}, tags: map[string]string{}, about: about}
	for tile := range tlog.TilesOf(0, at.Size) {
		if err := c.auditTile(ctx, v, r, tile); err != nil {
			return nil, err
		}
		if progress != nil {
			progress(r.size, at.Size)
		}
		// No proof is needed: the hash of the known state is computed from the same leaves.
		if r.known != nil && v.known.Size > 0 && *r.known != v.known.Hash {
			return nil, c.contradiction(ctx, v, operation, string(signed), fmt.Errorf("the first %d leaves of the log are not those that were there before", v.known.Size))
		}
	}
	root, err := tlog.Root(at.Size, r)
	if err != nil || root != at.Hash {
		return nil, c.contradiction(ctx, v, operation, string(signed), fmt.Errorf("the %d leaves that the registry shows do not have the hash that it has signed", at.Size))
	}
	if err := c.commit(ctx, v, operation, string(signed), trust.Commit{}); err != nil {
		if errors.Is(err, trust.ErrMoved) {
			moved := c.fail(Storage, operation, err)
			moved.Hint = "start the audit again"
			return nil, moved
		}
		return nil, err
	}
	report := &Audit{Origin: at.Origin, Size: at.Size, Root: at.Hash.String(), Problems: r.problems, Touching: r.touching}
	for _, one := range tlog.Cosignatures(signed, c.witnesses...) {
		report.Cosignatures = append(report.Cosignatures, Cosignature{one.Witness.ID(), one.Time})
	}
	return report, nil
}

// auditCheckpoint returns the checkpoint that the whole log is compared with.
func (c *Client) auditCheckpoint(ctx context.Context, v *view) (signed []byte, at tlog.Checkpoint, err error) {
	const operation = "audit"
	signed, err = c.do(ctx, request{operation: operation, method: http.MethodGet, path: v.inLog("checkpoint"), query: c.cosignedQuery(v), again: true, text: true, limit: maxKept})
	if err != nil {
		return nil, at, err
	}
	at, err = c.open(ctx, v, operation, string(signed))
	if e, ok := errors.AsType[*Error](err); ok {
		return nil, at, e
	}
	if err == nil && at.Size < v.known.Size {
		err = tlog.CheckGrowth(nil, v.known, at)
	}
	if err != nil {
		return nil, at, c.contradiction(ctx, v, operation, string(signed), err)
	}
	return signed, at, c.checkWitnesses(operation, string(signed), at)
}

// auditTile reads the leaves of a tile.
func (c *Client) auditTile(ctx context.Context, v *view, r *replay, tile tlog.Tile) error {
	const operation = "audit"
	data, err := c.do(ctx, request{operation: operation, method: http.MethodGet, path: v.inLog(segments(tile.Path())...), again: true, text: true, limit: maxTile})
	if err != nil {
		return err
	}
	leaves, err := tlog.DecodeEntries(data, tile.Width)
	if err != nil {
		return c.fail(Unverified, operation, err)
	}
	for _, leaf := range leaves {
		if err := r.add(leaf); err != nil {
			return c.fail(Unverified, operation, err)
		}
		if r.size == v.known.Size {
			root, err := tlog.Root(r.size, r)
			if err != nil {
				return c.fail(Unverified, operation, err)
			}
			r.known = &root
		}
	}
	return nil
}

// A replay adds the leaves of a log one by one. Of the hashes it keeps those that later ones need: one for
// each whole tree, 64 at most.
type replay struct {
	size     int64
	hashes   map[int64]tlog.Hash
	known    *tlog.Hash // hash of the state that this machine knows
	about    string
	versions map[string]string // digest, or what became of it, by exact key
	tags     map[string]string // version, by name and tag
	problems []Problem
	touching []AuditLeaf
}

// ReadHashes returns hashes that are kept.
func (r *replay) ReadHashes(numbers []int64) ([]tlog.Hash, error) {
	all := make([]tlog.Hash, len(numbers))
	for i, n := range numbers {
		hash, ok := r.hashes[n]
		if !ok {
			return nil, fmt.Errorf("the hash %d is not kept", n)
		}
		all[i] = hash
	}
	return all, nil
}

// add adds a leaf.
func (r *replay) add(text []byte) error {
	var used []int64
	first, added, err := tlog.Append(r.size, text, tlog.HashReaderFunc(func(numbers []int64) ([]tlog.Hash, error) {
		used = append(used, numbers...)
		return r.ReadHashes(numbers)
	}))
	if err != nil {
		return err
	}
	for _, n := range used { // they are part of the new one now
		delete(r.hashes, n)
	}
	r.hashes[first+int64(len(added))-1] = added[len(added)-1]
	leaf, err := tlog.ParseLeaf(text)
	if err != nil {
		r.problem("%v", err)
	} else {
		r.check(leaf)
		if r.touches(leaf) {
			r.touching = append(r.touching, AuditLeaf{r.size, leaf})
		}
	}
	r.size++
	return nil
}

func (r *replay) problem(format string, args ...any) {
	const most = 1000 // a hostile log could have nothing else
	if len(r.problems) < most {
		r.problems = append(r.problems, Problem{r.size, fmt.Sprintf(format, args...)})
	}
}

// removedVersion is the digest of a version whose content is erased.
const removedVersion = "removed"

// check compares a leaf with those before it.
func (r *replay) check(l *tlog.Leaf) {
	key := l.Name + "@" + l.Version
	shows := wording.Quote(key)
	switch l.Kind {
	case tlog.Published:
		if r.versions[key] != "" {
			r.problem("%s is published again, with the digest %s", shows, l.Digest)
		}
		r.versions[key] = l.Digest
		for _, d := range l.Delegates {
			if had := r.versions[d.Exact]; had != d.Digest && d.Exact != key {
				r.problem("%s delegates to %s with the digest %s, which the log does not have", shows, wording.Quote(d.Exact), d.Digest)
			}
		}
	case tlog.Tagged:
		tag := l.Name + "@" + l.Tag
		if r.tags[tag] != l.Old {
			r.problem("the tag %s is moved from %s, and was %s", wording.Quote(tag), wording.Quote(l.Old), wording.Quote(r.tags[tag]))
		}
		if l.New != "" && (r.versions[l.Name+"@"+l.New] == "" || r.versions[l.Name+"@"+l.New] == removedVersion) {
			r.problem("the tag %s is set to %s, which does not exist", wording.Quote(tag), wording.Quote(l.New))
		}
		r.tags[tag] = l.New
	case tlog.StatusChanged, tlog.Removed:
		if r.versions[key] == "" {
			r.problem("%s is changed, and was never published", shows)
		}
		if l.Kind == tlog.Removed {
			r.versions[key] = removedVersion
		}
	}
}

// touches reports whether a leaf is about what the audit is about.
func (r *replay) touches(l *tlog.Leaf) bool {
	return r.about != "" && (l.Name == r.about || strings.HasPrefix(l.Name, r.about+"/") || l.Org == strings.TrimPrefix(r.about, "@") && l.Org != "")
}
