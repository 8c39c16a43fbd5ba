// Package database keeps what a registry knows: in SQLite, which needs nothing but a file, or in
// PostgreSQL. Both have the same tables and understand the same statements.
//
// [Open] brings the tables up to date. [DB.Update] changes something, whole or not at all, one change
// after the other, and [DB.View] reads one state. The tables refuse to change what was published and what
// is in the log, whatever this program asks for. What the rows mean is for package server to say.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"
)

// A kind is a kind of database.
type kind string

const (
	sqlite     kind = "sqlite"
	postgreSQL kind = "postgres"
)

// A DB is an open database.
type DB struct {
	kind  kind
	read  *sql.DB
	write *sql.DB // SQLite: one connection, because it has one writer
}

// Open opens a database: postgres://…, or the path of a file, which is made if it does not exist. Tables
// of an older version are brought up to date, and those of a newer one are refused.
func Open(ctx context.Context, address string) (*DB, error) {
	db, err := connect(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := db.migrate(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// OpenCurrent is [Open] without bringing tables up to date: those of another version are a [*VersionError]. In a
// database without tables they are made.
func OpenCurrent(ctx context.Context, address string) (*DB, error) {
	db, err := connect(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := db.current(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// connect opens a database as it is.
func connect(ctx context.Context, address string) (*DB, error) {
	if strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://") {
		return openPostgres(address)
	}
	return openSQLite(ctx, address)
}

func openPostgres(address string) (*DB, error) {
	all, err := sql.Open("pgx", address)
	if err != nil {
		return nil, errors.New("the address of the database cannot be read; write postgres://user@host/name") // the error can have the password
	}
	all.SetMaxOpenConns(16)
	return &DB{kind: postgreSQL, read: all, write: all}, nil
}

// openSQLite opens a file. Every change is on the disk before it counts.
func openSQLite(ctx context.Context, path string) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("the database cannot be opened: %w", err)
	}
	pragmas := url.Values{"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)", "trusted_schema(OFF)", "secure_delete(ON)"}}
	open := func(more url.Values, connections int) (*sql.DB, error) {
		for key, values := range pragmas {
			more[key] = append(more[key], values...)
		}
		all, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: more.Encode()}).String())
		if err != nil {
			return nil, err
		}
		all.SetMaxOpenConns(connections)
		return all, all.PingContext(ctx)
	}
	write, err := open(url.Values{"_txlock": {"immediate"}}, 1)
	if err != nil {
		return nil, fmt.Errorf("the database %s cannot be opened: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil { // SQLite lets others read what it makes; there is no table yet
		return nil, errors.Join(fmt.Errorf("the database %s cannot be made private: %w", path, err), write.Close())
	}
	read, err := open(url.Values{}, 8)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the database %s cannot be opened: %w", path, err), write.Close())
	}
	return &DB{kind: sqlite, read: read, write: write}, nil
}

// Close closes the database.
func (db *DB) Close() error {
	if db.read == db.write {
		return db.write.Close()
	}
	return errors.Join(db.read.Close(), db.write.Close())
}

// oneWriter is the lock that a change of a PostgreSQL database holds.
const oneWriter = 0x7065727374616b // a number that no other program has

// Update changes something. If do fails, nothing is changed. Changes are made one after the other.
func (db *DB) Update(ctx context.Context, do func(*sql.Tx) error) error {
	return db.transaction(ctx, db.write, nil, func(tx *sql.Tx) error {
		if db.kind == postgreSQL {
			if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(oneWriter)); err != nil {
				return err
			}
		}
		return do(tx)
	})
}

// Forget removes from the files of an SQLite database what was deleted from its tables. Until then, the log of
// writes has a copy. Readers can delay it; the next one does it then.
func (db *DB) Forget(ctx context.Context) error {
	if db.kind != sqlite {
		return nil
	}
	_, err := db.write.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// View reads one state of the database.
func (db *DB) View(ctx context.Context, do func(*sql.Tx) error) error {
	opts := &sql.TxOptions{ReadOnly: true}
	if db.kind == postgreSQL {
		opts.Isolation = sql.LevelRepeatableRead
	}
	return db.transaction(ctx, db.read, opts, do)
}

func (db *DB) transaction(ctx context.Context, on *sql.DB, opts *sql.TxOptions, do func(*sql.Tx) error) error {
	tx, err := on.BeginTx(ctx, opts)
	if err != nil {
		return fmt.Errorf("the database cannot be used: %w", err)
	}
	if err := do(tx); err != nil {
		if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
			return errors.Join(err, undo)
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("the change could not be stored: %w", err)
	}
	return nil
}
