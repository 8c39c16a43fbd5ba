package manifest

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
)

func referencePage(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/perstack-toml.md")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

// section is the part of the reference below a heading, up to the next one.
func section(t *testing.T, heading string) string {
	t.Helper()
	_, text, found := strings.Cut(referencePage(t), "\n"+heading+"\n")
	if !found {
		t.Fatalf("docs/perstack-toml.md has no heading %q", heading)
	}
	text, _, _ = strings.Cut(text, "\n#")
	return text
}

// rows are the columns of each row of the table that starts with this header.
func rows(t *testing.T, text, header string) (all [][]string) {
	t.Helper()
	_, text, found := strings.Cut(text, "\n"+header)
	if !found {
		t.Fatalf("no table %q", header)
	}
	for i, line := range strings.Split(text, "\n") {
		switch {
		case i < 2:
		case !strings.HasPrefix(line, "|"):
			return all
		default:
			columns := strings.Split(strings.Trim(line, "|"), "|")
			for i := range columns {
				columns[i] = strings.TrimSpace(columns[i])
			}
			all = append(all, columns)
		}
	}
	return all
}

var inCode = regexp.MustCompile("`([^`]*)`")

func codes(column string) (all []string) {
	for _, m := range inCode.FindAllStringSubmatch(column, -1) {
		all = append(all, m[1])
	}
	return all
}

// The tables of the reference have a row for every key of the schema, and no other;
// what is required, the words to choose from and the defaults are the same.
func TestJSONSchemaAndReferenceAgree(t *testing.T) {
	all := allTables
	for _, c := range []struct {
		heading, header string
		schema          *jsonSchema
	}{
		{"## Top level", "| key | value |", topSchema()},
		{"### Docker", "| key | value |", dockerSchema()},
		{"### Sandbox", "| key | value |", schemaOf("", sandboxKeys())},
		{"### Prices", "| key | value |", schemaOf("", all.prices())},
		{"### Models", "| key | value |", schemaOf("", all.models())},
		{"### Registries", "| key | value |", schemaOf("", registryKeys(false))},
		{"## Provider", "| key | value |", providerSchema()},
		{"## Experts", "| key | value |", schemaOf("", all.expert())},
		{"## Skills", "| key | types |", skillSchema(false)},
	} {
		required := c.schema.Required
		for _, variant := range c.schema.AllOf {
			required = union(required, variant.Then.Required)
		}
		described := map[string]bool{}
		for _, row := range rows(t, section(t, c.heading), c.header) {
			key := codes(row[0])[0]
			described[key] = true
			i := slices.IndexFunc(c.schema.Properties, func(p property) bool { return p.name == key && p.is.Taplo == nil })
			if i < 0 {
				t.Errorf("%s: the schema has no key %s", c.heading, key)
				continue
			}
			compareRow(t, c.heading+" "+key, row, c.schema.Properties[i].is, slices.Contains(required, key))
		}
		for _, p := range c.schema.Properties {
			if p.is.Taplo != nil {
				if !strings.Contains(referencePage(t), "`"+p.name+"`") {
					t.Errorf("the older key %s is not mentioned", p.name)
				}
			} else if !described[p.name] {
				t.Errorf("%s: the key %s has no row", c.heading, p.name)
			}
		}
	}
}

func compareRow(t *testing.T, what string, row []string, s *jsonSchema, required bool) {
	t.Helper()
	text := strings.Join(row[1:], " | ") // without the key: requiredEnv is not required
	if strings.Contains(text, "required") != required {
		t.Errorf("%s: required is %v, but the row says %q", what, required, text)
	}
	choices := s.Enum
	if len(s.AnyOf) > 0 {
		choices = s.AnyOf[0].Enum
	}
	for _, word := range choices {
		if !strings.Contains(text, "`"+word+"`") && !strings.Contains(text, "`\""+word+"\"`") {
			t.Errorf("%s: %s is not in the row %q", what, word, text)
		}
	}
	if s.Default != nil && !strings.Contains(row[len(row)-1], fmt.Sprint(s.Default)) {
		t.Errorf("%s: the default is %v, but the row says %q", what, s.Default, row[len(row)-1])
	}
	for _, limit := range []int{s.MaxItems, s.MaxProperties, s.MaxLength} {
		if limit > 0 && limit != 8 && regexp.MustCompile(`(up to|at most) \d`).MatchString(text) && !strings.Contains(text, fmt.Sprint(limit)) {
			t.Errorf("%s: the limit is %d, but the row says %q", what, limit, text)
		}
	}
}

// The reference says which keys belong to which provider and which type of skill.
func TestJSONSchemaVariantsAreThoseOfTheReference(t *testing.T) {
	documented, schema := map[string][]string{}, map[string][]string{}
	for _, row := range rows(t, section(t, "## Provider"), "| provider | keys") {
		documented[codes(row[0])[0]] = codes(row[1])
	}
	for _, variant := range providerSchema().AllOf {
		schema[variant.If.Properties[0].is.Const] = variant.Then.Properties[0].is.PropertyNames.Enum
	}
	compareVariants(t, documented, schema)

	documented, schema = map[string][]string{}, map[string][]string{}
	for _, row := range rows(t, section(t, "## Skills"), "| key | types |") {
		for short, kind := range map[string]expert.SkillType{"stdio": expert.StdioSkill, "SSE": expert.SSESkill, "HTTP": expert.HTTPSkill, "interactive": expert.InteractiveSkill} {
			if row[1] == "all" || row[1] == "MCP" && kind != expert.InteractiveSkill || slices.Contains(strings.Split(row[1], ", "), short) {
				documented[string(kind)] = append(documented[string(kind)], codes(row[0])[0])
			}
		}
	}
	for _, variant := range skillSchema(false).AllOf {
		schema[variant.If.Properties[0].is.Const] = variant.Then.PropertyNames.Enum
	}
	compareVariants(t, documented, schema)
}

func compareVariants(t *testing.T, documented, schema map[string][]string) {
	t.Helper()
	for _, m := range []map[string][]string{documented, schema} {
		for _, keys := range m {
			slices.Sort(keys)
		}
	}
	if d := cmp.Diff(documented, schema); d != "" {
		t.Errorf("(-reference +schema)\n%s", d)
	}
}

// What has no table of its own is named where it is explained.
func TestReferenceNamesTheRest(t *testing.T) {
	provider, ask, settings := section(t, "### Tools of the provider"), section(t, "### Questions: interactiveSkill"), section(t, "## Provider")
	for _, s := range []struct {
		text string
		is   *jsonSchema
	}{{provider, providerSkillSchema()}, {provider, schemaOf("", optionKeys())}, {ask, toolsSchema().AdditionalProperties.(*jsonSchema)},
		{settings, schemaOf("", guardrailKeys())}, {settings, schemaOf("", safetyKeys())}} {
		for _, p := range s.is.Properties {
			for _, word := range append([]string{p.name}, names(p.is.Properties)...) {
				if p.is.Taplo == nil && !regexp.MustCompile("[`{ ]"+word+"(`| = )").MatchString(s.text) {
					t.Errorf("%s is not named in %.60q", word, s.text)
				}
			}
		}
	}
	for _, word := range union(harmCategories, harmThresholds) {
		if !strings.Contains(settings, "`"+word+"`") {
			t.Errorf("%s is not named", word)
		}
	}
	var tools []string
	for _, row := range rows(t, provider, "| provider | names") {
		tools = union(tools, codes(row[1]))
	}
	compareVariants(t, map[string][]string{"tools": tools}, map[string][]string{"tools": providerToolNames()})
}

func names(ps properties) (all []string) {
	for _, p := range ps {
		all = append(all, p.name)
	}
	return all
}

// union lists the words of all lists once, in the order of their first appearance.
func union(lists ...[]string) (all []string) {
	for _, word := range slices.Concat(lists...) {
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}
