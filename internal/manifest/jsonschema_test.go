package manifest

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gotoml "github.com/pelletier/go-toml/v2"

	"github.com/perstack-go/perstack/internal/testkit"

	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/model"
)

// docs/perstack.schema.json is what the program prints. go test -update writes it.
func TestJSONSchemaCopy(t *testing.T) {
	testkit.Golden(t, filepath.Join("..", "..", "..", "docs", "perstack.schema.json"), string(JSONSchema()))
	if !bytes.Equal(JSONSchema(), JSONSchema()) {
		t.Error("two calls give different bytes")
	}
}

func decodeTOML(t *testing.T, text string) map[string]any {
	t.Helper()
	doc := map[string]any{}
	if err := gotoml.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &doc); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return doc
}

// richFiles have every table that there is, and every kind of skill and provider. They
// are small, because they are parsed thousands of times.
func richFiles() map[string]string {
	files := map[string]string{
		"top":     "",
		"base":    expertWith("[experts.a.skills.\"@perstack/base\"]\ntype = 'mcpStdioSkill'\npick = ['think']"),
		"builtin": expertWith("providerSkills = [{type = 'builtin', skillId = 'pdf'}]"),
		"options": expertWith("[experts.a.providerToolOptions]\nwebSearch = {}\nwebFetch = {}\nfileSearch = {}"),
		"setting": settingOf("openai", "headers = {X-Team = 'blue'}"),
		"custom":  expertWith("providerSkills = [{type = 'custom', name = 'n', definition = 'd'}]"),
		"package": skillWith("mcpStdioSkill", "command = 'npx'\npackageName = 'x'"),
		"program": skillWith("mcpStdioSkill", "command = 'server'"),
		"based":   expertWith("[experts.a.skills.\"@perstack/base\"]\ntype = 'mcpStdioSkill'\npackageName = '@perstack/base'"),
		"http":    skillWith("mcpHttpSkill", "endpoint = 'https://a.example'"),
		"sse":     skillWith("mcpSseSkill", "endpoint = 'https://a.example'"),
		"ask":     skillWith("interactiveSkill", "tools.t = {inputJsonSchema = '{}'}\n[prices.m]\ninput = 1\noutput = 2.5"),
		"rule":    "[[rules]]\ntool = 'exec'\ncommand = 'git push **'\ndo = 'ask'",
		"store":   "[snapshots]\nmode = 'required'",
		"docker":  "[docker]\nmemory = '1GiB'",
		"models":  "[models.m]\nreasoning = 'effort'\nefforts = ['low']",
		"guard":   settingOf("amazon-bedrock", "guardrail = {identifier = 'g', version = '1'}"),
		"safety":  settingOf("google-vertex", "safetySettings = [{category = 'HARM_CATEGORY_HARASSMENT', threshold = 'BLOCK_NONE'}]"),
		"extra":   settingOf("ollama", "extraBody = {a = 1, b = [{c = 'x'}]}"),
	}
	for _, p := range model.Providers() {
		files["provider "+p] = settingOf(p, "")
	}
	return files
}

// Everything that Parse accepts without a word, the schema accepts: examples, what
// the pages show, and files that use everything.
func TestJSONSchemaAcceptsGoodFiles(t *testing.T) {
	v := newValidator(t)
	files := richFiles()
	files["full"] = full
	paths, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", FileName))
	if err != nil || len(paths) < 3 {
		t.Fatalf("%d examples, error %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = string(data)
	}
	page := referencePage(t)
	for i, m := range regexp.MustCompile("(?s)\n```toml\n(.*?)\n```\n").FindAllStringSubmatch(page, -1) {
		files["docs block "+string(rune('a'+i))] = m[1]
	}
	for _, older := range []string{"temperature = 0.5", "runtime = 'perstack'", "", "experts = {}", "[experts.a.skills]\n[experts.a]\ninstruction = 'x'"} {
		files[older] = older
	}
	if len(files) < 35 {
		t.Errorf("only %d files", len(files))
	}
	for name, text := range files {
		if _, ps := Parse(FileName, []byte(text)); ps.Err() != nil {
			t.Errorf("%s: %v", name, ps.Err())
		}
		if wrong := v.file(decodeTOML(t, text)); len(wrong) > 0 {
			t.Errorf("%s: the schema refuses %q", name, wrong)
		}
	}
}

// In the file in which nearly everything is wrong, the schema finds what a schema can.
func TestJSONSchemaFindsProblems(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "dozen.toml"))
	if err != nil {
		t.Fatal(err)
	}
	wrong := newValidator(t).file(decodeTOML(t, string(text)))
	_, ps := Parse(FileName, text)
	var missed []string
	for _, p := range ps {
		if !p.Warning && !slices.Contains(wrong, p.Path) {
			missed = append(missed, p.Path+" "+p.Message)
		}
	}
	want := []string{
		"experts.helper.delegates.0 an expert cannot delegate to itself",
		`experts.helper.skills.search.requiredEnv.1 "ld_preload" is protected`,
		`experts.helper.skills.search.requiredEnv.2 "PERSTACK_API_KEY" belongs to perstack itself`,
		"experts.helper.skills.search.allowedDomains.1 punycode domains (xn--) are not allowed",
		"experts.helper.skills.remote.endpoint must be a public HTTPS URL: its host is private",
	}
	missed = slices.DeleteFunc(missed, func(m string) bool {
		return strings.Contains(m, "the tool name") || strings.Contains(m, "is not JSON")
	})
	if d := cmp.Diff(want, missed); d != "" {
		t.Errorf("problems that the schema does not find (-want +got)\n%s", d)
	}
}

