package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Backup writes a copy of the database to a file that must not exist. It is one state, whatever is written
// meanwhile. The file is an SQLite database, whatever the kind of this one.
func (db *DB) Backup(ctx context.Context, path string) error {
	private, err := os.MkdirTemp(filepath.Dir(path), ".backup-") // SQLite lets others read what it makes
	if err != nil {
		return fmt.Errorf("the database could not be copied: %w", err)
	}
	copied := filepath.Join(private, "copy")
	if db.kind == sqlite {
		_, err = db.read.ExecContext(ctx, "VACUUM INTO $1", copied)
	} else {
		err = db.copyToFile(ctx, copied)
	}
	if err == nil {
		err = os.Chmod(copied, 0o600)
	}
	if err == nil {
		err = os.Link(copied, path) // which does not replace a file
	}
	if err = errors.Join(err, os.RemoveAll(private)); err != nil {
		return fmt.Errorf("the database could not be copied: %w", err)
	}
	return nil
}

func (db *DB) copyToFile(ctx context.Context, path string) (err error) {
	to, err := Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }() // which writes everything into the one file
	return db.CopyTo(ctx, to)
}

// copied lists the tables in an order in which a row comes after those that it names.
var copied = []string{
	"organizations", "api_keys", "bindings", "experts", "contents", "erased", "versions", "version_states", "tags", "delegations",
	"log_leaves", "log_hashes", "log_heads", "log_keys", "cosignatures", "log_sealed", "idempotency", "audit", "listings", "reads", "reports", "transfers",
}

// CopyTo fills another database, which must be empty and can be of another kind, with the rows of this one:
// all of them or none.
func (db *DB) CopyTo(ctx context.Context, to *DB) error {
	return db.View(ctx, func(from *sql.Tx) error {
		return to.Update(ctx, func(into *sql.Tx) error {
			for _, table := range copied {
				var some int
				if err := into.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+table+" LIMIT 1) AS found").Scan(&some); err != nil {
					return err
				}
				if some > 0 {
					return errors.New("the database to be filled is not empty")
				}
			}
			for _, table := range copied {
				if err := copyTable(ctx, from, into, table); err != nil {
					return fmt.Errorf("table %s: %w", table, err)
				}
			}
			return nil
		})
	})
}

// columnsOf returns the columns of a table.
func columnsOf(ctx context.Context, tx *sql.Tx, table string) ([]string, error) {
	rows, err := tx.QueryContext(ctx, "SELECT * FROM "+table+" LIMIT 0")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	return columns, errors.Join(err, rows.Err())
}

// quoted writes names as SQL does.
func quoted(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	return strings.Join(all, ", ")
}

// copyTable copies the rows of a table. Numbers that a database makes itself are made again. The names of the
// columns are those of our own table: a copy that is restored can come from anybody.
func copyTable(ctx context.Context, from, into *sql.Tx, table string) error {
	columns, err := columnsOf(ctx, into, table)
	if err != nil {
		return err
	}
	theirs, err := columnsOf(ctx, from, table)
	if err != nil {
		return err
	}
	if !slices.Equal(slices.Sorted(slices.Values(columns)), slices.Sorted(slices.Values(theirs))) {
		return fmt.Errorf("the copy has the columns %q, and %q are expected", theirs, columns)
	}
	if table == "listings" {
		columns = slices.DeleteFunc(columns, func(name string) bool { return name == "number" })
	}
	rows, err := from.QueryContext(ctx, "SELECT "+quoted(columns)+" FROM "+table)
	if err != nil {
		return err
	}
	defer rows.Close()
	places := make([]string, len(columns))
	for i := range places {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	insert, err := into.PrepareContext(ctx, "INSERT INTO "+table+" ("+quoted(columns)+") VALUES ("+strings.Join(places, ", ")+")")
	if err != nil {
		return err
	}
	defer insert.Close()
	values := make([]any, len(columns))
	pointers := make([]any, len(columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(pointers...); err != nil {
			return err
		}
		if _, err := insert.ExecContext(ctx, values...); err != nil {
			return err
		}
	}
	return rows.Err()
}
