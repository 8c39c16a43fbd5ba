package skill_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// check asks a box with one tool about arguments.
func check(t testing.TB, schema, args string) error {
	t.Helper()
	g := &given{fake: fake{name: "s"}, list: []skill.Tool{{Name: "tool", InputSchema: rawjson.Value(schema)}}}
	box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: g}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if len(box.Tools()) != 1 {
		t.Fatal("the tool was left out")
	}
	return box.Check(event.ToolCall{ToolName: "tool", Args: rawjson.Value(args)})
}

func TestCheck(t *testing.T) {
	const old = `"$schema":"http://json-schema.org/draft-07/schema#",`
	tests := []struct {
		name, schema, args string
		want               string // problems, one a line; "" when it fits
	}{
		{"no schema", ``, `{"a":1}`, ""},
		{"empty schema", `{}`, `{"a":1}`, ""},
		{"no arguments", `{"type":"object"}`, ``, ""},
		{"types fit", `{"properties":{"s":{"type":"string"},"n":{"type":"number"},"i":{"type":"integer"},"b":{"type":"boolean"},"l":{"type":"array"},"o":{"type":"object"},"z":{"type":"null"}}}`,
			`{"s":"","n":1.5,"i":2.0,"b":true,"l":[],"o":{},"z":null}`, ""},
		{"types do not", `{"properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":["array","null"]},"d":{"type":"object"},"e":{"type":"boolean"}}}`,
			`{"a":5,"b":1.5,"c":"x","d":[1],"e":{"x":1}}`,
			`a: expected string, got number 5
b: expected integer, got number 1.5
c: expected array or null, got string "x"
d: expected object, got array of 1 items
e: expected boolean, got object of 1 members`},
		{"a type that is none", `{"properties":{"a":{"type":"text"}}}`, `{"a":1}`, ""},
		{"missing", `{"properties":{"path":{"type":"string"}},"required":["path","mode"]}`, `{}`,
			"the arguments: \"path\" (string) is missing\nthe arguments: \"mode\" is missing"},
		{"unknown", `{"properties":{"path":{},"mode":{}},"additionalProperties":false}`, `{"paht":1}`, `the arguments: "paht" is unknown; known are mode, path`},
		{"others of a type", `{"additionalProperties":{"type":"string"}}`, `{"a":"x","b":1}`, `b: expected string, got number 1`},
		{"by pattern", `{"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`, `{"x-a":1,"y":1}`,
			"x-a: expected string, got number 1\nthe arguments: \"y\" is unknown"},
		{"nested", `{"properties":{"files":{"type":"array","items":{"type":"object","required":["path"]}}}}`, `{"files":[{"path":""},{}]}`, `files[1]: "path" is missing`},
		{"enum", `{"properties":{"a":{"enum":["x",1,null]}}}`, `{"a":"y"}`, `a: expected one of "x", 1, null, got string "y"`},
		{"enum fits", `{"properties":{"a":{"enum":["x",1,null]},"b":{"enum":[[1]]}}}`, `{"a":null,"b":[1]}`, ""},
		{"const", `{"properties":{"a":{"const":true}}}`, `{"a":false}`, `a: expected true, got boolean false`},
		{"numbers", `{"properties":{"a":{"minimum":1},"b":{"maximum":1},"c":{"exclusiveMinimum":1},"d":{"exclusiveMaximum":1},"e":{"multipleOf":0.1}}}`,
			`{"a":0,"b":2,"c":1,"d":1,"e":0.35}`,
			`a: expected a number of at least 1, got 0
b: expected a number of at most 1, got 2
c: expected a number above 1, got 1
d: expected a number below 1, got 1
e: expected a number that is a multiple of 0.1, got 0.35`},
		{"numbers fit", `{"properties":{"a":{"minimum":1,"maximum":1},"e":{"multipleOf":0.1}}}`, `{"a":1,"e":0.3}`, ""},
		{"text", `{"properties":{"a":{"minLength":2},"b":{"maxLength":1},"c":{"pattern":"^a+$"}}}`, `{"a":"日","b":"ab","c":"aab"}`,
			`a: expected at least 2 characters, got 1
b: expected at most 1 characters, got 2
c: expected text that matches ^a+$, got string "aab"`},
		{"lists", `{"properties":{"a":{"minItems":1},"b":{"maxItems":1},"c":{"uniqueItems":true},"d":{"contains":{"const":1}},"e":{"prefixItems":[{"type":"string"}],"items":false}}}`,
			`{"a":[],"b":[1,2],"c":[{"x":1},{"x":1}],"d":[2],"e":[1,2]}`,
			`a: expected at least 1 items, got 0
b: expected at most 1 items, got 2
c: expected different items, but those at 0 and 1 are the same
d: does not contain what the schema asks for
e[0]: expected string, got number 1
e[1]: is not allowed: number 2`},
		{"lists of draft-07", `{` + old + `"properties":{"e":{"items":[{"type":"string"}],"additionalItems":false}}}`, `{"e":["x",2]}`, `e[1]: is not allowed: number 2`},
		{"members", `{"minProperties":2,"propertyNames":{"maxLength":1},"dependentRequired":{"ab":["c"]}}`, `{"ab":1}`,
			`the arguments: expected at least 2 members, got 1
the arguments: "c" is missing, which is needed with "ab"
the arguments: "ab" is not a name that is allowed here`},
		{"dependencies of draft-07", `{` + old + `"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"c":1}`,
			"the arguments: \"b\" is missing, which is needed with \"a\"\nthe arguments: \"d\" is missing"},
		{"allOf", `{"allOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1}`, `the arguments: "b" is missing`},
		{"anyOf", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"object","required":["x","y"]}]}}}`, `{"a":{}}`,
			`a: fits none of the forms that are allowed here; the nearest: a: expected string, got object of 0 members`},
		{"oneOf", `{"properties":{"a":{"oneOf":[{"type":"number"},{"type":"integer"}]}}}`, `{"a":1}`, `a: fits 2 forms of which only one is allowed`},
		{"not", `{"properties":{"a":{"not":{"type":"null"}}}}`, `{"a":null}`, `a: is not allowed: null`},
		{"if", `{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1}`, `the arguments: "b" is missing`},
		{"else", `{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":2}`, `the arguments: "c" is missing`},
		{"reference", `{"properties":{"a":{"$ref":"#/$defs/x~1y"}},"$defs":{"x/y":{"type":"string"}}}`, `{"a":1}`, `a: expected string, got number 1`},
		{"reference of draft-07", `{` + old + `"properties":{"a":{"$ref":"#/definitions/x","type":"null"}},"definitions":{"x":{"type":"string"}}}`, `{"a":"x"}`, ""},
		{"reference into a list", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"$ref":"#/properties/a/anyOf/1"}}}`, `{"b":1}`, `b: expected null, got number 1`},
		{"a tree", `{"properties":{"v":{"type":"number"},"kids":{"type":"array","items":{"$ref":"#"}}}}`, `{"kids":[{"kids":[{"v":"x"}]}]}`, `kids[0].kids[0].v: expected number, got string "x"`},

		// What is not understood decides nothing, wherever it stands.
		{"a reference to the network", `{"properties":{"a":{"$ref":"http://127.0.0.1:1/schema"}}}`, `{"a":1}`, ""},
		{"a reference to a file", `{"$ref":"file:///etc/passwd"}`, `{"a":1}`, ""},
		{"a reference to nothing", `{"$ref":"#/$defs/none","not":{"$ref":"#none"}}`, `{"a":1}`, ""},
		{"a base of its own", `{"$defs":{"a":{"$id":"http://x.example/","not":{"$ref":"#/$defs/b"}},"b":{}},"properties":{"a":{"$ref":"#/$defs/a"}}}`, `{"a":1}`, ""},
		{"a pattern of another language", `{"properties":{"a":{"pattern":"(?=x)"},"b":{"not":{"pattern":"(?=x)"}},"c":{"oneOf":[{"pattern":"(?=x)"},{"type":"string"}]}}}`, `{"a":"y","b":"y","c":"y"}`, ""},
		{"an if of another language", `{"if":{"properties":{"a":{"pattern":"(?=x)"}}},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":"y"}`, ""},
		{"unevaluated", `{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"b":1}`, ""},
		{"no schema at all", `[1,2]`, `{"a":1}`, ""},
		{"nonsense", `{"properties":5,"required":"x"}`, `{"a":1}`, ""},
		{"null in it", `{"properties":{"a":null},"allOf":[null]}`, `{"a":1}`, ""},

		// Words of the server are made visible.
		{"hidden", `{"properties":{"a":{"enum":["\u200b"]}}}`, `{"a":"x\u001b"}`, `a: expected one of "<U+200B>", got string "x\u001b"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var wrong *skill.ArgumentError
			err := check(t, tt.schema, tt.args)
			if err != nil && !errors.As(err, &wrong) {
				t.Fatal(err)
			}
			got := ""
			if wrong != nil {
				got = strings.Join(wrong.Problems, "\n")
			}
			if got != tt.want {
				t.Errorf("problems\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// The whole text is short, and says that nothing happened.
func TestCheckText(t *testing.T) {
	err := check(t, `{"additionalProperties":false}`, `{"a":1}`)
	if want := "the arguments do not fit the input schema of the tool tool, so it was not called.\n- the arguments: \"a\" is unknown"; err == nil || err.Error() != want {
		t.Errorf("error %v\nwant %s", err, want)
	}
	var args strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&args, `,"%d%s":"%s"`, i, strings.Repeat("n", 300), strings.Repeat("v", 300))
	}
	err = check(t, `{"additionalProperties":{"type":"number"}}`, "{"+args.String()[1:]+"}")
	if err == nil || len(err.Error()) > 2200 || !strings.Contains(err.Error(), "\n- and more") {
		t.Errorf("error %v", err)
	}
}

func TestCheckIsNotForAll(t *testing.T) {
	schema := rawjson.Value(`{"required":["a"]}`)
	g := &given{fake: fake{name: "s"}, list: []skill.Tool{
		{Name: "own", InputSchema: schema, Checked: true}, {Name: "question", InputSchema: schema, Kind: skill.Interactive},
	}}
	box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: g, Prefix: true}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for name, wrong := range map[string]bool{"s__own": false, "s__question": true, "question": false, "none": false} {
		if err := box.Check(event.ToolCall{ToolName: name}); (err != nil) != wrong {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// M10 for schemas: none can make a check hang, panic or run out of stack. What becomes
// too expensive is not checked. A check that hangs is ended by the time limit of the test.
func TestHostileSchemas(t *testing.T) {
	deepArgs := strings.Repeat(`{"a":`, 90) + `1` + strings.Repeat("}", 90)
	wide := func(n int, s string) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }
	var chain strings.Builder // each level refers to the next twice
	for i := range 60 {
		fmt.Fprintf(&chain, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	long := strings.Repeat("a", 100_000)
	tests := []struct{ name, schema, args string }{
		{"itself", `{"$ref":"#"}`, `{}`},
		{"itself in circles", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}}}`, `{}`},
		{"not itself", `{"not":{"$ref":"#"}}`, `{}`},
		{"doubling", `{"$ref":"#/$defs/d0","$defs":{` + chain.String() + `"d60":{"type":"object"}}}`, `{}`},
		{"doubling with depth", `{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, deepArgs},
		{"doubling a choice", `{"anyOf":[{"properties":{"a":{"$ref":"#"}},"required":["b"]},{"properties":{"a":{"$ref":"#"}},"required":["c"]}]}`, deepArgs},
		{"deep", strings.Repeat(`{"not":`, 5000) + `{}` + strings.Repeat("}", 5000), `{}`},
		{"large", `{"allOf":[` + wide(100_000, `{"type":"string"}`) + `]}`, `{}`},
		{"many patterns", `{"properties":{"a":{"allOf":[` + wide(400, `{"pattern":"(x+x+)+y"}`) + `]}}}`, `{"a":"` + long + `"}`},
		{"large patterns", `{"properties":{"a":{"pattern":"` + strings.Repeat("(a?){1000}", 40) + `"}}}`, `{"a":"` + long + `"}`},
		{"long comparisons", `{"properties":{"a":{"anyOf":[` + wide(2000, `{"$ref":"#/$defs/e"}`) + `]}},"$defs":{"e":{"const":"` + long + `b"}}}`, `{"a":"` + long + `a"}`},
		{"long names", `{"allOf":[` + wide(5000, `{"additionalProperties":{"type":"string"}}`) + `]}`, `{"` + strings.Repeat(long, 10) + `":1}`},
		{"many references", `{"allOf":[` + func() string {
			var refs []string
			for i := range 5000 {
				refs = append(refs, fmt.Sprintf(`{"$ref":"#/x/%d"}`, i))
			}
			return strings.Join(refs, ",")
		}() + `],"x":{}}`, `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := check(t, tt.schema, tt.args); err != nil {
				t.Errorf("a verdict where none can be afforded: %.300v", err)
			}
		})
	}
}