// Every table has the keys that the parser reads there, no more and no fewer. The
// parser is asked: about a key unlike any other it says which ones it knows.
func TestJSONSchemaKeysAreThoseOfTheParser(t *testing.T) {
	v := newValidator(t)
	seen := map[string]bool{}
	for name, text := range richFiles() {
		doc := decodeTOML(t, text)
		eachTable(v.root, "", doc, func(path string, schema, table map[string]any) {
			const strange = "0000000000"
			table[strange] = int64(1)
			defer delete(table, strange)
			at := toml.PathTo(path, strange)
			_, ps := Parse(FileName, encodeTOML(t, doc))
			i := slices.IndexFunc(ps, func(p toml.Problem) bool { return p.Path == at && p.Message == "unknown key" })
			if i < 0 || !slices.Contains(v.file(doc), at) {
				t.Fatalf("%s: %s is accepted; problems %v", name, at, ps)
			}
			known, ok := strings.CutPrefix(ps[i].Hint, "known here: ")
			if !ok {
				t.Fatalf("%s: unexpected hint %q", name, ps[i].Hint)
			}
			want := strings.Split(known, ", ")
			slices.Sort(want)
			if d := cmp.Diff(want, keysOf(v, doc, path, schema, table)); d != "" {
				t.Errorf("%s: keys of %q (-parser +schema)\n%s", name, path, d)
			}
			seen[strings.Join(slices.Sorted(maps.Keys(asObject(schema["properties"]))), " ")] = true
		})
	}
	if len(seen) != 19 { // top, rule, snapshots, docker, price, model, provider, setting, guardrail, safety setting, expert, skill, base skill, tool, provider skill, options and three of them
		t.Errorf("%d kinds of tables were looked at:\n%s", len(seen), strings.Join(slices.Sorted(maps.Keys(seen)), "\n"))
	}
}

// keysOf are the keys that the schema lets a table of doc have, given what the table
// and those around it say of themselves.
func keysOf(v *validator, doc map[string]any, path string, schema, table map[string]any) (keys []string) {
	for key, s := range asObject(schema["properties"]) {
		if asObject(s)["x-taplo"] != nil {
			continue
		}
		if _, set := table[key]; !set {
			table[key] = anything{}
			refused := slices.Contains(v.file(doc), toml.PathTo(path, key))
			delete(table, key)
			if refused {
				continue
			}
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Every key says in one sentence what it is for, and what values it takes.
func TestJSONSchemaDescribesEveryKey(t *testing.T) {
	var walk func(path string, schema map[string]any)
	walk = func(path string, schema map[string]any) {
		about, _ := schema["description"].(string)
		if !strings.HasSuffix(about, ".") || strings.Contains(strings.ReplaceAll(strings.TrimSuffix(about, "."), "*. ", ""), ". ") {
			t.Errorf("%s is described as %q", path, about)
		}
		if schema["type"] == nil && schema["anyOf"] == nil && schema["x-taplo"] == nil {
			t.Errorf("%s may have any value", path)
		}
		for key, s := range asObject(schema["properties"]) {
			walk(toml.PathTo(path, key), asObject(s))
		}
		for _, word := range []string{"items", "additionalProperties"} {
			if s := asObject(schema[word]); s != nil && s["anyOf"] == nil {
				walk(toml.PathTo(path, word), s)
			}
		}
	}
	walk("", newValidator(t).root)
}
