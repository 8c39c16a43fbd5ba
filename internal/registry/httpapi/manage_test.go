package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
)

const researcher = experts1 + "/%40acme%2Fresearcher%40"

func (s *site) update(key, path string, body any) answer {
	s.t.Helper()
	return s.send(request{http.MethodPost, path, key, body, nil})
}

// S3: every success has a JSON object, that of a deletion too.
func testDelete(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	s.mustCreate(key, payload("@acme/reader", "1.0.0", nil))
	s.mustCreate(key, payload("@acme/researcher", "1.0.0", object{"delegates": []string{"@acme/reader"}}))
	s.mustCreate(key, payload("@acme/researcher", "1.1.0", nil))
	other := s.Key("other", "team")
	remove := func(key, path string) answer {
		t.Helper()
		return s.send(request{method: http.MethodDelete, path: experts1 + path, key: key})
	}
	remove("", "/%40acme%2Fresearcher%401.1.0").want("401 Unauthorized: Failed to authenticate")
	remove(s.Key("acme", "team", "publish"), "/%40acme%2Fresearcher%401.1.0").want("401 Unauthorized: Failed to authenticate")
	remove(other, "/%40acme%2Fresearcher%401.1.0").want("400 Bad Request: Expert is not owned by the organization")
	remove(key, "/%40acme%2Fresearcher").want("422 Validation Failed: version required")
	remove(key, "/%40acme%2Freader%401.0.0").want("400 Bad Request: Expert is delegated to other experts")
	remove(key, "/%40acme%2Fmissing%401.0.0").want("404 Not Found: Expert not found")
	done := remove(key, "/%40acme%2Fresearcher%401.1.0")
	if done.status != http.StatusOK || done.text != "{}\n" || done.header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %q %v", done.status, done.text, done.header)
	}
	remove(key, "/@acme/researcher@1.1.0/").want("404 Not Found: Expert not found")
	s.create(key, payload("@acme/researcher", "1.1.0", nil)).want("400 Bad Request: Version 1.1.0 is already published")
	var got object
	s.get(experts1 + "/%40acme%2Fresearcher").read(&got)
	if at(got, "data", "expert", "key") != "@acme/researcher@1.0.0" {
		t.Error(got)
	}
	s.Pass(73 * time.Hour)
	remove(key, "/%40acme%2Fresearcher%401.0.0").want("400 Bad Request: A version can be unpublished for 72 hours after it was published")
}

// S5: tags are the full set of custom tags, and latest looks after itself.
func testTags(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	s.mustCreate(key, payload("@acme/researcher", "1.0.0", nil))
	s.mustCreate(key, payload("@acme/researcher", "1.1.0", nil))
	tags := func(version string, wanted ...string) any {
		t.Helper()
		var got object
		s.update(key, researcher+version, object{"tags": append([]string{}, wanted...)}).read(&got)
		return at(got, "data", "expert", "tags")
	}
	for _, c := range []struct {
		version string
		set     []string
		want    []any
	}{
		{"1.1.0", []string{"stable", "next"}, []any{"latest", "next", "stable"}}, // on the newest version, without latest
		{"1.1.0", []string{"latest", "stable"}, []any{"latest", "stable"}},
		{"1.0.0", []string{"stable", "old"}, []any{"old", "stable"}}, // a tag of another version moves
		{"1.1.0", nil, []any{"latest"}},
		{"1.0.0", []string{"old"}, []any{"old"}},
	} {
		if diff := cmp.Diff(any(c.want), tags(c.version, c.set...)); diff != "" {
			t.Errorf("%s %v: %s", c.version, c.set, diff)
		}
	}
	s.update(key, researcher+"1.0.0", object{"tags": []string{"latest"}}).want("400 Bad Request: Cannot manually set latest tag")
	for name, wanted := range map[string][]string{"dot": {"1.x"}, "capital": {"New"}, "many": {"a", "b", "c", "d", "e", "f", "g", "h", "i"}} {
		if got := s.update(key, researcher+"1.0.0", object{"tags": wanted}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %s", name, got.says())
		}
	}
	// The same in version 2.
	c := newClient(t, s.Registry, withKey(key))
	if err := c.SetTag(t.Context(), "@acme/researcher", "beta", "1.1.0"); err != nil {
		t.Error(err)
	}
	if found, err := newClient(t, s.Registry, nil).Resolve(t.Context(), "@acme/researcher@beta"); err != nil || found.Keys["@acme/researcher@beta"] != "@acme/researcher@1.1.0" {
		t.Error(found, err)
	}
	if err := c.RemoveTag(t.Context(), "@acme/researcher", "beta", "1.0.0"); client.KindOf(err) != client.Refused || !strings.Contains(err.Error(), "The tag means another version: 1.1.0") {
		t.Error(err)
	}
	if err := c.RemoveTag(t.Context(), "@acme/researcher", "beta", "1.1.0"); err != nil {
		t.Error(err)
	}
	if err := c.RemoveTag(t.Context(), "@acme/researcher", "beta", "1.1.0"); client.KindOf(err) != client.NotFound {
		t.Error(err)
	}
	s.send(request{http.MethodDelete, api.V2 + "/experts/%40acme%2Fresearcher/tags/latest", key, nil, nil}).want("400 Bad Request: Cannot remove latest tag from latest version")
	s.send(request{http.MethodPut, api.V2 + "/experts/@acme/researcher/tags/x", key, object{"version": "9.9.9"}, nil}).want("404 Not Found: Expert not found")
}