// Whatever a server and a model write, a check ends, and its words are short and clean.
func FuzzCheck(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"type":"object","required":["a"]}`, `{}`},
		{`{"$ref":"#"}`, `{"a":[1,{}]}`},
		{`{"properties":{"a":{"pattern":"^(a+)+$","enum":["\u200b"]}}}`, `{"a":"x"}`},
		{`{"items":[{}],"additionalItems":false,"dependencies":{"a":["b"]},"if":{"not":{}},"then":null}`, `{"a":1}`},
		{`{"oneOf":[{"const":null},true,false],"contains":{},"prefixItems":[null]}`, `[null]`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, schema, args string) {
		g := &given{fake: fake{name: "s"}, list: []skill.Tool{{Name: "tool", InputSchema: rawjson.Value(schema)}}}
		box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: g}}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		err = box.Check(event.ToolCall{ToolName: "tool", Args: rawjson.Value(args)})
		if err != nil && (len(err.Error()) > 4096 || terminal.Reveal(err.Error()) != err.Error()) {
			t.Errorf("schema %q, arguments %q: %q", schema, args, err)
		}
	})
}

// Two calls of a tool are checked side by side.
func TestCheckFromSeveralGoroutines(t *testing.T) {
	g := &given{fake: fake{name: "s"}, list: []skill.Tool{{Name: "tool", InputSchema: rawjson.Value(
		`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"pattern":"^a$"}}}`)}}}
	box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: g}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if box.Check(event.ToolCall{ToolName: "tool", Args: rawjson.Value(`{"a":"b"}`)}) == nil {
				t.Error("fits")
			}
		})
	}
	all.Wait()
}

// Schemas that are applied inside each other are followed to a depth of 500, however
// cheap that is: the stack of the program is not for a server to fill. Beyond it there is
// no verdict.
func TestNesting(t *testing.T) {
	// Two schemas a level, that of the member and the one that it refers to; one for the
	// arguments, and one for v.
	const schema = `{"properties":{"a":{"$ref":"#"},"v":{"type":"number"}}}`
	for levels, found := range map[int]bool{1: true, 249: true, 250: false, 2000: false} {
		err := check(t, schema, strings.Repeat(`{"a":`, levels)+`{"v":"x"}`+strings.Repeat("}", levels))
		if (err != nil) != found {
			t.Errorf("%d levels: %v", levels, err)
		}
	}
}
