package server

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// record adds a leaf to the log, and returns its number. One about a private Expert is sealed.
func (t *change) record(visibility string, leaf tlog.Leaf) (number int64, err error) {
	leaf.Time = t.at
	var sealed []byte
	if visibility == api.Private {
		if leaf, sealed, err = tlog.Seal(leaf, t.r.opts.Random); err != nil {
			return 0, err
		}
	}
	text, err := leaf.Text()
	if err != nil {
		return 0, err
	}
	log := t.r.opts.Origin
	size, grew := t.grew[log]
	if !grew {
		if size, err = t.logSize(log); err != nil {
			return 0, err
		}
	}
	if sealed != nil {
		if err := t.exec("INSERT INTO log_sealed (log, number, text) VALUES ($1, $2, $3)", log, size, sealed); err != nil {
			return 0, err
		}
	}
	first, added, err := tlog.Append(size, text, t.hashes(log))
	if err != nil {
		return 0, err
	}
	if err := t.exec("INSERT INTO log_leaves (log, number, text) VALUES ($1, $2, $3)", log, size, text); err != nil {
		return 0, err
	}
	for i, hash := range added {
		if err := t.exec("INSERT INTO log_hashes (log, number, hash) VALUES ($1, $2, $3)", log, first+int64(i), hash[:]); err != nil {
			return 0, err
		}
	}
	t.grew[log] = size + 1
	return size, nil
}

// sign signs the state of a log.
func (l *look) sign(log string, size int64, signers ...note.Signer) ([]byte, error) {
	root, err := tlog.Root(size, l.hashes(log))
	if err != nil {
		return nil, err
	}
	signed, err := tlog.Checkpoint{Origin: log, Size: size, Hash: root}.Sign(signers...)
	if err != nil {
		return nil, fmt.Errorf("the checkpoint cannot be signed: %w", err)
	}
	return signed, nil
}

func (l *look) logSize(log string) (size int64, err error) {
	_, err = l.one("SELECT COALESCE(MAX(number) + 1, 0) FROM log_leaves WHERE log = $1", []any{log}, &size)
	return size, err
}