// S12: an update with nothing to change is refused.
func testEmptyUpdate(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	s.mustCreate(key, payload("@acme/researcher", "1.0.0", nil))
	s.update(key, researcher+"1.0.0", object{}).want("422 Validation Failed: there is nothing to change; give a status or tags")
	s.update(key, researcher+"1.0.0", object{"statusMessage": "x"}).want("422 Validation Failed: there is nothing to change; give a status or tags")
	s.update(key, experts1+"/%40acme%2Fresearcher", object{"status": "deprecated"}).want("422 Validation Failed: version required")
}

// The table of statuses, with each reason that the original documents.
func testStatusChanges(t *testing.T, s *site) {
	key, other := s.Key("acme", "team"), s.Key("other", "team")
	for _, version := range []string{"1.0.0", "1.1.0"} {
		s.mustCreate(key, payload("@acme/researcher", version, nil))
	}
	for _, c := range []struct{ key, version, status, want string }{
		{other, "1.1.0", "disabled", "400 Bad Request: Expert is not owned by the organization"},
		{"", "1.1.0", "disabled", "401 Unauthorized: Failed to authenticate"},
		{key, "1.1.0", "available", "400 Bad Request: Status is the same as the current status"},
		{key, "1.1.0", "gone", `422 Validation Failed: "gone" is not a status; use available, deprecated or disabled`},
		{key, "9.9.9", "disabled", "404 Not Found: Expert not found"},
		{key, "1.1.0", "deprecated", "200"},
		{key, "1.1.0", "deprecated", "400 Bad Request: Status is the same as the current status"},
		{key, "1.1.0", "available", "400 Bad Request: Cannot change deprecated expert to available"},
		{key, "1.1.0", "disabled", "200"},
		{key, "1.1.0", "disabled", "400 Bad Request: Cannot change status of disabled expert"},
		{key, "1.1.0", "available", "400 Bad Request: Cannot change status of disabled expert"},
		{key, "1.0.0", "disabled", "200"},
	} {
		if got := s.update(c.key, researcher+c.version, object{"status": c.status}).says(); got != c.want {
			t.Errorf("%s to %s\ngot  %s\nwant %s", c.version, c.status, got, c.want)
		}
	}
	s.get(researcher + "1.1.0").want("200") // wizards need it
	s.get(experts1 + "/%40acme%2Fresearcher").want("404 Not Found: Expert not found")
	s.get(experts1 + "/%40acme%2Fresearcher/versions").want("404 Not Found: Latest version not found")
	// The same in version 2, with the reason.
	s.mustCreate(key, payload("@acme/researcher", "2.0.0", nil))
	c := newClient(t, s.Registry, withKey(key))
	if err := c.SetStatus(t.Context(), "@acme/researcher@2.0.0", api.SetStatus{Status: api.Deprecated, Message: "Use the other.", ReplacedBy: "@acme/other"}); err != nil {
		t.Fatal(err)
	}
	found, err := newClient(t, s.Registry, nil).Resolve(t.Context(), "@acme/researcher")
	if err != nil || found.Experts["@acme/researcher@2.0.0"].Message != "Use the other." {
		t.Error(found, err)
	}
	if err := c.Unpublish(t.Context(), "@acme/researcher@2.0.0"); err != nil {
		t.Error(err)
	}
	if _, err := c.Resolve(t.Context(), "@acme/researcher@2.0.0"); client.KindOf(err) != client.NotFound {
		t.Error(err)
	}
}

// An organization gives an Expert away, and decides about what it publishes.
func testOwners(t *testing.T, s *site) {
	ann, bob := s.Key("ann", "personal"), s.Key("bob", "personal")
	s.publish(ann, "translator@1.0.0")
	give := func(key, to string) answer {
		return s.send(request{http.MethodPost, api.V2 + "/experts/translator/transfer", key, object{"organization": to}, nil})
	}
	offers := func(key string) string {
		return s.send(request{method: http.MethodGet, path: api.V2 + "/transfers", key: key}).text
	}
	give(bob, "bob").want("400 Bad Request: The Expert was not offered to bob")
	give(ann, "carol").want("404 Not Found: Organization not found")
	if got := give(ann, "bob"); got.text != `{"state":"offered"}`+"\n" {
		t.Error(got.text)
	}
	s.send(request{method: http.MethodDelete, path: api.V2 + "/experts/translator/transfer", key: bob}).want("200")
	give(bob, "bob").want("400 Bad Request: The Expert was not offered to bob")
	give(ann, "bob").want("200")
	for _, key := range []string{ann, bob} {
		if got := offers(key); !strings.HasPrefix(got, `{"transfers":[{"name":"translator","from":"ann","to":"bob","at":"`) {
			t.Error(got)
		}
	}
	if got := give(bob, "bob"); got.text != `{"state":"transferred"}`+"\n" || offers(ann) != `{"transfers":[]}`+"\n" {
		t.Error(got.text, offers(ann))
	}
	s.publish(bob, "translator@1.0.1")
	rule := func(key, org string, body object) answer {
		return s.send(request{http.MethodPut, api.V2 + "/orgs/" + org + "/policy", key, body, nil})
	}
	rule(ann, "bob", object{"visibility": "private"}).want("401 Unauthorized: Failed to authenticate")
	rule(bob, "bob", object{}).want("422 Validation Failed: there is nothing to change; give a visibility or signers")
	rule(bob, "bob", object{"visibility": "private"}).want("200")
	s.publish(bob, "secret-helper@1.0.0")
	s.get(experts1 + "/secret-helper").want("404 Not Found: Expert not found")
	s.get(api.V2 + "/experts/secret-helper/content").want("404 Not Found: Expert not found")
	own := s.send(request{method: http.MethodGet, path: api.V2 + "/experts/secret-helper%401.0.0/content", key: bob})
	if own.status != http.StatusOK || own.header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("%d %v", own.status, own.header)
	}
}
