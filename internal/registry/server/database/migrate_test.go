package database

import (
	"database/sql"
	"fmt"
	"testing"
)

// A database of every older version is brought up to date, and keeps its rows.
func testMigrations(t *testing.T, address func(*testing.T) string) {
	for version := 1; version <= newest(); version++ {
		t.Run(fmt.Sprintf("from version %d", version), func(t *testing.T) {
			at := address(t)
			old, err := connect(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			if err := exec(t.Context(), old, "CREATE TABLE migrations (number INTEGER PRIMARY KEY)"); err != nil {
				t.Fatal(err)
			}
			for number := 1; number <= version; number++ {
				err := old.Update(t.Context(), func(tx *sql.Tx) error { return old.step(t.Context(), tx, number) })
				if err != nil {
					t.Fatal(err)
				}
			}
			fill(t, old)
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
			db := open(t, at)
			if n := count(t, db, "*) FROM migrations"); n != newest() {
				t.Errorf("%d migrations", n)
			}
			for _, table := range []string{"organizations", "api_keys", "experts", "versions", "version_states", "tags", "log_leaves", "audit"} {
				if n := count(t, db, "*) FROM "+table); n != 1 {
					t.Errorf("%s has %d rows", table, n)
				}
			}
			if n := count(t, db, "*) FROM api_keys WHERE kind = 'key'"); n != 1 {
				t.Error("the key has no kind")
			}
			refusesChanges(t, db)
		})
	}
}
