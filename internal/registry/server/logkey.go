package server

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// RotateLogKey replaces the key that signs the log. The leaf that says so is signed with both keys, so that
// clients that know the old one follow. Afterwards a registry with the old key refuses every change. It is for the
// operator, who has the files of the keys.
func (r *Registry) RotateLogKey(ctx context.Context, to note.Signer, public string) error {
	by := Operator()
	return r.update(ctx, func(t *change) error {
		number, err := t.record(api.Public, tlog.Leaf{Kind: tlog.LogKey, Old: r.opts.PublicKey, New: public, Actor: by.logName()})
		if err != nil {
			return err
		}
		t.signers = append(t.signers, to)
		if err := t.exec("INSERT INTO log_keys (log, number, old_key, new_key) VALUES ($1, $2, $3, $4)", r.opts.Origin, number, r.opts.PublicKey, public); err != nil {
			return err
		}
		return t.audit(by, "log key", r.opts.Origin, public, number)
	})
}

// LogKey returns the key that signs the log now.
func (r *Registry) LogKey(ctx context.Context) (key string, err error) {
	err = r.view(ctx, func(l *look) error {
		key, err = l.logKey()
		return err
	})
	return key, err
}

// logKey returns the key of the newest rotation, or the only one.
func (l *look) logKey() (key string, err error) {
	ok, err := l.one("SELECT new_key FROM log_keys WHERE log = $1 ORDER BY number DESC LIMIT 1", []any{l.r.opts.Origin}, &key)
	if !ok {
		key = l.r.opts.PublicKey
	}
	return key, err
}

// checkLogKey refuses to sign with a key that another process has replaced.
func (t *change) checkLogKey() error {
	key, err := t.logKey()
	if err == nil && key != t.r.opts.PublicKey {
		err = &Error{Status: unavailableStatus, Reason: "The key of the log was replaced; the operator has to start the registry again"}
	}
	return err
}

// Rotations returns how the log got its key, the oldest first.
func (r *Registry) Rotations(ctx context.Context) (all []tlog.Rotation, err error) {
	err = r.view(ctx, func(l *look) error {
		var numbers []int64
		err := l.each("SELECT number FROM log_keys WHERE log = $1 ORDER BY number", []any{r.opts.Origin}, func(scan func(...any) error) error {
			var number int64
			err := scan(&number)
			numbers = append(numbers, number)
			return err
		})
		for _, number := range numbers {
			if err != nil {
				break
			}
			h := head{log: r.opts.Origin, size: number + 1}
			if _, err = l.one("SELECT note FROM log_heads WHERE log = $1 AND size = $2", []any{h.log, h.size}, &h.note); err != nil {
				break
			}
			var e api.Entry
			e, err = l.entry(h, number)
			all = append(all, tlog.Rotation{Checkpoint: string(h.note), Leaf: e.Leaf, Proof: e.Proof})
		}
		return err
	})
	return all, err
}

// A keyChange is what a leaf says about the key of the log.
type keyChange struct {
	number   int64
	old, new string
}

// logKeys compares the keys that the table has with those that the leaves tell, and returns which keys must have
// signed the checkpoint of a size: both where one replaced the other.
func (v *verification) logKeys(log string, told []keyChange) (keyOf func(size int64) []note.Verifier, err error) {
	var stored []keyChange
	err = v.each("SELECT number, old_key, new_key FROM log_keys WHERE log = $1 ORDER BY number", []any{log}, func(scan func(...any) error) error {
		var k keyChange
		err := scan(&k.number, &k.old, &k.new)
		stored = append(stored, k)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !slices.Equal(stored, told) {
		v.report.add("keys of "+log, "they are not those that the leaves tell")
	}
	keys := make([]note.Verifier, 0, len(told)+1)
	for i, k := range told {
		if i > 0 && k.old != told[i-1].new {
			v.report.add(leafName(log, k.number), "it replaces another key than the one that was in use")
		}
		key, err := note.NewVerifier(k.old)
		if err != nil {
			v.report.add(leafName(log, k.number), "it replaces what is not a key")
			key = v.verifier
		}
		keys = append(keys, key)
	}
	keys = append(keys, v.verifier)
	return func(size int64) []note.Verifier {
		i, _ := slices.BinarySearchFunc(told, size, func(k keyChange, size int64) int { return cmp.Compare(k.number, size) })
		if i > 0 && told[i-1].number == size-1 {
			return keys[i-1 : i+1]
		}
		return keys[i : i+1]
	}, nil
}
