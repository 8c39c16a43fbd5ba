package database

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed migrations/*.sql
var migrations embed.FS

// newest returns the number of the newest migration. Their files are numbered from 1 on.
func newest() int {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is sound
	}
	return len(names)
}

// migrate brings the tables up to date, each step whole or not at all.
func (db *DB) migrate(ctx context.Context) error {
	err := db.Update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)")
		return err
	})
	if err != nil {
		return fmt.Errorf("the database cannot be used: %w", err)
	}
	for more := true; more; {
		err := db.Update(ctx, func(tx *sql.Tx) error {
			var done int
			if err := tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(number), 0) FROM migrations").Scan(&done); err != nil {
				return err
			}
			if more = done < newest(); !more {
				if done > newest() {
					return fmt.Errorf("it was made by a newer version of this program, which has %d migrations; this one has %d", done, newest())
				}
				return nil
			}
			return db.step(ctx, tx, done+1)
		})
		if err != nil {
			return fmt.Errorf("the database cannot be brought up to date: %w", err)
		}
	}
	return nil
}

// step carries out one migration.
func (db *DB) step(ctx context.Context, tx *sql.Tx, number int) error {
	text, err := migrations.ReadFile(fmt.Sprintf("migrations/%04d.sql", number))
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, db.dialect(string(text))); err != nil {
		return fmt.Errorf("migration %d: %w", number, err)
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO migrations (number) VALUES ($1)", number)
	return err
}

// dialect writes a migration for this kind of database. A section that begins with "-- only" and the name of
// a kind is for that one, and ends with the next.
func (db *DB) dialect(text string) string {
	words := strings.NewReplacer("{blob}", "BLOB", "{int}", "INTEGER", "{strict}", " STRICT")
	if db.kind == postgres {
		words = strings.NewReplacer("{blob}", "BYTEA", "{int}", "BIGINT", "{strict}", "")
	}
	sections := strings.Split(text, "-- only ")
	out := sections[0]
	for _, section := range sections[1:] {
		if of, body, _ := strings.Cut(section, "\n"); kind(strings.TrimSpace(of)) == db.kind {
			out += body
		}
	}
	return words.Replace(out)
}
