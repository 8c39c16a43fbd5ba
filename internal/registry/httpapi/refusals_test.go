package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/httpapi"
	"github.com/perstack-go/perstack/internal/testkit/realregistry"
)

// S10: every error has the same body, with the words that the original clients know.
func testErrorBodies(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	for _, c := range []struct {
		r    request
		want api.Error
	}{
		{request{method: http.MethodGet, path: experts1 + "/missing"}, api.Error{Code: 404, Message: "Not Found", Reason: "Expert not found"}},
		{request{method: http.MethodGet, path: experts1 + "/?take=x"}, api.Error{Code: 422, Message: "Validation Failed", Reason: "take must be a number from 1 to 100", Field: "take"}},
		{request{method: http.MethodPost, path: experts1, body: object{}}, api.Error{Code: 401, Message: "Unauthorized", Reason: "Failed to authenticate"}},
		{request{method: http.MethodPost, path: experts1, key: key, body: payload("unscoped", "1.0.0", nil)}, api.Error{Code: 400, Message: "Bad Request", Reason: "Expert name must be scoped"}},
	} {
		got := s.send(c.r)
		var e api.Error
		if err := json.Unmarshal([]byte(got.text), &e); err != nil || got.status != c.want.Code || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v %s", c.r.path, got.status, got.header, got.text)
		}
		if e.RequestID == "" || e.RequestID != got.header.Get(api.RequestIDHeader) {
			t.Errorf("%s: the request id is %q in the body and %q in the header", c.r.path, e.RequestID, got.header.Get(api.RequestIDHeader))
		}
		e.RequestID = ""
		if e != c.want {
			t.Errorf("%s\ngot  %+v\nwant %+v", c.r.path, e, c.want)
		}
	}
	verbose := newSite(t, realregistry.Options{HTTP: func(o *httpapi.Options) { o.VerboseErrors = true }})
	verbose.get(experts1 + "/missing").want("404 Not Found: Expert not found: Expert not found")
	verbose.get(api.V2 + "/experts/missing").want("404 Not Found: Expert not found")
}

// S11: the statuses are those that the original documents, and new ones are for new conditions.
func testStatuses(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	big := strings.Repeat("a", api.MaxBody)
	for name, c := range map[string]struct {
		r    request
		want string
	}{
		"no key":       {request{http.MethodPost, experts1, "", payload("@acme/a", "1.0.0", nil), nil}, "401 Unauthorized: Failed to authenticate"},
		"wrong key":    {request{http.MethodPost, experts1, "psk_wrong", payload("@acme/a", "1.0.0", nil), nil}, "401 Unauthorized: Failed to authenticate"},
		"wrong on get": {request{http.MethodGet, experts1, "psk_wrong", nil, nil}, "200"},
		"wrong on v2":  {request{http.MethodGet, api.V2 + "/experts", "psk_wrong", nil, nil}, "401 Unauthorized: Failed to authenticate"},
		"too large":    {request{http.MethodPost, experts1, key, payload("@acme/a", "1.0.0", object{"instruction": big}), nil}, "413 Request Entity Too Large: The body has more than 1048576 bytes"},
		"not JSON":     {request{http.MethodPost, experts1, key, "{", nil}, "422 Validation Failed: The body is not what is expected: it is not JSON, or has a name twice"},
		"twice":        {request{http.MethodPost, experts1, key, `{"name":"a","name":"b"}`, nil}, "422 Validation Failed: The body is not what is expected: it is not JSON, or has a name twice"},
		"no body":      {request{http.MethodPost, experts1, key, nil, nil}, "422 Validation Failed: The body is not what is expected: it is not JSON, or has a name twice"},
		"list":         {request{http.MethodPost, experts1, key, "[]", nil}, "422 Validation Failed: The body is not what is expected: a value of another kind belongs there"},
		"wrong kind":   {request{http.MethodPost, experts1, key, `{"name":1}`, nil}, "422 Validation Failed: The body is not what is expected: a value of another kind belongs there"},
		"invalid text": {request{http.MethodPost, experts1, key, "{\"name\":\"\xff\"}", nil}, "422 Validation Failed: The body is not what is expected: it is not JSON, or has a name twice"},
		"form":         {request{http.MethodPost, experts1, key, "a=b", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, "415 Unsupported Media Type: The body must be JSON"},
		"method":       {request{http.MethodPatch, experts1, key, nil, nil}, "405 Method Not Allowed: Use GET or POST"},
		"path":         {request{http.MethodGet, "/api/registry/v3", key, nil, nil}, "404 Not Found: There is nothing at this path"},
		"bad escape":   {request{http.MethodGet, experts1 + "/%00", "", nil, nil}, `422 Validation Failed: invalid expert key format: "\x00"; write name, @scope/name, name@1.0.0 or name@tag in lower case`},
	} {
		if got := s.send(c.r).says(); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, c.want)
		}
	}
	closed := newSite(t, realregistry.Options{HTTP: func(o *httpapi.Options) { o.ReadOnly = true }})
	closed.get(experts1).want("200")
	closed.create(closed.Key("acme", "team"), payload("@acme/a", "1.0.0", nil)).want("503 Service Unavailable: The registry is read-only at the moment")
}

