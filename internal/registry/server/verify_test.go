package server

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/server/database"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// sql does what an intruder with a shell of the database can do.
func (s *site) sql(query string, args ...any) {
	s.t.Helper()
	err := s.opts.Database.Update(s.t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(s.t.Context(), query, args...)
		return err
	})
	if err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
}

// disarm takes the triggers off that keep tables as they are.
func (s *site) disarm() {
	s.t.Helper()
	for table, triggers := range map[string]string{
		"versions": "versions_stay versions_remain", "contents": "contents_stay contents_remain", "log_leaves": "leaves_stay leaves_remain",
		"log_hashes": "hashes_stay hashes_remain", "log_heads": "heads_stay heads_remain",
	} {
		if strings.HasPrefix(s.address, "postgres:") {
			s.sql("ALTER TABLE " + table + " DISABLE TRIGGER ALL")
			continue
		}
		for trigger := range strings.FieldsSeq(triggers) {
			s.sql("DROP TRIGGER " + trigger)
		}
	}
}

// flip changes one bit of a value, and returns what changes it back.
func (s *site) flip(table, column, where string) (undo func()) {
	s.t.Helper()
	var value []byte
	err := s.opts.Database.View(s.t.Context(), func(tx *sql.Tx) error {
		return tx.QueryRowContext(s.t.Context(), "SELECT "+column+" FROM "+table+" WHERE "+where).Scan(&value)
	})
	if err != nil {
		s.t.Fatal(err)
	}
	set := "UPDATE " + table + " SET " + column + " = $1 WHERE " + where
	changed := slices.Clone(value)
	changed[len(changed)/2] ^= 1
	s.sql(set, changed)
	return func() { s.sql(set, value) }
}

func (s *site) problems() (all []string) {
	s.t.Helper()
	report, err := s.Verify(s.t.Context(), s.verifier)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range report.Problems {
		all = append(all, p.What)
	}
	slices.Sort(all)
	return all
}

