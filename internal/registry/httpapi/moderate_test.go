package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/builds"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/httpapi"
	"github.com/perstack-go/perstack/internal/testkit/issuer"
	"github.com/perstack-go/perstack/internal/testkit/realregistry"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// Anybody reports an Expert; an administrator withholds it, and gives it back.
func testModeration(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	s.publish(key, "@acme/a@1.0.0")
	post := func(path, key string, body any) answer { return s.send(request{http.MethodPost, path, key, body, nil}) }
	var first struct {
		ID string `json:"id"`
	}
	post(api.V1+"/reports/", "", object{"key": "@acme/a@1.0.0", "reason": "It steals."}).read(&first)
	post(api.V2+"/reports", "", object{"key": "@acme/a@1.0.0"}).want("422 Validation Failed: a report needs a reason")
	post(api.V2+"/reports", "", object{"key": "missing", "reason": "x"}).want("404 Not Found: Expert not found")
	s.send(request{method: http.MethodGet, path: api.V2 + "/reports", key: key}).want("401 Unauthorized: Failed to authenticate")
	var open struct {
		Reports []api.Report `json:"reports"`
	}
	s.send(request{method: http.MethodGet, path: api.V2 + "/reports", key: s.AdminKey}).read(&open)
	if len(open.Reports) != 1 || open.Reports[0].ID != first.ID || open.Reports[0].Reason != "It steals." {
		t.Error(open)
	}
	const quarantine = api.V2 + "/experts/%40acme%2Fa%401.0.0/quarantine"
	post(quarantine, key, object{"message": "x"}).want("401 Unauthorized: Failed to authenticate")
	post(quarantine, s.AdminKey, object{"message": "It steals."}).want("200")
	post(api.V2+"/reports/"+first.ID+"/close", s.AdminKey, object{"outcome": "withheld"}).want("200")
	s.get(keyPath("@acme/a@1.0.0")).want("404 Not Found: The version is withheld by an administrator")
	s.get(api.V2 + "/experts/%40acme%2Fa%401.0.0/content").want("404 Not Found: The version is withheld by an administrator")
	s.get(experts1 + "/%40acme%2Fa/versions").want("404 Not Found: Latest version not found")
	s.send(request{method: http.MethodDelete, path: quarantine, key: s.AdminKey}).want("200")
	s.get(keyPath("@acme/a@1.0.0")).want("200")
	s.send(request{method: http.MethodDelete, path: quarantine, key: s.AdminKey}).want("400 Bad Request: The version is not in quarantine")
}

// keyPath is the path of a key in version 1.
func keyPath(key string) string { return experts1 + "/" + url.PathEscape(key) }

// Changes that were refused are in the audit trail with their status, and keys that are not good, in bounded numbers.
func testAuditRefusals(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	s.publish(key, "@acme/a@1.0.0")
	remove := request{method: http.MethodDelete, path: api.V2 + "/experts/%40acme%2Fb%401.0.0", key: key}
	for range 70 {
		s.send(remove).want("404 Not Found: Expert not found")
	}
	s.send(request{method: http.MethodPost, path: api.V2 + "/experts?validateOnly=true", key: key, body: object{}}) // changes nothing
	for range 70 {
		s.send(request{method: http.MethodGet, path: api.V2 + "/whoami", key: "psk_wrong"}).want("401 Unauthorized: Failed to authenticate")
	}
	counts := map[string]int{}
	got := s.send(request{method: http.MethodGet, path: api.V2 + "/audit", key: s.AdminKey})
	for line := range strings.Lines(got.text) {
		var e api.AuditEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		counts[e.Outcome+" "+e.Action+" "+e.Object]++
		if strings.HasPrefix(e.Outcome, "refused") && (e.Address != "127.0.0.1" || e.RequestID == "" || e.Detail == "" || e.Leaf != nil) {
			t.Errorf("%+v", e)
		}
	}
	for want, most := range map[string]int{
		"refused 404 DELETE " + api.V2 + "/experts/{key} @acme/b@1.0.0": 70, "refused 401 GET " + api.V2 + "/whoami ": 70,
	} {
		if n := counts[want]; n < 1 || n >= most {
			t.Errorf("%d times %s: %v", n, want, counts)
		}
	}
	if n := counts["refused 422 POST "+api.V2+"/experts "]; n != 0 {
		t.Errorf("%d validations were noted", n)
	}
	own := s.send(request{method: http.MethodGet, path: api.V2 + "/audit", key: key})
	if !strings.Contains(own.text, "refused 404") || strings.Contains(own.text, "refused 401") {
		t.Error("an organization sees the refusals of others, or not its own")
	}
}

