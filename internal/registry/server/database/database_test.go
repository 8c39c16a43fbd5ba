package database

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// open returns an empty SQLite database.
func open(t *testing.T) (*DB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "registry.db")
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db, path
}

func exec(ctx context.Context, db *DB, query string, args ...any) error {
	return db.Update(ctx, func(tx *sql.Tx) error { _, err := tx.ExecContext(ctx, query, args...); return err })
}

// What was published never changes, whatever a program asks for.
func TestTablesRefuseChanges(t *testing.T) {
	db, _ := open(t)
	for _, query := range []string{
		"INSERT INTO organizations (id, name, type, visibility, created_at) VALUES ('o', 'acme', 'team', 'public', 1)",
		"INSERT INTO experts VALUES ('e', 'a', 'o', 'public', 1, 1)",
		"INSERT INTO contents VALUES ('sha256:a', x'00')",
		"INSERT INTO contents VALUES ('sha256:b', x'00')",
		"INSERT INTO versions VALUES ('v', 'e', '1.0.0', 'sha256:a', 'o', 'k', '', '', 1, 'log', 0)",
		"INSERT INTO log_leaves VALUES ('log', 0, x'00')",
		"INSERT INTO log_hashes VALUES ('log', 0, x'00')",
		"INSERT INTO log_heads VALUES ('log', 1, x'00')",
		"INSERT INTO audit (at, org_id, key_id, address, action, object, outcome, request_id) VALUES (1, 'o', 'k', '', 'publish', 'a', 'done', '')",
		"INSERT INTO erased VALUES ('sha256:b', 1)",
	} {
		if err := exec(t.Context(), db, query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	for _, query := range []string{
		"UPDATE versions SET digest = 'x'", "DELETE FROM versions",
		"UPDATE contents SET bytes = x'01'", "DELETE FROM contents WHERE digest = 'sha256:a'",
		"UPDATE log_leaves SET text = x'01'", "DELETE FROM log_leaves",
		"UPDATE log_hashes SET hash = x'01'", "DELETE FROM log_hashes",
		"UPDATE log_heads SET note = x'01'", "DELETE FROM log_heads",
		"UPDATE audit SET action = 'x'", "DELETE FROM audit",
		"UPDATE erased SET at = 2", "DELETE FROM erased",
		"INSERT INTO versions VALUES ('w', 'e', '1.0.0', 'sha256:b', 'o', 'k', '', '', 1, 'log', 1)",
		"INSERT INTO versions VALUES ('w', 'none', '1.0.0', 'sha256:b', 'o', 'k', '', '', 1, 'log', 1)",
		"INSERT INTO experts VALUES ('f', 'a', 'o', 'public', 1, 1)",
		"INSERT INTO experts VALUES ('f', 'b', 'o', 'public', 'no number', 1)",
	} {
		if err := exec(t.Context(), db, query); err == nil {
			t.Errorf("%s was carried out", query)
		}
	}
	if err := exec(t.Context(), db, "DELETE FROM contents WHERE digest = 'sha256:b'"); err != nil {
		t.Errorf("a content that is to be erased stays: %v", err)
	}
}

// A change that fails changes nothing, and changes come one after the other.
func TestUpdate(t *testing.T) {
	db, path := open(t)
	failed := errors.New("failed")
	err := db.Update(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO erased VALUES ('a', 1)"); err != nil {
			return err
		}
		return failed
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	count := func() (n int) {
		err := db.View(t.Context(), func(tx *sql.Tx) error {
			return tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM erased").Scan(&n)
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(); n != 0 {
		t.Errorf("%d rows", n)
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			err := db.Update(t.Context(), func(tx *sql.Tx) error {
				var n int
				if err := tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM erased").Scan(&n); err != nil {
					return err
				}
				_, err := tx.ExecContext(t.Context(), "INSERT INTO erased VALUES ($1, $2)", string(rune('a'+i)), n)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var distinct int
	err = db.View(t.Context(), func(tx *sql.Tx) error {
		return tx.QueryRowContext(t.Context(), "SELECT COUNT(DISTINCT at) FROM erased").Scan(&distinct)
	})
	if err != nil || distinct != 16 {
		t.Errorf("%d changes saw the ones before them: %v", distinct, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	again, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestNewerDatabase(t *testing.T) {
	db, path := open(t)
	if err := exec(t.Context(), db, "INSERT INTO migrations VALUES ($1)", newest()+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Error(err)
	}
}

func TestBackup(t *testing.T) {
	db, path := open(t)
	if err := exec(t.Context(), db, "INSERT INTO erased VALUES ('a', 1)"); err != nil {
		t.Fatal(err)
	}
	copied := path + ".copy"
	if err := db.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	if err := db.Backup(t.Context(), copied); err == nil {
		t.Error("a file was overwritten")
	}
	if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".backup-*")); err != nil || left != nil {
		t.Errorf("left behind: %v %v", left, err)
	}
	again, err := Open(t.Context(), copied)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := exec(t.Context(), again, "INSERT INTO erased VALUES ('a', 1)"); err == nil {
		t.Error("the copy does not have the row")
	}
}