// Each reason that the original documents for a publication.
func testPublishRefusals(t *testing.T, s *site) {
	acme, ann, bob := s.Key("acme", "team"), s.Key("ann", "personal"), s.Key("bob", "personal")
	s.mustCreate(acme, payload("@acme/researcher", "1.0.0", nil))
	s.mustCreate(ann, payload("translator", "1.0.0", nil))
	base := payload("", "", nil)["skills"].(object)["@perstack/base"]
	with := func(name string, skill object) object {
		return object{"skills": object{"@perstack/base": base, name: skill}}
	}
	for name, c := range map[string]struct {
		key  string
		body object
		want string
	}{
		"foreign name":   {bob, payload("translator", "2.0.0", nil), "400 Bad Request: Expert translator already exists"},
		"again":          {acme, payload("@acme/researcher", "1.0.0", nil), "400 Bad Request: Version 1.0.0 is already published"},
		"no base":        {acme, payload("@acme/b", "1.0.0", object{"skills": object{}}), "400 Bad Request: @perstack/base is required"},
		"scoped person":  {ann, payload("@ann/b", "1.0.0", nil), "400 Bad Request: Expert name cannot be scoped"},
		"unscoped team":  {acme, payload("b", "1.0.0", nil), "400 Bad Request: Expert name must be scoped"},
		"delegate":       {acme, payload("@acme/b", "1.0.0", object{"delegates": []string{"@acme/missing"}}), "400 Bad Request: Delegate expert not found: @acme/missing"},
		"similar":        {bob, payload("translatar", "1.0.0", nil), "400 Bad Request: The name translatar is too similar to translator, which belongs to another organization"},
		"build metadata": {acme, payload("@acme/b", "1.0.0+a", nil), "422"},
		"command":        {acme, payload("@acme/b", "1.0.0", with("sh", object{"type": "mcpStdioSkill", "description": "x", "command": "bash", "packageName": "x"})), "422"},
		"arguments":      {acme, payload("@acme/b", "1.0.0", with("sh", object{"type": "mcpStdioSkill", "description": "x", "command": "npx", "packageName": "x", "args": []string{"-y"}})), "422"},
		"local server":   {acme, payload("@acme/b", "1.0.0", with("sse", object{"type": "mcpSseSkill", "description": "x", "endpoint": "https://127.0.0.1/sse"})), "422"},
		"platform key":   {acme, payload("@acme/b", "1.0.0", with("env", object{"type": "mcpStdioSkill", "description": "x", "command": "npx", "packageName": "x@1.0.0", "requiredEnv": []string{"PERSTACK_API_KEY"}})), "422"},
		"hidden text":    {acme, payload("@acme/b", "1.0.0", object{"instruction": "Work.\u202e"}), "422"},
		"no description": {acme, payload("@acme/b", "1.0.0", object{"description": ""}), "422"},
		"unknown type":   {acme, payload("@acme/b", "1.0.0", with("x", object{"type": "shell", "description": "x"})), "422"},
	} {
		got := s.create(c.key, c.body)
		if !strings.HasPrefix(got.says(), c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", name, got.says(), c.want)
		}
		dry := s.send(request{http.MethodPost, experts1 + "/?validateOnly=true", c.key, c.body, nil})
		if dry.says() != got.says() {
			t.Errorf("%s: a dry run says %s instead of %s", name, dry.says(), got.says())
		}
	}
	s.send(request{http.MethodPost, experts1, acme, payload("@acme/b", "1.0.0", nil), map[string]string{api.DigestHeader: "sha256:0"}}).wantPrefix("422 Validation Failed: the definition has the digest sha256:")
	for range 2 {
		s.send(request{http.MethodPost, experts1, acme, payload("@acme/b", "1.0.0", nil), map[string]string{api.IdempotencyHeader: "k1"}}).want("200")
	}
	s.send(request{http.MethodPost, experts1 + "?validateOnly=true", acme, payload("@acme/c", "1.0.0", nil), nil}).want("200")
	s.get(experts1 + "/%40acme%2Fc").want("404 Not Found: Expert not found")
}