// hashes reads the hashes of a log.
func (l *look) hashes(log string) tlog.HashReader {
	return tlog.HashReaderFunc(func(numbers []int64) ([]tlog.Hash, error) {
		all, known := make([]tlog.Hash, len(numbers)), map[int64]tlog.Hash{}
		var list strings.Builder
		for _, n := range numbers {
			fmt.Fprintf(&list, ",%d", n)
		}
		if len(numbers) == 0 {
			return all, nil
		}
		err := l.each("SELECT number, hash FROM log_hashes WHERE log = $1 AND number IN ("+list.String()[1:]+")", []any{log}, func(scan func(...any) error) error {
			var number int64
			var hash []byte
			err := scan(&number, &hash)
			if len(hash) == len(tlog.Hash{}) {
				known[number] = tlog.Hash(hash)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		for i, n := range numbers {
			hash, ok := known[n]
			if !ok {
				return nil, fmt.Errorf("the hash %d of the log is missing or damaged", n)
			}
			all[i] = hash
		}
		return all, nil
	})
}

// A head is a checkpoint as the registry signed it.
type head struct {
	log  string
	size int64
	note []byte
}

// head returns the newest checkpoint of a log. A log without leaves has one too.
func (l *look) head(log string) (head, error) {
	h := head{log: log}
	ok, err := l.one("SELECT size, note FROM log_heads WHERE log = $1 ORDER BY size DESC LIMIT 1", []any{log}, &h.size, &h.note)
	switch {
	case err != nil:
		return h, err
	case !ok:
		h.note, err = l.sign(log, 0, l.r.opts.Signer)
		return h, err
	}
	return h, l.attach(&h)
}

// entry returns a leaf with its proof, and what it hides if it is sealed: the caller decides who may know.
func (l *look) entry(h head, number int64) (e api.Entry, err error) {
	var text []byte
	ok, err := l.one("SELECT text FROM log_leaves WHERE log = $1 AND number = $2", []any{h.log, number}, &text)
	if err != nil {
		return e, err
	}
	switch {
	case !ok:
		return e, notFound("The log has no leaf %d", number)
	case number >= h.size:
		return e, errNewer
	}
	var sealed []byte
	if _, err := l.one("SELECT text FROM log_sealed WHERE log = $1 AND number = $2", []any{h.log, number}, &sealed); err != nil {
		return e, err
	}
	proof, err := tlog.ProveLeaf(h.size, number, l.hashes(h.log))
	return api.Entry{Index: number, Leaf: string(text), Proof: proof, Sealed: string(sealed)}, err
}

// growth proves that a log grew from a size that a client knows.
func (l *look) growth(h head, from int64) ([]tlog.Hash, error) {
	if from < 0 || from > h.size {
		return nil, badRequest("The log has %d leaves and never had %d", h.size, from)
	}
	return tlog.ProveGrowth(from, h.size, l.hashes(h.log))
}

// Checkpoint returns the newest state of the log, signed.
func (r *Registry) Checkpoint(ctx context.Context) ([]byte, error) {
	return r.CosignedCheckpoint(ctx, Cosigned{})
}

// CosignedCheckpoint returns the newest state of the log that has the cosignatures that are asked for. If there is
// none, it is the newest of all.
func (r *Registry) CosignedCheckpoint(ctx context.Context, want Cosigned) (note []byte, err error) {
	if err := want.check(); err != nil {
		return nil, err
	}
	err = r.view(ctx, func(l *look) error {
		h, ok, err := l.cosigned(r.opts.Origin, want)
		if err == nil && !ok {
			h, err = l.head(r.opts.Origin)
		}
		note = h.note
		return err
	})
	return note, err
}

// Lookup returns the leaf about the publication of the version that a key means, with its proof.
func (r *Registry) Lookup(ctx context.Context, by Actor, key string) (found api.Lookup, err error) {
	err = r.view(ctx, func(l *look) error {
		k, err := parseKey(key)
		if err != nil {
			return err
		}
		v, err := l.find(by, k)
		if err != nil {
			return err
		}
		h, err := l.head(v.log)
		if err != nil {
			return err
		}
		found.Checkpoint = string(h.note)
		found.Entry, err = l.entry(h, v.number)
		return err
	})
	return found, err
}

// ProveLeaf proves that a leaf is in the log when it had a size; 0 is the newest.
func (r *Registry) ProveLeaf(ctx context.Context, index, size int64) (proof []tlog.Hash, err error) {
	err = r.view(ctx, func(l *look) error {
		if size, err = l.pastSize(size); err != nil {
			return err
		}
		if index < 0 || index >= size {
			return badRequest("The log had %d leaves, and none with the number %d", size, index)
		}
		proof, err = tlog.ProveLeaf(size, index, l.hashes(r.opts.Origin))
		return err
	})
	return proof, err
}

// ProveGrowth proves that the log grew from one size to another; 0 as the other is the newest.
func (r *Registry) ProveGrowth(ctx context.Context, from, to int64) (proof []tlog.Hash, err error) {
	err = r.view(ctx, func(l *look) error {
		if to, err = l.pastSize(to); err != nil {
			return err
		}
		proof, err = l.growth(head{log: r.opts.Origin, size: to}, from)
		return err
	})
	return proof, err
}

// pastSize checks a size that the log has or had.
func (l *look) pastSize(size int64) (int64, error) {
	now, err := l.logSize(l.r.opts.Origin)
	switch {
	case err != nil:
		return 0, err
	case size < 0 || size > now:
		return 0, badRequest("The log has %d leaves and never had %d", now, size)
	case size == 0:
		return now, nil
	}
	return size, nil
}

// Tile returns a tile of the log: its hashes, or its leaves. A tile never changes, so caches can keep it for
// ever.
func (r *Registry) Tile(ctx context.Context, tile tlog.Tile) (data []byte, err error) {
	err = r.view(ctx, func(l *look) error {
		size, err := l.logSize(r.opts.Origin)
		if err != nil {
			return err
		}
		if !tile.In(size) {
			return notFound("The log does not have this tile yet")
		}
		if tile.Level != tlog.Entries {
			data, err = tile.Hashes(l.hashes(r.opts.Origin))
			return err
		}
		leaves, err := l.leaves(tile.Index*tlog.TileWidth, tile.Width)
		if err != nil {
			return err
		}
		if len(leaves) != tile.Width {
			return fmt.Errorf("the log has %d of the %d leaves from %d on", len(leaves), tile.Width, tile.Index*tlog.TileWidth)
		}
		data, err = tlog.EncodeEntries(leaves)
		return err
	})
	return data, err
}

// leaves reads leaves of the public log.
func (l *look) leaves(first int64, most int) (all [][]byte, err error) {
	err = l.each("SELECT text FROM log_leaves WHERE log = $1 AND number >= $2 ORDER BY number LIMIT $3", []any{l.r.opts.Origin, first, most}, func(scan func(...any) error) error {
		var text []byte
		err := scan(&text)
		all = append(all, text)
		return err
	})
	return all, err
}

// Changes returns what happened since the log had a size, in order: at most take leaves, and at most
// [tlog.TileWidth].
func (r *Registry) Changes(ctx context.Context, after int64, take int) (changes api.Changes, err error) {
	if after < 0 {
		return changes, badRequest("The log never had %d leaves", after)
	}
	if take <= 0 || take > tlog.TileWidth {
		take = tlog.TileWidth
	}
	err = r.view(ctx, func(l *look) error {
		all, err := l.leaves(after, take)
		changes = api.Changes{Leaves: []string{}, First: after, Next: after + int64(len(all))}
		for _, text := range all {
			changes.Leaves = append(changes.Leaves, string(text))
		}
		return err
	})
	return changes, err
}
