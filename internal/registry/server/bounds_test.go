package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/registry/api"
)

// What one request can have the registry load is bounded, whatever was published.
func testLargeAnswers(t *testing.T, s *site) {
	if s.opts.MaxAnswer != 16<<20 {
		t.Error(s.opts.MaxAnswer)
	}
	acme := s.org("acme", Team)
	var keys []string
	for i := range 6 {
		name := fmt.Sprintf("@acme/part-%d", i)
		s.mustPublish(acme, content(name, "1.0.0"))
		keys = append(keys, name)
	}
	s.mustPublish(acme, content("@acme/lead", "1.0.0", keys...))
	s.opts.MaxAnswer = int64(4 * len(content("@acme/part-0", "1.0.0")))
	for name, asked := range map[string]api.Resolve{"closure": {Keys: []string{"@acme/lead"}, Closure: true}, "keys": {Keys: keys}} {
		_, err := s.Resolve(t.Context(), Actor{}, asked)
		if !strings.HasPrefix(reason(err), "413 The definitions have ") || !strings.Contains(reason(err), "; one answer has at most ") {
			t.Errorf("%s: %s", name, reason(err))
		}
	}
	if got, err := s.Resolve(t.Context(), Actor{}, api.Resolve{Keys: keys[:4]}); err != nil || len(got.Experts) != 4 {
		t.Errorf("%d: %v", len(got.Experts), err)
	}
	if _, _, err := s.List(t.Context(), Actor{}, List{Take: 100}); !strings.HasPrefix(reason(err), "413 ") {
		t.Error(reason(err))
	}
	if page, total, err := s.List(t.Context(), Actor{}, List{Take: 4, Sort: "name"}); err != nil || len(page) != 4 || total != 7 {
		t.Errorf("%d of %d: %v", len(page), total, err)
	}
}

// Lists of Experts and versions come from rows of their own: they work when no content can be read.
func testListsWithoutContents(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	s.mustPublish(acme, content("@acme/lead", "1.0.0"))
	s.mustPublish(acme, content("@acme/lead", "2.0.0"))
	s.disarm()
	s.sql("DELETE FROM contents")
	all, _, err := s.Versions(t.Context(), Actor{}, "@acme/lead")
	if err != nil || len(all) != 2 || all[1].Description != "About @acme/lead" || all[1].Content != nil {
		t.Errorf("%+v %v", all, err)
	}
	if p, err := s.Package(t.Context(), Actor{}, "@acme/lead"); err != nil || p.Description != "About @acme/lead" {
		t.Errorf("%+v %v", p, err)
	}
	if page, err := s.Search(t.Context(), Actor{}, Search{Text: "lead"}); err != nil || len(page.Experts) != 1 {
		t.Errorf("%+v %v", page, err)
	}
}

// The longest way counts: a short one to the same Expert does not hide it.
func testDeepDelegation(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	s.mustPublish(acme, content("@acme/e1", "1.0.0"))
	for i := 2; i <= api.MaxDepth; i++ {
		// Each delegates to the one before it, and to the first.
		delegates := []string{"@acme/e1", fmt.Sprintf("@acme/e%d", i-1)}
		if i == 2 {
			delegates = delegates[:1]
		}
		s.mustPublish(acme, content(fmt.Sprintf("@acme/e%d", i), "1.0.0", delegates...))
	}
	// The last one is reached in one step as well.
	_, err := s.publish(acme, content("@acme/lead", "1.0.0", "@acme/e1", "@acme/e16", "@acme/e15", "@acme/e8"))
	if reason(err) != "400 Delegation is 17 deep; 16 is allowed" {
		t.Error(reason(err))
	}
	s.mustPublish(acme, content("@acme/lead", "1.0.0", "@acme/e15", "@acme/e1"))
}

// More Experts than an answer can have are an error, never a part of them.
func testWideDelegation(t *testing.T, s *site) {
	if testing.Short() || strings.HasPrefix(s.address, "postgres:") {
		t.Skip("it publishes hundreds of Experts")
	}
	acme := s.org("acme", Team)
	var groups, all []string
	for g := range 3 {
		var names []string
		for i := range 86 {
			name := fmt.Sprintf("@acme/%s-%d-%d", strings.Repeat("n", 190), g, i)
			s.mustPublish(acme, content(name, "1.0.0"))
			names = append(names, name)
		}
		group := fmt.Sprintf("@acme/group-%d", g)
		s.mustPublish(acme, content(group, "1.0.0", names...))
		groups, all = append(groups, group), append(all, names...)
	}
	if _, err := s.publish(acme, content("@acme/lead", "1.0.0", groups...)); reason(err) != "400 The Expert reaches more than 254 others by delegation" {
		t.Error(reason(err))
	}
	if _, err := s.Resolve(t.Context(), Actor{}, api.Resolve{Keys: groups, Closure: true}); reason(err) != "413 The keys reach more than 255 Experts by delegation" {
		t.Error(reason(err))
	}
	// The log has a bound for what one leaf says.
	if _, err := s.publish(acme, content("@acme/wide", "1.0.0", all[:140]...)); reason(err) != "400 The names of the delegates have more than 61439 bytes in all" {
		t.Error(reason(err))
	}
	s.mustPublish(acme, content("@acme/wide", "1.0.0", all[:120]...))
}

// Texts that a database cannot keep are the fault of the client that sends them.
func testTextsThatCannotBeStored(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	acme.Scopes = Scopes()
	s.mustPublish(acme, content("@acme/lead", "1.0.0"))
	for _, text := range []string{"a\x00b", "a\xffb"} {
		for name, err := range map[string]error{
			"owner":           second(s.Search(t.Context(), Actor{}, Search{Owner: text})),
			"organization":    second(s.Organization(t.Context(), text)),
			"tag":             s.RemoveTag(t.Context(), acme, "@acme/lead", text, ""),
			"key":             s.RevokeKey(t.Context(), acme, text),
			"keys":            second(s.Keys(t.Context(), Operator(), text)),
			"binding":         s.RemoveBinding(t.Context(), acme, text),
			"report":          second(s.Report(t.Context(), acme, api.Report{Key: "@acme/lead", Reason: text})),
			"close":           s.CloseReport(t.Context(), Operator(), text, ""),
			"message":         second(s.Update(t.Context(), acme, "@acme/lead@1.0.0", Update{Status: &api.SetStatus{Status: api.Deprecated, Message: text}})),
			"idempotency key": second(s.Publish(t.Context(), acme, api.Publish{Content: content("@acme/lead", "2.0.0")}, PublishOptions{RepeatKey: text})),
			"signer":          s.SetPolicy(t.Context(), acme, "", Policy{Signers: &[]string{"SHA256:" + strings.Repeat("a", 40) + text}}),
		} {
			if !strings.HasPrefix(reason(err), "422 ") {
				t.Errorf("%q: %s: %s", text, name, reason(err))
			}
		}
	}
	for name, err := range map[string]error{
		"long idempotency key":        second(s.Publish(t.Context(), acme, api.Publish{Content: content("@acme/lead", "2.0.0")}, PublishOptions{RepeatKey: strings.Repeat("a", 256)})),
		"control character of signer": s.SetPolicy(t.Context(), acme, "", Policy{Signers: &[]string{"SHA256:" + strings.Repeat("a", 42) + "\t"}}),
	} {
		if !strings.HasPrefix(reason(err), "422 ") {
			t.Errorf("%s: %s", name, reason(err))
		}
	}
}
