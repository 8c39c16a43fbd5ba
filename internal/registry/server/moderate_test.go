package server

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/registry/api"
)

func testQuarantine(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	acme.Scopes = Scopes()
	s.mustPublish(acme, content("@acme/reader", "1.0.0"))
	s.mustPublish(acme, content("@acme/reader", "1.1.0"), "stable")
	s.mustPublish(acme, content("@acme/lead", "1.0.0", "@acme/reader@1.1.0"))
	if err := s.Quarantine(t.Context(), acme, "@acme/reader@1.1.0", "malware"); reason(err) != "401 Failed to authenticate" {
		t.Error(err)
	}
	if err := s.Quarantine(t.Context(), Operator(), "@acme/reader@1.1.0", "malware"); err != nil {
		t.Fatal(err)
	}
	const withheld = "404 The version is withheld by an administrator"
	for key, want := range map[string]string{"@acme/reader@1.1.0": withheld, "@acme/reader@stable": withheld, "@acme/reader": "1.0.0"} {
		if got := s.meaning(key); got != want {
			t.Errorf("%s: %s", key, got)
		}
	}
	if _, err := s.Resolve(t.Context(), acme, api.Resolve{Keys: []string{"@acme/lead"}, Closure: true}); reason(err) != withheld+": @acme/reader@1.1.0" {
		t.Error(err)
	}
	all, _, err := s.Versions(t.Context(), Actor{}, "@acme/reader")
	if err != nil || len(all) != 2 || all[0].Status != api.Quarantined || all[0].Content != nil || all[0].StatusMessage != "malware" {
		t.Errorf("%+v %v", all, err)
	}
	_, err = s.Update(t.Context(), acme, "@acme/reader@1.1.0", Update{Status: &api.SetStatus{Status: api.Disabled}})
	for name, err := range map[string]error{"status": err, "unpublish": s.Unpublish(t.Context(), acme, "@acme/reader@1.1.0"), "tag": s.SetTag(t.Context(), acme, "@acme/reader", "a", "1.1.0")} {
		if err == nil {
			t.Errorf("%s: the owner changes a version in quarantine", name)
		}
	}
	if got := s.problems(); got != nil {
		t.Error(got)
	}
	if err := s.Release(t.Context(), Operator(), "@acme/reader@1.1.0"); err != nil {
		t.Error(err)
	}
	if err := s.Release(t.Context(), Operator(), "@acme/reader@1.1.0"); reason(err) != "400 The version is not in quarantine" {
		t.Error(err)
	}
	if got := s.meaning("@acme/reader"); got != "1.1.0" {
		t.Error(got)
	}
}

