package server

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"
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
	grew map[string]int64 // sizes of the logs that got leaves

	signers []note.Signer // of the checkpoint
}

// view reads one state.
func (r *Registry) view(ctx context.Context, do func(*look) error) error {
	return r.opts.Database.View(ctx, func(tx *sql.Tx) error { return do(&look{ctx, r, tx}) })
}

// update changes the registry. When do has ended without an error, a new checkpoint is signed for each log
// that grew.
func (r *Registry) update(ctx context.Context, do func(*change) error) error {
	if r.opts.ReadOnly {
		return &Error{Status: unavailableStatus, Reason: "The registry is read-only at the moment"}
	}
	grew := false
	err := r.opts.Database.Update(ctx, func(tx *sql.Tx) error {
		t := &change{look: look{ctx, r, tx}, at: r.opts.Now().UTC().Truncate(time.Millisecond), grew: map[string]int64{}, signers: []note.Signer{r.opts.Signer}}
		if err := t.checkLogKey(); err != nil {
			return err
		}
		if err := do(t); err != nil {
			return err
		}
		for log, size := range t.grew {
			signed, err := t.sign(log, size, t.signers...)
			if err != nil {
				return err
			}
			if err := t.exec("INSERT INTO log_heads (log, size, note) VALUES ($1, $2, $3)", log, size, signed); err != nil {
				return err
			}
		}
		grew = len(t.grew) > 0
		return nil
	})
	if err == nil && grew && r.opts.Grew != nil {
		r.opts.Grew()
	}
	return err
}

// storable refuses texts that not every database can keep. They come from clients.
func storable(args []any) error {
	for _, value := range args {
		if text, ok := value.(string); ok && (!utf8.ValidString(text) || strings.Contains(text, "\x00")) {
			return invalid(errors.New("a text has the character U+0000, or is not UTF-8"))
		}
	}
	return nil
}

func (l *look) exec(query string, args ...any) error {
	if err := storable(args); err != nil {
		return err
	}
	_, err := l.tx.ExecContext(l.ctx, query, args...)
	return err
}

// one reads one row, and reports whether there is one.
func (l *look) one(query string, args []any, into ...any) (bool, error) {
	if err := storable(args); err != nil {
		return false, err
	}
	err := l.tx.QueryRowContext(l.ctx, query, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each calls row for every row.
func (l *look) each(query string, args []any, row func(scan func(...any) error) error) error {
	if err := storable(args); err != nil {
		return err
	}
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