// What an organization did is in its audit trail, with the request and the address; others do not see it.
func testAudit(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	s.publish(key, "@acme/a@1.0.0")
	s.publish(s.Key("ann", "personal"), "helper@1.0.0")
	read := func(key, query string) (all []api.AuditEntry) {
		t.Helper()
		got := s.send(request{method: http.MethodGet, path: api.V2 + "/audit" + query, key: key})
		if got.status != http.StatusOK || got.header.Get("Content-Type") != "application/jsonl" {
			t.Fatal(got.says())
		}
		for line := range strings.Lines(got.text) {
			var e api.AuditEntry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
		return all
	}
	own := read(key, "")
	if len(own) != 1 || own[0].Action != "publish" || own[0].Object != "@acme/a@1.0.0" || own[0].Address != "127.0.0.1" || own[0].RequestID == "" || own[0].Leaf == nil {
		t.Errorf("%+v", own)
	}
	if all := read(s.AdminKey, ""); len(all) < 5 {
		t.Errorf("%+v", all)
	}
	if later := read(s.AdminKey, "?since="+url.QueryEscape(time.Now().Add(time.Hour).Format(time.RFC3339))); len(later) != 0 {
		t.Errorf("%+v", later)
	}
	s.send(request{method: http.MethodGet, path: api.V2 + "/audit?since=yesterday", key: key}).want("422 Validation Failed: since must be a time such as 2026-01-31T00:00:00Z")
	s.get(api.V2 + "/audit").want("401 Unauthorized: Failed to authenticate")
	s.send(request{method: http.MethodGet, path: api.V2 + "/audit", key: s.Key("acme", "team", "read")}).want("401 Unauthorized: Failed to authenticate")
}

// Reads of content are counted, one for each reader and day.
func testReads(t *testing.T, s *site) {
	s.publish(s.Key("acme", "team"), "@acme/a@1.0.0")
	for range 3 {
		s.get(api.V2 + "/experts/%40acme%2Fa%401.0.0/content").want("200")
	}
	if _, err := newClient(t, s.Registry, nil).Resolve(t.Context(), "@acme/a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Core.StoreReads(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Days []api.DayReads `json:"days"`
	}
	s.get(api.V2 + "/experts/@acme/a/stats").read(&got)
	if len(got.Days) != 1 || got.Days[0].Reads != 1 {
		t.Error(got)
	}
}

// A build publishes with a token of its issuer, the first version of an Expert too, and only what its binding
// names.
func TestTrustedPublishing(t *testing.T) {
	const audience = "https://registry.example"
	from := issuer.Start(t)
	verifier, err := builds.New(builds.Options{
		Issuers: []string{from.URL}, Audience: audience, Now: time.Now, Client: func(*url.URL) *http.Client { return &http.Client{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, realregistry.Options{HTTP: func(o *httpapi.Options) { o.Builds = verifier }})
	owner := s.Key("acme", "team")
	var made api.Binding
	s.send(request{http.MethodPost, api.V2 + "/bindings", owner, object{"issuer": from.URL, "repository": "123", "workflow": ".github/workflows/release.yml", "pattern": "@acme/web*"}, nil}).read(&made)
	claims := map[string]any{"repository_id": "123", "workflow_ref": "acme/web/.github/workflows/release.yml@refs/heads/main"}
	exchange := func(token string) answer {
		return s.send(request{http.MethodPost, api.V1 + "/auth/oidc", "", object{"token": token, "organization": "acme"}, nil})
	}
	var key api.CreatedKey
	exchange(from.Token(t, audience, claims)).read(&key)
	if d := key.Key.ExpiresAt.Sub(key.Key.CreatedAt); d != 15*time.Minute || len(key.Key.Patterns) != 1 || key.Key.Patterns[0] != "@acme/web*" {
		t.Error(key.Key)
	}
	build := newClient(t, s.Registry, withKey(key.Token))
	if _, err := build.Publish(t.Context(), api.Publish{Content: registrytest.Minimal("@acme/web@1.0.0").Encode()}); err != nil {
		t.Error(err)
	}
	if _, err := build.Publish(t.Context(), api.Publish{Content: registrytest.Minimal("@acme/other@1.0.0").Encode()}); client.KindOf(err) != client.Unauthorized {
		t.Error(err)
	}
	s.Pass(15 * time.Minute)
	if _, err := build.Publish(t.Context(), api.Publish{Content: registrytest.Minimal("@acme/web@1.0.1").Encode()}); client.KindOf(err) != client.Unauthorized {
		t.Errorf("after a quarter of an hour: %v", err)
	}
	const refused = "401 Unauthorized: Failed to authenticate"
	claims["repository_id"] = "124"
	exchange(from.Token(t, audience, claims)).want(refused)
	claims["repository_id"] = "123"
	exchange(from.Token(t, "https://other.example", claims)).want(refused)
	claims["workflow_ref"] = "acme/web/.github/workflows/test.yml@refs/heads/main"
	exchange(from.Token(t, audience, claims)).want(refused)
	exchange("x").want(refused)
	var discovery api.Discovery
	s.get(api.DiscoveryPath).read(&discovery)
	if len(discovery.Issuers) != 1 || discovery.Issuers[0] != from.URL {
		t.Error(discovery)
	}
	var all struct {
		Bindings []api.Binding `json:"bindings"`
	}
	s.send(request{method: http.MethodGet, path: api.V2 + "/bindings", key: owner}).read(&all)
	if len(all.Bindings) != 1 || all.Bindings[0].ID != made.ID {
		t.Error(all)
	}
	s.send(request{method: http.MethodDelete, path: api.V2 + "/bindings/" + made.ID, key: owner}).want("200")
	claims["workflow_ref"] = "acme/web/.github/workflows/release.yml@refs/heads/main"
	exchange(from.Token(t, audience, claims)).want(refused)
	plain := newSite(t, realregistry.Options{})
	plain.send(request{http.MethodPost, api.V1 + "/auth/oidc", "", object{"token": "x", "organization": "acme"}, nil}).want("404 Not Found: The registry trusts no issuer of tokens")
}
