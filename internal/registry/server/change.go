package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// A look is one state of the registry, which is read.
type look struct {
	ctx context.Context
	r   *Registry
	tx  *sql.Tx
}

// A change is a transaction that changes the registry.
type change struct {
	look
	at   time.Time
	size int64 // of the log
	grew bool
}

// view reads one state.
func (r *Registry) view(ctx context.Context, do func(*look) error) error {
	return r.opts.Database.View(ctx, func(tx *sql.Tx) error { return do(&look{ctx, r, tx}) })
}

// update changes the registry. When do has ended without an error, a new checkpoint is signed if the log
// grew.
func (r *Registry) update(ctx context.Context, do func(*change) error) error {
	if r.opts.ReadOnly {
		return &Error{Status: unavailableStatus, Reason: "The registry is read-only at the moment"}
	}
	return r.opts.Database.Update(ctx, func(tx *sql.Tx) error {
		t := &change{look: look{ctx, r, tx}, at: r.opts.Now().UTC().Truncate(time.Millisecond)}
		var err error
		if t.size, err = t.logSize(); err != nil {
			return err
		}
		if err := do(t); err != nil || !t.grew {
			return err
		}
		root, err := tlog.Root(t.size, t.hashes())
		if err != nil {
			return err
		}
		signed, err := tlog.Checkpoint{Origin: r.opts.Origin, Size: t.size, Hash: root}.Sign(r.opts.Signer)
		if err != nil {
			return fmt.Errorf("the checkpoint cannot be signed: %w", err)
		}
		return t.exec("INSERT INTO log_heads (log, size, note) VALUES ($1, $2, $3)", r.opts.Origin, t.size, signed)
	})
}

func (l *look) exec(query string, args ...any) error {
	_, err := l.tx.ExecContext(l.ctx, query, args...)
	return err
}

// one reads one row, and reports whether there is one.
func (l *look) one(query string, args []any, into ...any) (bool, error) {
	err := l.tx.QueryRowContext(l.ctx, query, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each calls row for every row.
func (l *look) each(query string, args []any, row func(scan func(...any) error) error) error {
	rows, err := l.tx.QueryContext(l.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (l *look) logSize() (size int64, err error) {
	_, err = l.one("SELECT COALESCE(MAX(number) + 1, 0) FROM log_leaves WHERE log = $1", []any{l.r.opts.Origin}, &size)
	return size, err
}

// hashes reads the hashes of the log.
func (l *look) hashes() tlog.HashReader {
	return tlog.HashReaderFunc(func(numbers []int64) ([]tlog.Hash, error) {
		all := make([]tlog.Hash, len(numbers))
		for i, n := range numbers {
			var hash []byte
			ok, err := l.one("SELECT hash FROM log_hashes WHERE log = $1 AND number = $2", []any{l.r.opts.Origin, n}, &hash)
			if err != nil {
				return nil, err
			}
			if !ok || len(hash) != len(all[i]) {
				return nil, fmt.Errorf("the hash %d of the log is missing or damaged", n)
			}
			all[i] = tlog.Hash(hash)
		}
		return all, nil
	})
}

// record adds a leaf to the log, and returns its number.
func (t *change) record(leaf tlog.Leaf) (int64, error) {
	leaf.Time = t.at
	text, err := leaf.Text()
	if err != nil {
		return 0, err
	}
	first, added, err := tlog.Append(t.size, text, t.hashes())
	if err != nil {
		return 0, err
	}
	log, number := t.r.opts.Origin, t.size
	if err := t.exec("INSERT INTO log_leaves (log, number, text) VALUES ($1, $2, $3)", log, number, text); err != nil {
		return 0, err
	}
	for i, hash := range added {
		if err := t.exec("INSERT INTO log_hashes (log, number, hash) VALUES ($1, $2, $3)", log, first+int64(i), hash[:]); err != nil {
			return 0, err
		}
	}
	t.size, t.grew = t.size+1, true
	return number, nil
}

// A head is a checkpoint as the registry signed it.
type head struct {
	size int64
	note []byte
}

// head returns the newest checkpoint.
func (l *look) head() (h head, err error) {
	ok, err := l.one("SELECT size, note FROM log_heads WHERE log = $1 ORDER BY size DESC LIMIT 1", []any{l.r.opts.Origin}, &h.size, &h.note)
	if err == nil && !ok {
		err = notFound("The log has no leaf yet")
	}
	return h, err
}

// entry returns a leaf with its proof.
func (l *look) entry(size, number int64) (e api.Entry, err error) {
	var text []byte
	ok, err := l.one("SELECT text FROM log_leaves WHERE log = $1 AND number = $2", []any{l.r.opts.Origin, number}, &text)
	if err != nil {
		return e, err
	}
	if !ok {
		return e, notFound("The log has no leaf %d", number)
	}
	proof, err := tlog.ProveLeaf(size, number, l.hashes())
	return api.Entry{Index: number, Leaf: string(text), Proof: proof}, err
}

// growth proves that the log grew from a size that a client knows.
func (l *look) growth(from, size int64) ([]tlog.Hash, error) {
	if from < 0 || from > size {
		return nil, badRequest("The log has %d leaves and never had %d", size, from)
	}
	return tlog.ProveGrowth(from, size, l.hashes())
}