func testReports(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	s.mustPublish(acme, content("@acme/lead", "1.0.0"))
	id, err := s.Report(t.Context(), Actor{}, api.Report{Key: "@acme/lead@1.0.0", Reason: "It deletes files.", Contact: "ana@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	for want, asked := range map[string]api.Report{
		"404 Expert not found":        {Key: "@acme/none", Reason: "a"},
		"422 a report needs a reason": {Key: "@acme/lead"},
		"422 a report is text":        {Key: "@acme/lead", Reason: strings.Repeat("a", maxReport+1)},
	} {
		if _, err := s.Report(t.Context(), Actor{}, asked); !strings.HasPrefix(reason(err), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := s.Reports(t.Context(), acme); reason(err) != "401 Failed to authenticate" {
		t.Error(err)
	}
	all, err := s.Reports(t.Context(), Operator())
	if diff := cmp.Diff([]api.Report{{ID: id, Key: "@acme/lead@1.0.0", Reason: "It deletes files.", Contact: "ana@example.com", At: s.time}}, all); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	if err := s.CloseReport(t.Context(), Operator(), id, "quarantined"); err != nil {
		t.Error(err)
	}
	if err := s.CloseReport(t.Context(), Operator(), id, "again"); reason(err) != "404 Report not found" {
		t.Error(err)
	}
	if all, err := s.Reports(t.Context(), Operator()); err != nil || len(all) != 0 {
		t.Errorf("%v %v", all, err)
	}
}

func testAuditTrail(t *testing.T, s *site) {
	acme, other := s.org("acme", Team), s.org("other", Team)
	acme.Scopes, acme.Address, acme.RequestID = Scopes(), "192.0.2.7", "r1"
	s.time = s.time.Add(time.Second)
	s.mustPublish(acme, content("@acme/lead", "1.0.0"), "stable")
	s.time = s.time.Add(time.Second)
	s.mustPublish(other, content("@other/lead", "1.0.0"))
	read := func(by Actor, since time.Time) (all []string, err error) {
		err = s.AuditTrail(t.Context(), by, since, func(e api.AuditEntry) error {
			all = append(all, strings.Join([]string{e.Organization, e.Address, e.RequestID, e.Action, e.Object}, " "))
			if e.Outcome != "done" || e.Leaf == nil {
				t.Errorf("%+v", e)
			}
			return nil
		})
		return all, err
	}
	mine := []string{acme.OrgID + " 192.0.2.7 r1 publish @acme/lead@1.0.0", acme.OrgID + " 192.0.2.7 r1 tag @acme/lead@stable"}
	if got, err := read(acme, time.Time{}); err != nil || cmp.Diff(mine, got) != "" {
		t.Errorf("%v %v", got, err)
	}
	if got, err := read(Operator(), time.Time{}); err != nil || len(got) != 5 {
		t.Errorf("%v %v", got, err)
	}
	if got, err := read(Operator(), s.time); err != nil || len(got) != 1 {
		t.Errorf("%v %v", got, err)
	}
	for _, by := range []Actor{{}, other} {
		if _, err := read(by, time.Time{}); reason(err) != "401 Failed to authenticate" {
			t.Error(err)
		}
	}
}

func testReads(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	s.mustPublish(acme, content("@acme/lead", "1.0.0"))
	read := func(address string) {
		t.Helper()
		if err := s.CountRead("@acme/lead", "1.0.0", netip.MustParseAddr(address)); err != nil {
			t.Error(err)
		}
	}
	store := func() {
		t.Helper()
		if err := s.StoreReads(t.Context()); err != nil {
			t.Error(err)
		}
	}
	read("192.0.2.1")
	read("192.0.2.2") // the same network
	read("::ffff:192.0.2.3")
	read("198.51.100.1")
	store()
	read("198.51.100.2")
	read("2001:db8:1:2::1")
	read("2001:db8:1:3::1")
	store()
	store()
	s.time = s.time.Add(24 * time.Hour)
	read("192.0.2.1")
	store()
	got, err := s.Reads(t.Context(), Actor{}, "@acme/lead")
	if diff := cmp.Diff([]api.DayReads{{Day: "2026-01-02", Reads: 3}, {Day: "2026-01-03", Reads: 1}}, got); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	page, err := s.Search(t.Context(), Actor{}, Search{})
	if err != nil || len(page.Experts) != 1 || page.Experts[0].Reads != 4 {
		t.Errorf("%+v %v", page, err)
	}
	if _, err := s.Reads(t.Context(), Actor{}, "@acme/none"); reason(err) != "404 Expert not found" {
		t.Error(err)
	}
}

func testBindings(t *testing.T, s *site) {
	acme, other := s.org("acme", Team), s.org("other", Team)
	acme.Scopes, other.Scopes = Scopes(), Scopes()
	asked := api.Binding{Issuer: "https://ci.example.com", Repository: "42", Workflow: "release", Pattern: "@acme/lead"}
	made, err := s.CreateBinding(t.Context(), acme, asked)
	if err != nil || made.ID == "" || made.Organization != "acme" {
		t.Fatalf("%+v %v", made, err)
	}
	for name, c := range map[string]struct {
		by     Actor
		change func(*api.Binding)
		want   string
	}{
		"issuer":     {acme, func(b *api.Binding) { b.Issuer = "http://ci.example.com" }, "422 "},
		"repository": {acme, func(b *api.Binding) { b.Repository = "" }, "422 "},
		"pattern":    {acme, func(b *api.Binding) { b.Pattern = "lead" }, "400 Expert name must be scoped"},
		"all names":  {acme, func(b *api.Binding) { b.Pattern = "*" }, "422 the pattern * has every name"},
		"scope":      {acme, func(b *api.Binding) { b.Pattern = "@other/*" }, "400 Expert name must be scoped with @acme"},
		"line":       {acme, func(b *api.Binding) { b.Workflow = "a\nb" }, "422 "},
		"foreign":    {other, func(b *api.Binding) { b.Organization = "acme" }, "401 "},
	} {
		b := asked
		c.change(&b)
		if _, err := s.CreateBinding(t.Context(), c.by, b); !strings.HasPrefix(reason(err), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	build := Build{Issuer: asked.Issuer, Repository: "42", Workflow: "release", Environment: "any"}
	for name, b := range map[string]Build{
		"repository": {asked.Issuer, "43", "release", ""}, "workflow": {asked.Issuer, "42", "test", ""}, "issuer": {"https://evil.example.com", "42", "release", ""},
	} {
		if _, err := s.TrustedKey(t.Context(), b, "acme", "", ""); reason(err) != "401 Failed to authenticate" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.TrustedKey(t.Context(), build, "acme", "@acme/other", ""); reason(err) != "401 Failed to authenticate" {
		t.Error(err)
	}
	key, err := s.TrustedKey(t.Context(), build, "acme", "@acme/lead", "192.0.2.7")
	if err != nil || !strings.HasPrefix(key.Token, "psk_ci_") {
		t.Fatalf("%+v %v", key, err)
	}
	by, err := s.Authenticate(t.Context(), key.Token, somewhere)
	if err != nil {
		t.Fatal(err)
	}
	done := s.mustPublish(by, content("@acme/lead", "1.0.0")) // the first publication too
	if _, leaf := s.proved(done.Checkpoint, done.Expert.Entry); leaf.Actor != "org:"+acme.OrgID+" cred:oidc:"+key.Key.ID {
		t.Error(leaf.Actor)
	}
	if _, err := s.publish(by, content("@acme/other", "1.0.0")); reason(err) != "401 Failed to authenticate" {
		t.Error(err)
	}
	s.time = s.time.Add(trustedLifetime)
	if _, err := s.Authenticate(t.Context(), key.Token, somewhere); reason(err) != "401 Failed to authenticate" {
		t.Error(err)
	}
	if err := s.RemoveBinding(t.Context(), other, made.ID); reason(err) != "404 Binding not found" {
		t.Error(err)
	}
	if all, err := s.Bindings(t.Context(), acme, ""); err != nil || cmp.Diff([]api.Binding{made}, all) != "" {
		t.Errorf("%v %v", all, err)
	}
	if err := s.RemoveBinding(t.Context(), acme, made.ID); err != nil {
		t.Error(err)
	}
	if _, err := s.TrustedKey(t.Context(), build, "acme", "", ""); reason(err) != "401 Failed to authenticate" {
		t.Error(err)
	}
}

// A binding counts for the organization that the build names, whichever of several organizations made theirs
// first.
func testBindingsOfOthers(t *testing.T, s *site) {
	evil, acme := s.org("evil", Team), s.org("acme", Team)
	for _, by := range []*Actor{&evil, &acme} {
		by.Scopes = Scopes()
		if _, err := s.CreateBinding(t.Context(), *by, api.Binding{Issuer: "https://ci.example.com", Repository: "42", Pattern: "@" + by.OrgName + "/*"}); err != nil {
			t.Fatal(err)
		}
		s.time = s.time.Add(time.Second)
	}
	build := Build{Issuer: "https://ci.example.com", Repository: "42"}
	for _, org := range []Actor{evil, acme} {
		for _, name := range []string{"", "@" + org.OrgName + "/lead"} {
			key, err := s.TrustedKey(t.Context(), build, org.OrgName, name, "")
			if err != nil {
				t.Fatal(err)
			}
			by, err := s.Authenticate(t.Context(), key.Token, somewhere)
			if err != nil || by.OrgID != org.OrgID {
				t.Errorf("%s: the key is of %s: %v", org.OrgName, by.OrgName, err)
			}
		}
	}
	for org, want := range map[string]string{"": "422 The organization to publish for is missing", "none": "401 Failed to authenticate"} {
		if _, err := s.TrustedKey(t.Context(), build, org, "", ""); reason(err) != want {
			t.Errorf("%q: %v", org, err)
		}
	}
	if _, err := s.TrustedKey(t.Context(), build, "acme", "@evil/lead", ""); reason(err) != "401 Failed to authenticate" {
		t.Error(err)
	}
}
