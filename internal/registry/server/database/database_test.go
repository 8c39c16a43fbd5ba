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

	"github.com/perstack-go/perstack/internal/testkit/postgres"
)

// The suite is what every kind of database does.
var suite = []struct {
	name string
	run  func(*testing.T, string)
}{
	{"tables refuse changes", testTablesRefuseChanges},
	{"update", testUpdate},
	{"newer database", testNewerDatabase},
	{"backup", testBackup},
	{"hostile backup", testHostileBackup},
	{"migrated descriptions", testMigratedDescriptions},
}

func TestSQLite(t *testing.T) {
	for _, c := range suite {
		t.Run(c.name, func(t *testing.T) { c.run(t, filepath.Join(t.TempDir(), "registry.db")) })
	}
	testMigrations(t, func(t *testing.T) string { return filepath.Join(t.TempDir(), "registry.db") })
}

func TestPostgreSQL(t *testing.T) {
	server := postgres.Start(t)
	for _, c := range suite {
		t.Run(c.name, func(t *testing.T) { c.run(t, server.Database(t)) })
	}
	testMigrations(t, func(t *testing.T) string { return server.Database(t) })
}

// open opens a database until the test ends.
func open(t *testing.T, address string) *DB {
	t.Helper()
	db, err := Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func exec(ctx context.Context, db *DB, query string, args ...any) error {
	return db.Update(ctx, func(tx *sql.Tx) error { _, err := tx.ExecContext(ctx, query, args...); return err })
}

func count(t *testing.T, db *DB, of string) (n int) {
	t.Helper()
	err := db.View(t.Context(), func(tx *sql.Tx) error {
		return tx.QueryRowContext(t.Context(), "SELECT COUNT("+of).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// rows are some of every table of the first migration. $1 is bytes.
var rows = []string{
	"INSERT INTO organizations (id, name, type, visibility, created_at) VALUES ('o', 'acme', 'team', 'public', 1)",
	"INSERT INTO api_keys (id, org_id, name, hash, scopes, patterns, networks, created_at, expires_at, used_at, revoked_at) VALUES ('k', 'o', 'key', $1, '', '', '', 1, 2, 0, 0)",
	"INSERT INTO experts (id, name, org_id, visibility, created_at, updated_at) VALUES ('e', 'a', 'o', 'public', 1, 1)",
	"INSERT INTO contents (digest, bytes) VALUES ('sha256:a', $1)",
	"INSERT INTO contents (digest, bytes) VALUES ('sha256:b', $1)",
	"INSERT INTO versions (id, expert_id, version, digest, org_id, key_id, signature, signer, created_at, log, leaf) VALUES ('v', 'e', '1.0.0', 'sha256:a', 'o', 'k', '', '', 1, 'log', 0)",
	"INSERT INTO version_states (version_id, status, message, replaced_by, advisories, updated_at) VALUES ('v', 'available', '', '', '', 1)",
	"INSERT INTO tags (expert_id, tag, version_id, leaf) VALUES ('e', 'stable', 'v', 1)",
	"INSERT INTO delegations (version_id, position, key, delegate_id) VALUES ('v', 0, 'a', 'v')",
	"INSERT INTO log_leaves (log, number, text) VALUES ('log', 0, $1)",
	"INSERT INTO log_hashes (log, number, hash) VALUES ('log', 0, $1)",
	"INSERT INTO log_heads (log, size, note) VALUES ('log', 1, $1)",
	"INSERT INTO idempotency (org_id, key, version_id, at) VALUES ('o', 'k', 'v', 1)",
	"INSERT INTO audit (at, org_id, key_id, address, action, object, outcome, request_id) VALUES (1, 'o', 'k', '', 'publish', 'a', 'done', '')",
	"INSERT INTO erased (digest, at) VALUES ('sha256:b', 1)",
}

func fill(t *testing.T, db *DB) {
	t.Helper()
	for _, query := range rows {
		var args []any
		if strings.Contains(query, "$1") {
			args = append(args, []byte{0, 255})
		}
		if err := exec(t.Context(), db, query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
}

// What was published never changes, whatever a program asks for.
func testTablesRefuseChanges(t *testing.T, address string) {
	db := open(t, address)
	fill(t, db)
	refusesChanges(t, db)
}

func refusesChanges(t *testing.T, db *DB) {
	t.Helper()
	if err := exec(t.Context(), db, "INSERT INTO log_sealed (log, number, text) VALUES ('log', 0, $1) ON CONFLICT DO NOTHING", []byte{0}); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"UPDATE versions SET digest = 'x'", "DELETE FROM versions",
		"UPDATE contents SET digest = 'x'", "DELETE FROM contents WHERE digest = 'sha256:a'",
		"UPDATE log_leaves SET number = 7", "DELETE FROM log_leaves",
		"UPDATE log_hashes SET number = 7", "DELETE FROM log_hashes",
		"UPDATE log_heads SET size = 7", "DELETE FROM log_heads",
		"UPDATE log_sealed SET number = 7", "DELETE FROM log_sealed",
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
	if db.kind == postgreSQL {
		for _, table := range []string{"versions", "contents", "log_leaves", "log_hashes", "log_heads", "audit", "erased"} {
			if err := exec(t.Context(), db, "TRUNCATE "+table+" CASCADE"); err == nil {
				t.Errorf("%s was emptied", table)
			}
		}
	}
	if err := exec(t.Context(), db, "DELETE FROM contents WHERE digest = 'sha256:b'"); err != nil {
		t.Errorf("a content that is to be erased stays: %v", err)
	}
}

// A change that fails changes nothing, and changes come one after the other.
func testUpdate(t *testing.T, address string) {
	db := open(t, address)
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
	if n := count(t, db, "*) FROM erased"); n != 0 {
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
	if distinct := count(t, db, "DISTINCT at) FROM erased"); distinct != 16 {
		t.Errorf("%d changes saw the ones before them", distinct)
	}
	if info, err := os.Stat(address); db.kind == sqlite && (err != nil || info.Mode().Perm() != 0o600) {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if n := count(t, open(t, address), "*) FROM erased"); n != 16 {
		t.Errorf("%d rows", n)
	}
}

func testNewerDatabase(t *testing.T, address string) {
	db := open(t, address)
	if err := exec(t.Context(), db, "INSERT INTO migrations VALUES ($1)", newest()+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), address); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Error(err)
	}
}

func testBackup(t *testing.T, address string) {
	db := open(t, address)
	fill(t, db)
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := db.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if err := db.Backup(t.Context(), path); err == nil {
		t.Error("a file was overwritten")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if all, err := os.ReadDir(filepath.Dir(path)); err != nil || len(all) != 1 {
		t.Errorf("left behind: %v %v", all, err)
	}
	again := open(t, path)
	for _, table := range copied {
		if had, has := count(t, db, "*) FROM "+table), count(t, again, "*) FROM "+table); had != has {
			t.Errorf("%s has %d rows, and the copy %d", table, had, has)
		}
	}
	refusesChanges(t, again)
	if err := again.CopyTo(t.Context(), db); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Error(err)
	}
	// Every table is copied.
	err := again.View(t.Context(), func(tx *sql.Tx) error {
		all, err := tx.QueryContext(t.Context(), "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'listings_%' AND name NOT LIKE 'sqlite_%' AND name <> 'migrations'")
		if err != nil {
			return err
		}
		defer all.Close()
		for all.Next() {
			var name string
			if err := all.Scan(&name); err != nil {
				return err
			}
			if !strings.Contains(" "+strings.Join(copied, " ")+" ", " "+name+" ") {
				t.Errorf("the table %s is not copied", name)
			}
		}
		return all.Err()
	})
	if err != nil {
		t.Error(err)
	}
}

// A copy can come from anybody: the names of its columns never become SQL, and those that are not ours are
// refused.
func testHostileBackup(t *testing.T, address string) {
	to := open(t, address)
	for name, damage := range map[string]string{
		"added":   `ALTER TABLE organizations ADD COLUMN "created_at) VALUES ('o', 'evil', 'serviceAdmin', 'public', 1); --" TEXT`,
		"renamed": `ALTER TABLE organizations RENAME COLUMN any_names TO "id"" --"`,
		"missing": `ALTER TABLE organizations DROP COLUMN any_names`,
	} {
		from := open(t, filepath.Join(t.TempDir(), "copy.db"))
		fill(t, from)
		if err := exec(t.Context(), from, damage); err != nil {
			t.Fatal(err)
		}
		if err := from.CopyTo(t.Context(), to); err == nil || !strings.Contains(err.Error(), "table organizations: the copy has the columns") {
			t.Errorf("%s: %v", name, err)
		}
		if n := count(t, to, "*) FROM organizations"); n != 0 {
			t.Errorf("%s: %d organizations", name, n)
		}
	}
}
