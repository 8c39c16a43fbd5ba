package event

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/rawjson"
)

// The files in testdata/events are one event of each type in full form, as
// runtime.md describes it. They are the promise to programs that read our output:
// change one only together with the documentation.

func TestGoldenEvents(t *testing.T) {
	for name := range kindsByName {
		t.Run(string(name), func(t *testing.T) {
			data := readFile(t, "testdata/events/"+string(name)+".json")
			e, err := Unmarshal(data)
			if err != nil {
				t.Fatal(err)
			}
			if e.Type() != name {
				t.Errorf("decoded as %s", e.Type())
			}
			if u := unknownOf(e); u != nil {
				t.Errorf("members without a field: %s", u)
			}
			again, err := Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			diffJSON(t, data, again)
		})
	}
}

// TestEveryBodyIsInTheTable reads the source, since Go cannot list the implementations of
// an interface: a new type without a line in kinds.go or without a golden fails here.
func TestEveryBodyIsInTheTable(t *testing.T) {
	bodies := bodyNames(t)
	if len(bodies) != len(kinds) || len(kinds) != len(kindsByName) || len(kinds) != len(kindsByBody) {
		t.Errorf("%d bodies, %d lines in the table, %d names, %d types", len(bodies), len(kinds), len(kindsByName), len(kindsByBody))
	}
	for _, goName := range bodies {
		jsonName := strings.ToLower(goName[:1]) + goName[1:]
		k := kindsByName[Type(jsonName)]
		if k == nil {
			t.Errorf("%s is not called %q in kinds.go", goName, jsonName)
			continue
		}
		e, err := k.decode([]byte(`{}`))
		if err != nil {
			t.Errorf("%s: %v", goName, err)
			continue
		}
		if got := reflect.TypeOf(e.Body).Name(); got != goName || e.Type() != k.name {
			t.Errorf("%q is decoded as %s of type %q, want %s", jsonName, got, e.Type(), goName)
		}
		if _, err := os.Stat("testdata/events/" + jsonName + ".json"); err != nil {
			t.Errorf("%s has no golden: %v", goName, err)
		}
	}
}

func TestGoldenJournal(t *testing.T) {
	for line := range bytes.Lines(readFile(t, "testdata/journal.jsonl")) {
		e, err := Unmarshal(line)
		if err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		again, err := Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		diffJSON(t, line, again)
	}
}

// TestGoldenCheckpoint has the example of runtime.md, section 2.6.
func TestGoldenCheckpoint(t *testing.T) {
	data := readFile(t, "testdata/checkpoint.json")
	var cp Checkpoint
	if err := json.Unmarshal(data, &cp); err != nil {
		t.Fatal(err)
	}
	if cp.Status != StatusStoppedByInteractiveTool || len(cp.Messages) != 3 || cp.PendingToolCalls[0].ToolName != "askUser" {
		t.Errorf("decoded as %+v", cp)
	}
	again, err := json.Marshal(cp, encoding)
	if err != nil {
		t.Fatal(err)
	}
	diffJSON(t, data, again)
}

func TestGoldenParts(t *testing.T) {
	data := readFile(t, "testdata/parts.json")
	var parts []Part
	if err := json.Unmarshal(data, &parts); err != nil {
		t.Fatal(err)
	}
	seen := make(map[PartType]bool)
	for _, p := range parts {
		seen[p.Type] = true
	}
	for _, want := range partTypes {
		if !seen[want] {
			t.Errorf("%s is not in testdata/parts.json", want)
		}
	}
	again, err := json.Marshal(parts, encoding)
	if err != nil {
		t.Fatal(err)
	}
	diffJSON(t, data, again)
}

var partTypes = []PartType{
	TextPart, ImageURLPart, ImageInlinePart, ImageBinaryPart, FileURLPart, FileInlinePart, FileBinaryPart,
	ToolCallPart, ThinkingPart, ToolResultPart, ProviderPart,
}

// bodyNames returns the types that have a method isBody.
func bodyNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if decl, ok := d.(*ast.GenDecl); ok && decl.Tok == token.TYPE {
				names = append(names, withExtra(decl.Specs)...)
			}
		}
	}
	return names
}

// withExtra returns the names of the structs that embed Extra.
func withExtra(types []ast.Spec) (names []string) {
	for _, spec := range types {
		structure, ok := spec.(*ast.TypeSpec).Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, field := range structure.Fields.List {
			if embedded, ok := field.Type.(*ast.Ident); ok && field.Names == nil && embedded.Name == "Extra" {
				names = append(names, spec.(*ast.TypeSpec).Name.Name)
			}
		}
	}
	return names
}

// unknownOf returns the members of e's body that no field took.
func unknownOf(e Event) map[string]rawjson.Value {
	return reflect.ValueOf(e.Body).FieldByName("Unknown").Interface().(map[string]rawjson.Value)
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// diffJSON compares two JSON texts without regard to white space and order.
func diffJSON(t *testing.T, want, got []byte) {
	t.Helper()
	if d := cmp.Diff(indented(t, want), indented(t, got)); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func indented(t *testing.T, data []byte) string {
	t.Helper()
	v := rawjson.Value(bytes.Clone(data))
	if err := (*jsontext.Value)(&v).Canonicalize(); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	if err := (*jsontext.Value)(&v).Indent(); err != nil {
		t.Fatal(err)
	}
	return string(v)
}
