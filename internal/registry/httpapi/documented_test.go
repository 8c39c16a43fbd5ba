package httpapi_test

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/perstack-go/perstack/internal/registry/httpapi"
	"github.com/perstack-go/perstack/internal/testkit/realregistry"
)

// described is the OpenAPI document as every answer in the tests is compared with it.
var described = sync.OnceValues(func() (object, error) {
	// The schemas are those of JSON Schema, which has another place for them.
	text := strings.ReplaceAll(string(httpapi.OpenAPI()), "#/components/schemas/", "#/$defs/")
	var d object
	err := json.Unmarshal([]byte(text), &d)
	return d, err
})

// schemas are those of the answers so far. To prepare one takes longer than all else.
var schemas sync.Map

func schemaFor(schema any, d object) (*jsonschema.Resolved, error) {
	name, err := json.Marshal(schema, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	if known, ok := schemas.Load(string(name)); ok {
		return known.(*jsonschema.Resolved), nil
	}
	data, err := json.Marshal(object{"allOf": []any{schema}, "$defs": at(d, "components", "schemas")})
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	resolved, err := s.Resolve(nil)
	if err == nil {
		schemas.Store(string(name), resolved)
	}
	return resolved, err
}

// checkAnswer compares an answer with the document: its status, its type and every member.
func checkAnswer(t testing.TB, r *http.Request, a answer) {
	t.Helper()
	pattern := strings.ReplaceAll(httpapi.PatternOf(r), "...}", "}")
	if pattern == "" || r.Method == http.MethodHead {
		return
	}
	d, err := described()
	if err != nil {
		t.Fatal(err)
	}
	where := r.Method + " " + pattern + " " + strconv.Itoa(a.status)
	response, _ := at(d, "paths", pattern, strings.ToLower(r.Method), "responses", strconv.Itoa(a.status)).(object)
	if ref, ok := response["$ref"].(string); ok {
		response, _ = at(d, "components", "responses", strings.TrimPrefix(ref, "#/components/responses/")).(object)
	}
	if response == nil {
		t.Errorf("%s is not in the OpenAPI document: %s", where, a.text)
		return
	}
	content, _ := response["content"].(object)
	kind := a.header.Get("Content-Type")
	described, ok := content[kind].(object)
	if !ok {
		if a.status != http.StatusNotModified {
			t.Errorf("%s: the OpenAPI document does not have the type %s", where, kind)
		}
		return
	}
	if kind != "application/json" {
		return
	}
	resolved, err := schemaFor(described["schema"], d)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal([]byte(a.text), &value); err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	if err := resolved.Validate(value); err != nil {
		t.Errorf("%s: the answer is not what the OpenAPI document says: %v\n%s", where, err, a.text)
	}
}

func TestDocumentIsServed(t *testing.T) {
	s := newSite(t, realregistry.Options{})
	got := s.get("/api/registry/v2/openapi.json")
	if got.status != http.StatusOK || got.text != string(httpapi.OpenAPI()) || got.header.Get("ETag") == "" {
		t.Errorf("%d %v", got.status, got.header)
	}
}
