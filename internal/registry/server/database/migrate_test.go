package database

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
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
			current, err := OpenCurrent(t.Context(), at)
			if version < newest() {
				if refused, ok := errors.AsType[*VersionError](err); !ok || refused.Have != version || refused.Want != newest() {
					t.Errorf("opened as it is: %v", err)
				}
			} else if err != nil {
				t.Error(err)
			} else if err := current.Close(); err != nil {
				t.Error(err)
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
			if n := count(t, db, "*) FROM version_states WHERE description = ''"); n != 1 { // of a content that is damaged
				t.Error("a version has a description")
			}
			refusesChanges(t, db)
		})
	}
}

// Descriptions come from the definitions that an older version stored.
func testMigratedDescriptions(t *testing.T, address string) {
	old, err := connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	if err := exec(t.Context(), old, "CREATE TABLE migrations (number INTEGER PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	const before = 4
	for number := 1; number <= before; number++ {
		if err := old.Update(t.Context(), func(tx *sql.Tx) error { return old.step(t.Context(), tx, number) }); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, old)
	for _, query := range []string{
		"INSERT INTO contents (digest, bytes) VALUES ('sha256:c', $1)",
		"INSERT INTO versions (id, expert_id, version, digest, org_id, key_id, signature, signer, created_at, log, leaf) VALUES ('w', 'e', '1.0.1', 'sha256:c', 'o', 'k', '', '', 1, 'log', 0)",
		"INSERT INTO version_states (version_id, status, message, replaced_by, advisories, updated_at) VALUES ('w', 'available', '', '', '', 1)",
	} {
		var args []any
		if strings.Contains(query, "$1") {
			args = append(args, []byte(`{"description":"Says \u00e9 and \"yes\"","name":"a"}`))
		}
		if err := exec(t.Context(), old, query, args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	db := open(t, address)
	if n := count(t, db, "*) FROM version_states WHERE version_id = 'w' AND description = 'Says é and \"yes\"'"); n != 1 {
		t.Error("the description is missing")
	}
}
