package httpapi_test

import (
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/card"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

const experts1 = api.V1 + "/experts"

// payload is what the original command line sends, with changes.
func payload(name, version string, change object) object {
	p := object{
		"name": name, "version": version, "minRuntimeVersion": "v1.0", "description": "Finds sources", "instruction": "You find sources.",
		"skills":    object{"@perstack/base": object{"type": "mcpStdioSkill", "description": "Base", "command": "npx", "packageName": "@perstack/base"}},
		"delegates": []string{}, "tags": []string{"latest"},
	}
	maps.Copy(p, change)
	return p
}

func (s *site) create(key string, body any) answer {
	s.t.Helper()
	return s.send(request{http.MethodPost, experts1 + "/", key, body, nil})
}

// mustCreate publishes as the original command line does, and returns the Expert of the answer.
func (s *site) mustCreate(key string, body any) object {
	s.t.Helper()
	var got object
	s.create(key, body).read(&got)
	e, _ := at(got, "data", "expert").(object)
	return e
}

// S1: every collection is served with and without a slash at the end, and nothing redirects.
func testTrailingSlash(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	for i, path := range []string{experts1, experts1 + "/"} {
		version := []string{"1.0.0", "2.0.0"}[i]
		s.send(request{http.MethodPost, path, key, payload("@acme/researcher", version, nil), nil}).want("200")
		s.get(path).want("200")
		s.get(path + "?take=1").want("200")
	}
	for _, path := range []string{"/%40acme%2Fresearcher", "/%40acme%2Fresearcher/versions"} {
		s.get(experts1 + path).want("200")
		s.get(experts1 + path + "/").want("200")
	}
	for _, path := range []string{"/experts", "/experts/%40acme%2Fresearcher", "/changes", "/index/@acme/researcher"} {
		s.get(api.V2 + path).want("200")
		s.get(api.V2 + path + "/").want("200")
	}
	s.get(experts1 + "//").want("404 Not Found: There is nothing at this path")
	s.get(api.V1).want("404 Not Found: There is nothing at this path")
}

// S2: a key is one escaped segment, or as a proxy has unescaped it.
func testKeys(t *testing.T, s *site) {
	s.mustCreate(s.Key("acme", "team"), payload("@acme/researcher", "1.2.0", nil))
	s.mustCreate(s.Key("ann", "personal"), payload("helper", "1.0.0-beta.1", nil))
	for path, want := range map[string]string{
		"/%40acme%2Fresearcher":          "@acme/researcher@1.2.0",
		"/%40acme%2Fresearcher%401.2.0":  "@acme/researcher@1.2.0",
		"/%40acme%2Fresearcher%40latest": "@acme/researcher@1.2.0",
		"/%40acme%2fresearcher":          "@acme/researcher@1.2.0",
		"/@acme/researcher":              "@acme/researcher@1.2.0",
		"/@acme/researcher@1.2.0":        "@acme/researcher@1.2.0",
		"/@acme/researcher@latest/":      "@acme/researcher@1.2.0",
		"/@acme%2Fresearcher":            "@acme/researcher@1.2.0",
		"/helper":                        "helper@1.0.0-beta.1",
		"/helper%401.0.0-beta.1":         "helper@1.0.0-beta.1",
	} {
		var got object
		s.get(experts1 + path).read(&got)
		if key := at(got, "data", "expert", "key"); key != want {
			t.Errorf("%s: %v", path, key)
		}
	}
	for _, path := range []string{"/@acme/researcher/versions", "/@acme/researcher@1.2.0/versions/", "/%40acme%2Fresearcher%409.9.9/versions"} {
		s.get(experts1 + path).want("200")
	}
	for path, want := range map[string]string{
		"/My-Expert":                    `422 Validation Failed: invalid expert key format: "My-Expert"; write name, @scope/name, name@1.0.0 or name@tag in lower case`,
		"/a%2Fb":                        `422 Validation Failed: invalid expert key format: "a/b"; write name, @scope/name, name@1.0.0 or name@tag in lower case`,
		"/x%40":                         `422 Validation Failed: invalid expert key format: "x@"; write name, @scope/name, name@1.0.0 or name@tag in lower case`,
		"/x%40a%40b":                    `422 Validation Failed: invalid expert key format: "x@a@b"; write name, @scope/name, name@1.0.0 or name@tag in lower case`,
		"/%40invalid":                   `422 Validation Failed: invalid expert key format: "@invalid"; write name, @scope/name, name@1.0.0 or name@tag in lower case`,
		"/x%401.0":                      "404 Not Found: Expert not found",
		"/x%4001.0.0":                   "404 Not Found: Expert not found",
		"/missing":                      "404 Not Found: Expert not found",
		"/helper%401.0.0":               "404 Not Found: Expert not found",
		"/helper%40stable":              "404 Not Found: Expert not found",
		"/missing/versions":             "404 Not Found: Expert not found",
		"/a%20b/versions":               `422 Validation Failed: invalid expert key format: "a b"; write name, @scope/name, name@1.0.0 or name@tag in lower case`,
		"/@acme/researcher/versions/x":  "404 Not Found: There is nothing at this path",
		"/" + strings.Repeat("a", 3000): `422 Validation Failed: invalid expert key format: "` + strings.Repeat("a", 60) + `…"; a key has at most 511 characters`,
	} {
		if got := s.get(experts1 + path).says(); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", path, got, want)
		}
	}
}

