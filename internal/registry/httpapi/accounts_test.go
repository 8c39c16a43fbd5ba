package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/registry/api"
)

// An administrator makes an organization and a key; a key manages its own organization and no other.
func testAccounts(t *testing.T, s *site) {
	post := func(path, key string, body any) answer { return s.send(request{http.MethodPost, path, key, body, nil}) }
	var org api.Organization
	post(api.V2+"/orgs", s.AdminKey, object{"name": "acme", "type": "team"}).read(&org)
	var owner, publisher api.CreatedKey
	post(api.V2+"/keys", s.AdminKey, object{"organization": "acme", "scopes": []string{"admin", "read"}}).read(&owner)
	post(api.V2+"/keys", owner.Token, object{"scopes": []string{"publish"}, "patterns": []string{"@acme/web*"}, "name": "CI"}).read(&publisher)
	for key, want := range map[string]string{owner.Token: "acme", publisher.Token: "acme", s.AdminKey: "registry"} {
		var who api.Whoami
		s.send(request{method: http.MethodGet, path: api.V2 + "/whoami", key: key}).read(&who)
		if who.Organization.Name != want {
			t.Error(who)
		}
	}
	var keys struct {
		Keys []api.KeyInfo `json:"keys"`
	}
	s.send(request{method: http.MethodGet, path: api.V2 + "/keys", key: owner.Token}).read(&keys)
	if len(keys.Keys) != 2 || keys.Keys[1].Name != "CI" || strings.Contains(owner.Token, keys.Keys[1].ID) {
		t.Error(keys)
	}
	var orgs struct {
		Organizations []api.Organization `json:"organizations"`
	}
	s.send(request{method: http.MethodGet, path: api.V2 + "/orgs", key: owner.Token}).read(&orgs)
	if len(orgs.Organizations) != 1 || orgs.Organizations[0] != org {
		t.Error(orgs)
	}
	const refused = "401 Unauthorized: Failed to authenticate"
	for name, c := range map[string]struct {
		r    request
		want string
	}{
		"no key":             {request{http.MethodPost, api.V2 + "/orgs", "", object{"name": "b", "type": "team"}, nil}, refused},
		"not an admin":       {request{http.MethodPost, api.V2 + "/orgs", owner.Token, object{"name": "b", "type": "team"}, nil}, refused},
		"taken":              {request{http.MethodPost, api.V2 + "/orgs", s.AdminKey, object{"name": "acme", "type": "team"}, nil}, "400 Bad Request: Organization acme already exists"},
		"unknown member":     {request{http.MethodPost, api.V2 + "/orgs", s.AdminKey, object{"name": "b", "typ": "team"}, nil}, "422 Validation Failed: The body is not what is expected: it has a member that is not known"},
		"keys of others":     {request{http.MethodGet, api.V2 + "/keys?organization=registry", owner.Token, nil, nil}, refused},
		"keys without right": {request{http.MethodGet, api.V2 + "/keys", publisher.Token, nil, nil}, refused},
		"whoami":             {request{http.MethodGet, api.V2 + "/whoami", "", nil, nil}, refused},
		"another scheme":     {request{http.MethodGet, api.V2 + "/whoami", "", nil, map[string]string{"Authorization": "Basic " + owner.Token}}, refused},
		"foreign key":        {request{http.MethodDelete, api.V2 + "/keys/" + keys.Keys[1].ID, s.Key("other", "team"), nil, nil}, "404 Not Found: Key not found"},
		"revoke":             {request{http.MethodDelete, api.V2 + "/keys/" + keys.Keys[1].ID, owner.Token, nil, nil}, "200"},
	} {
		if got := s.send(c.r).says(); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, c.want)
		}
	}
	s.send(request{method: http.MethodGet, path: api.V2 + "/whoami", key: publisher.Token}).want(refused)
}