// lively gives a registry something of everything.
func (s *site) lively() {
	s.t.Helper()
	acme, ana, ben := s.org("acme", Team), s.org("ana", Personal), s.org("ben", Personal)
	acme.Scopes, ana.Scopes = Scopes(), Scopes()
	for i := range 5 {
		s.mustPublish(acme, content("@acme/reader", fmt.Sprintf("1.%d.0", i)), fmt.Sprintf("t%d", i))
	}
	s.mustPublish(acme, content("@acme/helper", "1.0.0"))
	s.mustPublish(acme, content("@acme/lead", "1.0.0", "@acme/reader@t1", "@acme/helper"), "stable")
	if _, err := s.Publish(s.t.Context(), acme, signed(s.t, content("@acme/lead", "1.1.0")), PublishOptions{RepeatKey: "k"}); err != nil {
		s.t.Fatal(err)
	}
	s.mustPublish(ana, content("writer", "1.0.0"))
	if _, err := s.Publish(s.t.Context(), acme, api.Publish{Content: content("@acme/secret", "1.0.0"), Tags: []string{"mine"}, Visibility: api.Private}, PublishOptions{}); err != nil {
		s.t.Fatal(err)
	}
	for _, err := range []error{
		s.Unpublish(s.t.Context(), acme, "@acme/reader@1.3.0"),
		second(s.Update(s.t.Context(), acme, "@acme/reader@1.2.0", Update{Status: &api.SetStatus{Status: api.Disabled, Message: "bad"}})),
		second(s.Transfer(s.t.Context(), Operator(), "writer", ben.OrgName)),
		s.SetPolicy(s.t.Context(), acme, "", Policy{Signers: &[]string{"SHA256:" + strings.Repeat("a", 43)}}),
	} {
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

func testVerify(t *testing.T, s *site) {
	s.lively()
	report, err := s.Verify(t.Context(), s.verifier)
	if err != nil || len(report.Problems) != 0 || report.Versions != 10 || report.Contents != 9 || report.Leaves != s.checkpoint().Size {
		t.Fatalf("%+v %v", report, err)
	}
	s.disarm()
	lead := definition.Digest(content("@acme/lead", "1.0.0", "@acme/reader@t1", "@acme/helper"))
	log := " of " + origin
	for name, c := range map[string]struct {
		table, column, where string
		want                 []string
	}{
		"content":    {"contents", "bytes", "digest = '" + lead + "'", []string{"content " + lead}},
		"leaf":       {"log_leaves", "text", "number = 4", []string{"leaf 4" + log}},
		"leaf hash":  {"log_hashes", "hash", "number = 0", []string{"hash 2" + log, "leaf 0" + log, "checkpoint 1" + log}},
		"checkpoint": {"log_heads", "note", "size = 3", []string{"checkpoint 3" + log}},
	} {
		undo := s.flip(c.table, c.column, c.where)
		if got := s.problems(); !contains(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
		undo()
	}
	for _, c := range []struct {
		do, undo string
		want     []string
	}{
		{"UPDATE version_states SET status = 'available' WHERE status = 'disabled'", "UPDATE version_states SET status = 'disabled' WHERE message = 'bad'", []string{"version @acme/reader@1.2.0"}},
		{"UPDATE tags SET tag = 'moved' WHERE tag = 't1'", "UPDATE tags SET tag = 't1' WHERE tag = 'moved'", []string{"tag @acme/reader@moved", "tag @acme/reader@t1"}},
		{"UPDATE experts SET org_id = (SELECT id FROM organizations WHERE name = 'ana') WHERE name = 'writer'", "UPDATE experts SET org_id = (SELECT id FROM organizations WHERE name = 'ben') WHERE name = 'writer'", []string{"Expert writer"}},
		{"UPDATE organizations SET name = 'evil' WHERE name = 'ana'", "UPDATE organizations SET name = 'ana' WHERE name = 'evil'", []string{"organization evil"}},
		{"UPDATE delegations SET position = 5 - position", "UPDATE delegations SET position = 5 - position", []string{"version @acme/lead@1.0.0"}},
		{"UPDATE listings SET version_id = (SELECT id FROM versions WHERE digest = '" + lead + "') WHERE description = 'About @acme/lead'", "UPDATE listings SET version_id = (SELECT v.id FROM versions v JOIN experts e ON e.id = v.expert_id WHERE e.name = '@acme/lead' AND v.version = '1.1.0') WHERE description = 'About @acme/lead'", []string{"list entry of @acme/lead"}},
		// What else the log or the definitions can prove.
		{"UPDATE experts SET org_id = (SELECT id FROM organizations WHERE name = 'ben') WHERE name = '@acme/helper'", "UPDATE experts SET org_id = (SELECT id FROM organizations WHERE name = 'acme') WHERE name = '@acme/helper'", []string{"Expert @acme/helper"}},
		{"UPDATE versions SET org_id = (SELECT id FROM organizations WHERE name = 'ben') WHERE digest = '" + lead + "'", "UPDATE versions SET org_id = (SELECT id FROM organizations WHERE name = 'acme') WHERE digest = '" + lead + "'", []string{"version @acme/lead@1.0.0"}},
		{"UPDATE versions SET key_id = 'other' WHERE digest = '" + lead + "'", "UPDATE versions SET key_id = 'key' WHERE digest = '" + lead + "'", []string{"version @acme/lead@1.0.0"}},
		{"UPDATE versions SET created_at = created_at + 1 WHERE digest = '" + lead + "'", "UPDATE versions SET created_at = created_at - 1 WHERE digest = '" + lead + "'", []string{"version @acme/lead@1.0.0"}},
		{"UPDATE experts SET visibility = 'private' WHERE name = '@acme/helper'", "UPDATE experts SET visibility = 'public' WHERE name = '@acme/helper'", []string{"version @acme/helper@1.0.0"}},
		{"UPDATE experts SET visibility = 'public' WHERE name = '@acme/secret'", "UPDATE experts SET visibility = 'private' WHERE name = '@acme/secret'", []string{"version @acme/secret@1.0.0"}},
		{"UPDATE organizations SET signers = '' WHERE name = 'acme'", "UPDATE organizations SET signers = 'SHA256:" + strings.Repeat("a", 43) + "' WHERE name = 'acme'", []string{"organization acme"}},
		{"UPDATE organizations SET signers = 'SHA256:x' WHERE name = 'ben'", "UPDATE organizations SET signers = '' WHERE name = 'ben'", []string{"organization ben"}},
		{"UPDATE organizations SET type = 'serviceAdmin' WHERE name = 'ben'", "UPDATE organizations SET type = 'personal' WHERE name = 'ben'", []string{"organization ben"}},
		{"UPDATE version_states SET message = 'good' WHERE message = 'bad'", "UPDATE version_states SET message = 'bad' WHERE message = 'good'", []string{"version @acme/reader@1.2.0"}},
		{"UPDATE version_states SET description = 'x' WHERE description = 'About @acme/helper'", "UPDATE version_states SET description = 'About @acme/helper' WHERE description = 'x'", []string{"version @acme/helper@1.0.0"}},
		{"UPDATE versions SET signer = 'SHA256:x' WHERE signer = ''", "UPDATE versions SET signer = '' WHERE signer = 'SHA256:x'", []string{
			"version @acme/helper@1.0.0", "version @acme/lead@1.0.0", "version @acme/reader@1.0.0", "version @acme/reader@1.1.0", "version @acme/reader@1.2.0", "version @acme/reader@1.4.0", "version @acme/secret@1.0.0", "version writer@1.0.0",
		}},
		{"UPDATE tags SET leaf = leaf + 1 WHERE tag = 'stable'", "UPDATE tags SET leaf = leaf - 1 WHERE tag = 'stable'", []string{"tag @acme/lead@stable"}},
		{"UPDATE listings SET description = 'x' WHERE description = 'About writer'", "UPDATE listings SET description = 'About writer' WHERE description = 'x'", []string{"list entry of writer"}},
		{"UPDATE listings SET keywords = 'x' WHERE description = 'About writer'", "UPDATE listings SET keywords = '' WHERE description = 'About writer'", []string{"list entry of writer"}},
		{"UPDATE listings SET version_order = version_order || '9' WHERE description = 'About writer'", "UPDATE listings SET version_order = substr(version_order, 1, length(version_order) - 1) WHERE description = 'About writer'", []string{"list entry of writer"}},
		{"UPDATE listings SET text = text || 'x' WHERE description = 'About writer'", "UPDATE listings SET text = substr(text, 1, length(text) - 1) WHERE description = 'About writer'", []string{"list entry of writer"}},
	} {
		s.sql(c.do)
		if got := s.problems(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", c.do, got)
		}
		s.sql(c.undo)
	}
	if got := s.problems(); got != nil {
		t.Fatalf("after repair: %v", got)
	}
	// Rows that are missing cannot come back.
	s.sql("DELETE FROM contents WHERE digest = '" + lead + "'")
	s.sql("DELETE FROM log_hashes WHERE number = 1")
	s.sql("DELETE FROM log_leaves WHERE number = 2")
	want := []string{"content " + lead, "hash 1" + log, "leaf 2" + log, "organization ben"}
	if got := s.problems(); !contains(got, want) {
		t.Errorf("%v", got)
	}
}

func contains(all, some []string) bool {
	return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}

// A registry that was put back to the copy of yesterday cannot hide it from a client that knows today.
func testRollback(t *testing.T, s *site) {
	s.lively()
	ben, err := s.Organization(t.Context(), "ben")
	if err != nil {
		t.Fatal(err)
	}
	by := Actor{OrgID: ben.ID, OrgName: ben.Name, OrgType: ben.Type, Scopes: Scopes()}
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := s.opts.Database.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	yesterday := s.checkpoint()
	s.mustPublish(by, content("writer", "2.0.0"))
	today := s.checkpoint()
	copied := s.reopened(path)
	if diff := cmp.Diff(yesterday, copied.checkpoint()); diff != "" {
		t.Error(diff)
	}
	if got := copied.problems(); got != nil {
		t.Errorf("the copy is damaged: %v", got)
	}
	if err := tlog.CheckGrowth(nil, today, copied.checkpoint()); err == nil {
		t.Error("the client accepts the older log")
	}
	if _, err := copied.Resolve(t.Context(), Actor{}, api.Resolve{Keys: []string{"writer"}, From: today.Size}); !strings.HasPrefix(reason(err), "400 The log has") {
		t.Error(err)
	}
	// Another version in the place of the lost one is another history.
	copied.mustPublish(by, content("writer", "2.0.1"))
	now := copied.checkpoint()
	growth, err := copied.ProveGrowth(t.Context(), today.Size, now.Size)
	if err != nil {
		t.Fatal(err)
	}
	if err := tlog.CheckGrowth(growth, today, now); err == nil {
		t.Error("the client accepts another history")
	}
	if page, err := copied.Search(t.Context(), Actor{}, Search{Text: "writer"}); err != nil || len(page.Experts) != 1 {
		t.Errorf("%+v %v", page, err)
	}
}

// reopened opens another database as the same registry.
func (s *site) reopened(address string) *site {
	s.t.Helper()
	db, err := database.Open(s.t.Context(), address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := db.Close(); err != nil {
			s.t.Error(err)
		}
	})
	again := &site{t: s.t, address: address, verifier: s.verifier, time: s.time, ids: 1000 + s.ids}
	opts := s.opts
	opts.Database, opts.NewID = db, again.newID
	if again.Registry, err = New(opts); err != nil {
		s.t.Fatal(err)
	}
	return again
}
