package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// A private Expert exists for its organization only, and its name is nowhere in the log. Its members can prove
// everything all the same.
func testPrivate(t *testing.T, s *site) {
	acme, other := s.org("acme", Team), s.org("other", Team)
	limited := acme
	limited.Patterns = []string{"@acme/else"}
	private := func(text []byte, tags ...string) (api.Published, error) {
		return s.Publish(t.Context(), acme, api.Publish{Content: text, Tags: tags, Visibility: api.Private}, PublishOptions{})
	}
	s.mustPublish(acme, content("@acme/reader", "1.0.0"))
	done, err := private(content("@acme/secret", "1.0.0", "@acme/reader"), "stable")
	if err != nil {
		t.Fatal(err)
	}
	c, sealed := s.proved(done.Checkpoint, done.Expert.Entry)
	leaf, err := sealed.Open([]byte(done.Expert.Entry.Sealed))
	if err != nil || leaf.Name != "@acme/secret" || leaf.Digest != done.Expert.Digest || c.Size != 5 {
		t.Fatalf("%+v %v", leaf, err)
	}
	if _, err := s.Update(t.Context(), acme, "@acme/secret@1.0.0", Update{Status: &api.SetStatus{Status: api.Deprecated}}); err != nil {
		t.Error(err)
	}
	for _, l := range s.leavesFrom(3) {
		if l.Kind != tlog.Sealed || l.Name != "" {
			t.Errorf("%+v", l)
		}
	}
	changes, err := s.Changes(t.Context(), 0, 0)
	if err != nil || strings.Contains(strings.Join(changes.Leaves, ""), "secret") {
		t.Errorf("the log tells: %v %v", changes, err)
	}
	got, err := s.Resolve(t.Context(), acme, api.Resolve{Keys: []string{"@acme/secret@stable"}, Closure: true})
	if err != nil || len(got.Experts) != 2 || got.Experts[1].Entry.Sealed != "" || got.Tags["@acme/secret@stable"].Sealed == "" {
		t.Errorf("%+v %v", got, err)
	}
	for _, by := range []Actor{{}, other, limited} {
		for what, err := range map[string]error{
			"get":     second(s.Get(t.Context(), by, "@acme/secret@1.0.0")),
			"package": second(s.Package(t.Context(), by, "@acme/secret")),
			"index":   second(s.Index(t.Context(), by, "@acme/secret")),
			"lookup":  second(s.Lookup(t.Context(), by, "@acme/secret")),
			"reads":   second(s.Reads(t.Context(), by, "@acme/secret")),
			"report":  second(s.Report(t.Context(), by, api.Report{Key: "@acme/secret", Reason: "a"})),
		} {
			if reason(err) != "404 Expert not found" {
				t.Errorf("%s: %s", what, reason(err))
			}
		}
		if page, err := s.Search(t.Context(), by, Search{Text: "secret"}); err != nil || len(page.Experts) != 0 {
			t.Errorf("%+v %v", page, err)
		}
		if p, err := s.Package(t.Context(), by, "@acme/reader"); err != nil || p.Dependents != nil {
			t.Errorf("%+v %v", p, err)
		}
	}
	for what, err := range map[string]error{
		"tag":       s.SetTag(t.Context(), other, "@acme/secret", "a", "1.0.0"),
		"unpublish": s.Unpublish(t.Context(), other, "@acme/secret@1.0.0"),
	} {
		if reason(err) != "404 Expert not found" {
			t.Errorf("%s: %s", what, reason(err))
		}
	}
	if _, err := s.publish(acme, content("@acme/open", "1.0.0", "@acme/secret")); reason(err) != "400 A public Expert cannot delegate to @acme/secret, which is private" {
		t.Error(err)
	}
	if _, err := s.publish(other, content("@other/open", "1.0.0", "@acme/secret")); reason(err) != "400 Delegate expert not found: @acme/secret" {
		t.Error(err)
	}
	if got := s.problems(); got != nil {
		t.Error(got)
	}
	if strings.HasPrefix(s.address, "postgres:") {
		s.sql("ALTER TABLE log_sealed DISABLE TRIGGER ALL")
	} else {
		s.sql("DROP TRIGGER sealed_stay")
	}
	s.flip("log_sealed", "text", "number = 3")
	if got := s.problems(); !contains(got, []string{"leaf 3 of " + origin, "version @acme/secret@1.0.0"}) {
		t.Error(got)
	}
}

// How far delegation reaches is bounded when a version is published.
func testClosure(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	name := func(i int) string { return fmt.Sprintf("@acme/e%d", i) }
	s.mustPublish(acme, content(name(0), "1.0.0"))
	for i := 1; i < api.MaxDepth; i++ {
		s.mustPublish(acme, content(name(i), "1.0.0", name(i-1)))
	}
	if _, err := s.publish(acme, content(name(api.MaxDepth), "1.0.0", name(api.MaxDepth-1))); reason(err) != "400 Delegation is 17 deep; 16 is allowed" {
		t.Error(err)
	}
	// A new version of a delegate does not make a circle of what was published before.
	s.mustPublish(acme, content(name(0), "2.0.0", name(1)))
	got, err := s.Resolve(t.Context(), Actor{}, api.Resolve{Keys: []string{name(0)}, Closure: true})
	if err != nil || len(got.Experts) != 3 {
		t.Errorf("%d Experts: %v", len(got.Experts), err)
	}
	if _, err := s.Update(t.Context(), acme, name(0)+"@1.0.0", Update{Status: &api.SetStatus{Status: api.Disabled}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.publish(acme, content("@acme/new", "1.0.0", name(3))); reason(err) != "400 The Expert reaches @acme/e0@1.0.0 by delegation, which is disabled" {
		t.Error(err)
	}
}

// Refusals do not say which private Experts exist.
func testPrivateNames(t *testing.T, s *site) {
	ana, ben := s.org("ana", Personal), s.org("ben", Personal)
	if _, err := s.Publish(t.Context(), ana, api.Publish{Content: content("submarine", "1.0.0"), Visibility: api.Private}, PublishOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"submarine", "submarin", "sub-marine"} {
		want := "400 The name " + name + " is taken, or too similar to one that is"
		if _, err := s.publish(ben, content(name, "1.0.0")); reason(err) != want {
			t.Errorf("%s: %s", name, reason(err))
		}
	}
}
