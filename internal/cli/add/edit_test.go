package add

import (
	"errors"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// One delegate is added, and nothing else changes.
func TestWithDelegate(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"no list":              {"# top\n[experts.a] # here\ninstruction = \"x\"\n", "# top\n[experts.a] # here\ndelegates = [\"@acme/b\"]\ninstruction = \"x\"\n"},
		"empty list":           {"[experts.a]\ninstruction = \"x\"\ndelegates = []\n", "[experts.a]\ninstruction = \"x\"\ndelegates = [\"@acme/b\"]\n"},
		"one line":             {"[experts.a]\ninstruction = \"x\"\ndelegates = [ \"@o/c\" ] # why\n", "[experts.a]\ninstruction = \"x\"\ndelegates = [ \"@o/c\", \"@acme/b\" ] # why\n"},
		"one line, comma":      {"[experts.a]\ninstruction = \"x\"\ndelegates = ['@o/c',]\n", "[experts.a]\ninstruction = \"x\"\ndelegates = ['@o/c', \"@acme/b\"]\n"},
		"lines":                {"[experts.a]\ninstruction = \"x\"\ndelegates = [\n  \"@o/c\", # first\n  \"@o/d\" # ], \"last\"\n]\n", "[experts.a]\ninstruction = \"x\"\ndelegates = [\n  \"@o/c\", # first\n  \"@o/d\", # ], \"last\"\n  \"@acme/b\"\n]\n"},
		"lines, comma":         {"[experts.a]\ninstruction = \"x\"\ndelegates = [\n\t\"@o/c\",\n]\n", "[experts.a]\ninstruction = \"x\"\ndelegates = [\n\t\"@o/c\",\n\t\"@acme/b\",\n]\n"},
		"lines, last bracket":  {"[experts.a]\ninstruction = \"x\"\ndelegates = [\n  \"@o/c\"]\n", "[experts.a]\ninstruction = \"x\"\ndelegates = [\n  \"@o/c\",\n  \"@acme/b\"]\n"},
		"windows":              {"[experts.a]\r\ninstruction = \"x\"\r\n", "[experts.a]\r\ndelegates = [\"@acme/b\"]\r\ninstruction = \"x\"\r\n"},
		"quoted name":          {"[experts.\"@me/a\"]\ninstruction = \"x\"\n[experts.other]\ninstruction = \"y\"\n", "[experts.\"@me/a\"]\ndelegates = [\"@acme/b\"]\ninstruction = \"x\"\n[experts.other]\ninstruction = \"y\"\n"},
		"with skills":          {"[experts.a]\ninstruction = \"\"\"\ndelegates = [\"@no/no\"]\n\"\"\"\n[experts.a.skills.\"@perstack/base\"]\ntype = \"mcpStdioSkill\"\n", "[experts.a]\ndelegates = [\"@acme/b\"]\ninstruction = \"\"\"\ndelegates = [\"@no/no\"]\n\"\"\"\n[experts.a.skills.\"@perstack/base\"]\ntype = \"mcpStdioSkill\"\n"},
		"without a line break": {"[experts.a]\ninstruction = \"x\"\ndelegates = []", "[experts.a]\ninstruction = \"x\"\ndelegates = [\"@acme/b\"]"},
		"inline":               {"experts = { a = { instruction = \"x\" } }\n", ""},
		"dotted":               {"experts.a.instruction = \"x\"\n", ""},
	} {
		expert := "a"
		if name == "quoted name" {
			expert = "@me/a"
		}
		got, err := withDelegate(c.before, expert, "@acme/b")
		switch {
		case c.after == "" && !errors.Is(err, errByHand):
			t.Errorf("%s: %v, %q", name, err, got)
		case c.after != "" && (err != nil || got != c.after):
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c.after)
		}
	}
}

// A copy is an Expert of the file.
func TestWithTable(t *testing.T) {
	table := registrytest.Minimal("@acme/b@1.0.0", "@acme/c@1.0.0").TOML("b")
	for _, before := range []string{"", "[experts.a]\ninstruction = \"x\"", "[experts.a]\r\ninstruction = \"x\"\r\n", "# only a comment\n"} {
		got, err := withTable(before, "b", table)
		if err != nil || !strings.HasPrefix(got, before) {
			t.Errorf("%q: %v\n%s", before, err, got)
		}
	}
	if _, err := withTable("[experts.b]\ninstruction = \"x\"\n", "b", table); !errors.Is(err, errByHand) {
		t.Errorf("a second one with the name: %v", err)
	}
}

// However a file is written, it is changed as it should, or not at all.
func FuzzWithDelegate(f *testing.F) {
	for _, text := range []string{
		"[experts.a]\ninstruction = 'x'\ndelegates = ['b', # c\n]\n", "[experts.a]\ninstruction = 'x'\n", "experts.a = {instruction='x', delegates=[]}",
		"[experts]\na.instruction = 'x'\na.delegates = [\n\"\\\"\",'''b''']\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		changed, err := withDelegate(text, "a", "@acme/b")
		if err != nil {
			return
		}
		config, problems := manifest.Parse(manifest.FileName, []byte(changed))
		if problems.Err() != nil {
			t.Fatal(problems)
		}
		if e, ok := config.Lookup("a"); !ok || !hasDelegate(e, "@acme/b") {
			t.Errorf("%q became %q", text, changed)
		}
	})
}