// S4: the original command line always sends the tag latest.
func testLatestInTags(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	e := s.mustCreate(key, payload("@acme/researcher", "1.0.0", object{"tags": []string{"latest", "stable"}}))
	if diff := cmp.Diff([]any{"latest", "stable"}, e["tags"]); diff != "" {
		t.Error(diff)
	}
	if e = s.mustCreate(key, payload("@acme/researcher", "0.9.0", nil)); len(e["tags"].([]any)) != 0 {
		t.Errorf("an older version took latest: %v", e["tags"])
	}
}

// Some releases of the first generation send the runtimes of an Expert, by default their own.
func testRuntimeInPayload(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	s.create(key, payload("@acme/researcher", "1.0.0", object{"runtime": []string{"perstack"}})).want("200")
	s.create(key, payload("@acme/researcher", "1.1.0", object{"runtime": []string{"cursor", "perstack"}})).want("200")
	s.create(key, payload("@acme/researcher", "1.2.0", object{"runtime": []string{}})).want("200")
	s.create(key, payload("@acme/researcher", "1.3.0", object{"runtime": []string{"cursor"}})).want("422 Validation Failed: An Expert that cannot run on perstack cannot be published here")
}

// S6: a client finds every list, and the name of each interactive tool.
func testShapes(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	s.mustCreate(key, payload("@acme/reader", "1.0.0", nil))
	skills := object{
		"@perstack/base": object{"type": "mcpStdioSkill", "description": "Base", "command": "npx", "packageName": "@perstack/base"},
		"search":         object{"type": "mcpSseSkill", "description": "Search", "endpoint": "https://mcp.example.com/sse", "pick": []string{"query"}},
		"ask":            object{"type": "interactiveSkill", "description": "Ask", "rule": "Be brief.", "tools": object{"ask-user": object{"description": "Ask", "inputJsonSchema": `{"type":"object"}`}}},
	}
	got := s.mustCreate(key, payload("@acme/researcher", "1.2.0", object{"skills": skills, "delegates": []string{"@acme/reader"}, "tags": []string{"latest", "stable"}}))
	want := object{
		"type": "registryExpert", "key": "@acme/researcher@1.2.0", "name": "@acme/researcher", "version": "1.2.0", "minRuntimeVersion": "v1.0",
		"status": "available", "description": "Finds sources", "instruction": "You find sources.",
		"delegates": []any{"@acme/reader"}, "tags": []any{"latest", "stable"},
		"skills": object{
			"@perstack/base": object{"type": "mcpStdioSkill", "description": "Base", "command": "npx", "packageName": "@perstack/base", "pick": []any{}, "omit": []any{}, "requiredEnv": []any{}},
			"search":         object{"type": "mcpSseSkill", "description": "Search", "endpoint": "https://mcp.example.com/sse", "pick": []any{"query"}, "omit": []any{}},
			"ask": object{"type": "interactiveSkill", "description": "Ask", "rule": "Be brief.", "tools": object{
				"ask-user": object{"name": "ask-user", "description": "Ask", "inputJsonSchema": `{"type":"object"}`},
			}},
		},
		"visibility": "public", "signatures": []any{},
	}
	for name, value := range want {
		if diff := cmp.Diff(value, got[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if at(got, "owner", "name") != "acme" || at(got, "resolvedDelegates", 0, "exact") != "@acme/reader@1.0.0" || at(got, "log", "origin") == "" {
		t.Error(got)
	}
	var again object
	s.get(experts1 + "/%40acme%2Fresearcher").read(&again)
	if diff := cmp.Diff(any(got), at(again, "data", "expert")); diff != "" {
		t.Error(diff)
	}
}

// S7: these routes know one runtime version.
func testRuntimeVersion(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	e := s.mustCreate(key, payload("@acme/researcher", "1.0.0", nil))
	var versions object
	s.get(experts1 + "/%40acme%2Fresearcher/versions").read(&versions)
	if e["minRuntimeVersion"] != "v1.0" || at(versions, "data", "versions", 0, "minRuntimeVersion") != "v1.0" {
		t.Error(e, versions)
	}
	for _, other := range []any{"1.0.0", "", nil} {
		if got := s.create(key, payload("@acme/researcher", "1.0.1", object{"minRuntimeVersion": other})); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%v: %s", other, got.says())
		}
	}
}

// S8: a list has whole Experts, of each its latest version.
func testList(t *testing.T, s *site) {
	acme, ann := s.Key("acme", "team"), s.Key("ann", "personal")
	s.mustCreate(acme, payload("@acme/researcher", "1.0.0", nil))
	s.mustCreate(acme, payload("@acme/researcher", "1.1.0", nil))
	s.mustCreate(acme, payload("@acme/reader", "3.0.0", nil))
	helper := s.mustCreate(ann, payload("helper", "2.0.0", nil))
	list := func(query string) (keys []string, meta any) {
		t.Helper()
		var got object
		s.get(experts1 + "/" + query).read(&got)
		all, _ := at(got, "data", "experts").([]any)
		for _, e := range all {
			if at(e, "type") != "registryExpert" || at(e, "skills", "@perstack/base", "requiredEnv") == nil {
				t.Errorf("not a whole Expert: %v", e)
			}
			keys = append(keys, at(e, "key").(string))
		}
		return keys, got["meta"]
	}
	for query, want := range map[string][]string{
		"?sort=name&order=asc":               {"@acme/reader@3.0.0", "@acme/researcher@1.1.0", "helper@2.0.0"},
		"?sort=name":                         {"helper@2.0.0", "@acme/researcher@1.1.0", "@acme/reader@3.0.0"},
		"?sort=name&order=asc&take=1&skip=1": {"@acme/researcher@1.1.0"},
		"?filter=@ACME/rese":                 {"@acme/researcher@1.1.0"},
		"?filter=acme":                       nil,
		"?sort=version&order=asc":            {"@acme/researcher@1.1.0", "helper@2.0.0", "@acme/reader@3.0.0"},
		"?organizationId=" + at(helper, "owner", "organizationId").(string): {"helper@2.0.0"},
	} {
		if got, _ := list(query); cmp.Diff(want, got) != "" {
			t.Errorf("%s: %v", query, got)
		}
	}
	if _, meta := list("?sort=name&take=2&skip=1"); cmp.Diff(any(object{"total": 3.0, "take": 2.0, "skip": 1.0}), meta) != "" {
		t.Error(meta)
	}
	if _, meta := list(""); cmp.Diff(any(object{"total": 3.0, "take": 100.0, "skip": 0.0}), meta) != "" {
		t.Error(meta)
	}
	for query, want := range map[string]string{
		"?take=0":                             "take must be a number from 1 to 100",
		"?take=101":                           "take must be a number from 1 to 100",
		"?skip=-1":                            "skip must be a number from 0 to 10000",
		"?sort=size":                          "sort must be one of name, version, createdAt, updatedAt",
		"?order=up":                           "order must be one of asc, desc",
		"?organizationId=x":                   "organizationId has 24 characters",
		"?filter=" + strings.Repeat("a", 257): "filter has 1 to 256 characters",
	} {
		if got := s.get(experts1 + query).says(); got != "422 Validation Failed: "+want {
			t.Errorf("%s: %s", query, got)
		}
	}
}

// S9: C1 accepts times and ids of one form.
func testTimesAndIDs(t *testing.T, s *site) {
	e := s.mustCreate(s.Key("acme", "team"), payload("@acme/researcher", "1.0.0", nil))
	var versions object
	s.get(experts1 + "/%40acme%2Fresearcher/versions").read(&versions)
	digest := at(versions, "data", "versions", 0)
	moment, id := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`), regexp.MustCompile(`^[a-z0-9]{24}$`)
	for name, value := range map[string]any{
		"createdAt": e["createdAt"], "updatedAt": e["updatedAt"], "owner": at(e, "owner", "createdAt"), "digest": at(digest, "createdAt"), "digest updated": at(digest, "updatedAt"),
	} {
		if text, _ := value.(string); !moment.MatchString(text) {
			t.Errorf("%s: %v", name, value)
		}
	}
	for name, value := range map[string]any{"id": e["id"], "owner": at(e, "owner", "organizationId"), "digest": at(digest, "id")} {
		if text, _ := value.(string); !id.MatchString(text) {
			t.Errorf("%s: %v", name, value)
		}
	}
}

// Versions are sorted from the highest down, and have what the wizards of the original need.
func testVersions(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	for _, version := range []string{"1.2.0", "1.10.0", "2.0.0-rc.1", "1.9.0"} {
		s.mustCreate(key, payload("@acme/researcher", version, nil))
	}
	var got object
	s.get(experts1 + "/%40acme%2Fresearcher/versions").read(&got)
	var order []any
	for _, v := range at(got, "data", "versions").([]any) {
		order = append(order, at(v, "version"))
		if at(v, "type") != "expertDigest" || at(v, "status") != "available" || at(v, "description") != "Finds sources" {
			t.Error(v)
		}
	}
	if diff := cmp.Diff([]any{"2.0.0-rc.1", "1.10.0", "1.9.0", "1.2.0"}, order); diff != "" {
		t.Error(diff)
	}
	if at(got, "data", "latest") != "1.10.0" || at(got, "meta", "total") != 4.0 {
		t.Error(got)
	}
}

// An Expert that the original clients would reject is not shown to them: it would take all others away.
func testNewerExperts(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	s.publish(key, "@acme/plain@1.0.0")
	d := registrytest.Minimal("@acme/newer@1.0.0")
	skill := d.Skills["@perstack/base"]
	skill.Type, skill.Command, skill.PackageName, skill.Endpoint = "mcpHttpSkill", "", "", "https://mcp.example.com/mcp"
	d.Skills["remote"] = skill
	s.publishText(key, api.Publish{Content: d.Encode()})
	s.get(experts1 + "/%40acme%2Fnewer").want("404 Not Found: The Expert needs a newer client: its skill remote is of the type mcpHttpSkill")
	s.get(api.V2 + "/experts/%40acme%2Fnewer").want("200")
	var got object
	s.get(experts1).read(&got)
	if all := at(got, "data", "experts").([]any); len(all) != 1 || at(all[0], "key") != "@acme/plain@1.0.0" {
		t.Error(all)
	}
}

// Additions to the list: words, and what changed since a time.
func testListAdditions(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	s.publish(key, "@acme/reader@1.0.0")
	s.publish(key, "@acme/writer@1.0.0")
	for query, want := range map[string]int{"q=reader": 1, "q=acme": 2, "q=nothing": 0, "updatedSince=2001-01-01T00:00:00Z": 2, "updatedSince=2999-01-01T00:00:00Z": 0} {
		var got any
		s.get(experts1 + "?" + query).read(&got)
		if list, _ := at(got, "data", "experts").([]any); len(list) != want || at(got, "meta", "total") != float64(want) {
			t.Errorf("%s: %d", query, len(list))
		}
	}
	s.get(experts1 + "?updatedSince=yesterday").wantPrefix("422 ")
	s.get(experts1 + "?q=" + strings.Repeat("a", 257)).wantPrefix("422 ")
}

// The card of a version is what its client computes.
func testCard(t *testing.T, s *site) {
	key := s.Key("acme", "team")
	s.publish(key, "@acme/reader@1.0.0")
	s.publish(key, "@acme/lead@1.0.0", "@acme/reader")
	var got any
	s.get(api.V2 + "/experts/@acme/lead/card").read(&got)
	closure := []*definition.Definition{registrytest.Minimal("@acme/lead@1.0.0", "@acme/reader"), registrytest.Minimal("@acme/reader@1.0.0")}
	if at(got, "key") != "@acme/lead@1.0.0" || at(got, "hash") != card.Of(closure).Hash() || at(got, "abilities", 0, "kind") == nil {
		t.Errorf("%v", got)
	}
	s.get(api.V2 + "/experts/@acme/none/card").wantPrefix("404 ")
}
