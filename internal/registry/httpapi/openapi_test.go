package httpapi

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/card"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// schemaTypes are the types that the document describes, by the names that it has for them.
func schemaTypes() map[string]reflect.Type {
	return map[string]reflect.Type{
		"Error": reflect.TypeFor[api.Error](), "Discovery": reflect.TypeFor[api.Discovery](), "Log": reflect.TypeFor[api.Log](),
		"Entry": reflect.TypeFor[api.Entry](), "Lookup": reflect.TypeFor[api.Lookup](), "LeafProof": reflect.TypeFor[leafProof](), "GrowthProof": reflect.TypeFor[growthProof](),
		"LogKeys": reflect.TypeFor[api.LogKeys](), "Rotation": reflect.TypeFor[tlog.Rotation](),
		"Resolve": reflect.TypeFor[api.Resolve](), "Resolved": reflect.TypeFor[api.Resolved](), "Expert": reflect.TypeFor[api.Expert](), "Version": reflect.TypeFor[api.Version](),
		"Package": reflect.TypeFor[api.Package](), "Organization": reflect.TypeFor[api.Organization](), "Summary": reflect.TypeFor[api.Summary](), "Page": reflect.TypeFor[api.Page](),
		"Changes": reflect.TypeFor[api.Changes](), "Publish": reflect.TypeFor[api.Publish](), "Published": reflect.TypeFor[api.Published](), "Validated": reflect.TypeFor[validated](),
		"SetStatus": reflect.TypeFor[api.SetStatus](), "TagRequest": reflect.TypeFor[tagged](), "TransferRequest": reflect.TypeFor[transfer](), "Transferred": reflect.TypeFor[transferred](),
		"Card": reflect.TypeFor[shownCard](), "Ability": reflect.TypeFor[card.Ability](),
		"Transfer": reflect.TypeFor[api.Transfer](), "TransferList": reflect.TypeFor[transferList](), "PolicyRequest": reflect.TypeFor[policy](),
		"Whoami": reflect.TypeFor[api.Whoami](), "KeyInfo": reflect.TypeFor[api.KeyInfo](), "CreateKey": reflect.TypeFor[api.CreateKey](), "CreatedKey": reflect.TypeFor[api.CreatedKey](),
		"KeyList": reflect.TypeFor[keyList](), "OrganizationList": reflect.TypeFor[organizationList](), "NewOrganization": reflect.TypeFor[newOrganization](),
		"Binding": reflect.TypeFor[api.Binding](), "BindingList": reflect.TypeFor[bindingList](), "NewBinding": reflect.TypeFor[newBinding](), "ExchangeRequest": reflect.TypeFor[exchange1](),
		"Report": reflect.TypeFor[api.Report](), "ReportList": reflect.TypeFor[reportList](), "NewReport": reflect.TypeFor[newReport](), "Reported": reflect.TypeFor[reported](),
		"CloseRequest": reflect.TypeFor[closing](), "QuarantineRequest": reflect.TypeFor[withholding](), "AuditEntry": reflect.TypeFor[api.AuditEntry](),
		"Statistics": reflect.TypeFor[statistics](), "DayReads": reflect.TypeFor[api.DayReads](),
		"Expert1": reflect.TypeFor[expert1](), "Owner1": reflect.TypeFor[owner1](), "Log1": reflect.TypeFor[log1](), "Delegate1": reflect.TypeFor[delegate1](),
		"StdioSkill1": reflect.TypeFor[stdio1](), "SSESkill1": reflect.TypeFor[sse1](), "InteractiveSkill1": reflect.TypeFor[interactive1](), "Tool1": reflect.TypeFor[tool1](),
		"Digest1": reflect.TypeFor[digest1](), "Answer1": reflect.TypeFor[answer1](), "List1": reflect.TypeFor[list1](), "Meta1": reflect.TypeFor[meta1](),
		"VersionList1": reflect.TypeFor[versionList1](), "Create1Request": reflect.TypeFor[create1](), "Skill1Request": reflect.TypeFor[asked1](), "Change1Request": reflect.TypeFor[change1](),
	}
}

// A document is what the tests read of the OpenAPI document.
type document struct {
	OpenAPI    string                          `json:"openapi"`
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas map[string]struct {
			Properties           map[string]any `json:"properties"`
			Required             []string       `json:"required"`
			AdditionalProperties any            `json:"additionalProperties"`
		} `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	Summary    string `json:"summary"`
	Parameters []struct {
		Name string `json:"name"`
		In   string `json:"in"`
	} `json:"parameters"`
	RequestBody any            `json:"requestBody"`
	Responses   map[string]any `json:"responses"`
}

func read(t *testing.T) *document {
	t.Helper()
	d := &document{}
	if err := json.Unmarshal(openAPI, d); err != nil {
		t.Fatal(err)
	}
	return d
}

// The document has every route with its parameters, and no other.
func TestDocumentedRoutes(t *testing.T) {
	d := read(t)
	documented := map[string]bool{}
	for path, methods := range d.Paths {
		for method, o := range methods {
			documented[strings.ToUpper(method)+" "+path] = true
			var inPath []string
			for _, p := range o.Parameters {
				if p.In == "path" {
					inPath = append(inPath, "{"+p.Name+"}")
				}
			}
			var want []string
			for _, segment := range strings.Split(path, "/") {
				if strings.HasPrefix(segment, "{") {
					want = append(want, segment)
				}
			}
			if diff := cmp.Diff(want, inPath); diff != "" {
				t.Errorf("%s %s: %s", method, path, diff)
			}
			if o.Summary == "" || o.Responses["200"] == nil || (method == "post" || method == "put") != (o.RequestBody != nil) {
				t.Errorf("%s %s has no summary, no success, or a body where none belongs", method, path)
			}
		}
	}
	for _, r := range (&Handler{}).table() {
		name := r.method + " " + strings.ReplaceAll(r.pattern, "...}", "}")
		if !documented[name] {
			t.Errorf("%s is not in the document", name)
		}
		delete(documented, name)
	}
	for name := range documented {
		t.Errorf("%s is in the document, and no route", name)
	}
}

// The document has every member of every type, and says which are always there.
func TestDocumentedSchemas(t *testing.T) {
	d := read(t)
	known := schemaTypes()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(d.Components.Schemas))); diff != "" {
		t.Error(diff)
	}
	for name, of := range known {
		s := d.Components.Schemas[name]
		names, always := membersOf(of)
		if diff := cmp.Diff(names, slices.Sorted(maps.Keys(s.Properties))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if s.AdditionalProperties != false {
			t.Errorf("%s allows other members", name)
		}
		slices.Sort(s.Required)
		if isRequest := len(s.Required) == 0; !isRequest {
			if diff := cmp.Diff(always, s.Required); diff != "" {
				t.Errorf("%s requires: %s", name, diff)
			}
		}
	}
}

// membersOf lists the members of a type in JSON, and those that are always there.
func membersOf(of reflect.Type) (all, always []string) {
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Anonymous {
			inner, fixed := membersOf(f.Type)
			all, always = append(all, inner...), append(always, fixed...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		all = append(all, name)
		if options == "" {
			always = append(always, name)
		}
	}
	slices.Sort(all)
	slices.Sort(always)
	return all, always
}
