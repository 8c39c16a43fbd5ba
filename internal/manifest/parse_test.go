package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/model"

	"github.com/perstack-go/perstack/internal/toml"
)

// lines are problems as they are printed.
func lines(ps toml.Problems) []string {
	var out []string
	for _, p := range ps {
		out = append(out, p.String())
	}
	return out
}

// check parses text and compares all problems, positions included.
func check(t *testing.T, text string, want ...string) *Config {
	t.Helper()
	c, ps := Parse("p.toml", []byte(text))
	if d := cmp.Diff(want, lines(ps)); d != "" {
		t.Errorf("problems of\n%.2000s\n(-want +got)\n%s", text, d)
	}
	if (c == nil) != (ps.Err() != nil) {
		t.Errorf("config %v with error %v", c, ps.Err())
	}
	return c
}

// expertWith is a file with one expert that has more keys. They start on line 3.
func expertWith(keys string) string { return "[experts.a]\ninstruction = \"x\"\n" + keys }

// Every problem of a bad file is reported, in the order of the file.
func TestManyProblemsAtOnce(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "dozen.toml"))
	if err != nil {
		t.Fatal(err)
	}
	c, ps := Parse("perstack.toml", text)
	if c != nil {
		t.Error("a file with errors gives a config")
	}
	got := strings.Join(lines(ps), "\n") + "\n"
	testkit.Golden(t, "dozen.golden", got)
	if n := len(ps.Err().(toml.Problems)) + len(ps.Warnings()); n != len(ps) || n < 12 {
		t.Errorf("%d problems, of which %d are errors or warnings", len(ps), n)
	}
}

func TestSyntax(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no value":     {"model =", `p.toml:1:7: expected value, not end of input`},
		"no quotes":    {"model = claude", "p.toml:1:9: unexpected character U+0063 'c' at start of value; put text in quotes"},
		"open string":  {"model = \"a\nb\"", `p.toml:1:11: basic strings cannot have new lines; text of several lines stands between """ and """`},
		"curly quotes": {"model = “claude”", `p.toml:1:9: unexpected character U+201C '“' at start of value; it is a typographic quote; write " instead`},
		"curly end":    {"model = \"claude”\n", `p.toml:1:17: basic strings cannot have new lines; the line has typographic quotes; write " instead`},
		"curly key":    {"[experts.“a”]", `p.toml:1:10: invalid character at start of key: U+201C '“'; it is a typographic quote; write " instead`},
		"other script": {"model = é", `p.toml:1:9: unexpected character U+00E9 'é' at start of value; put text in quotes`},
		"three values": {"model = claude\nruntime = local\n[experts.a]\ninstruction = do it\nmaxStep = 1", "p.toml:1:9: unexpected character U+0063 'c' at start of value; put text in quotes\n" +
			"p.toml:2:11: unexpected character U+006C 'l' at start of value; put text in quotes\n" +
			"p.toml:4:15: unexpected character U+0064 'd' at start of value; put text in quotes\n" +
			"p.toml:5:1: experts.a.maxStep: unknown key; did you mean \"maxSteps\"?"},
		"open array":   {"[experts.a]\ndelegates = [b,\n'c']\ninstruction = x", "p.toml:2:14: unexpected character U+0062 'b' at start of value; put text in quotes"},
		"broken table": {"[experts.a/b]\ninstruction = x", `p.toml:1:11: expected ']' to close table name; put names with other characters than letters, digits, - and _ in quotes, like [experts."@acme/writer"]`},
		"scoped table": {"[experts.@acme/w]", `p.toml:1:10: invalid character at start of key: U+0040 '@'; put names with @ or / in quotes, like [experts."@acme/writer"]`},
		"slash":        {"[experts.acme/w]", `p.toml:1:14: expected ']' to close table name; put names with other characters than letters, digits, - and _ in quotes, like [experts."@acme/writer"]`},
		"key twice":    {"maxSteps = 1\nmaxSteps = 2", `p.toml:2:1: maxSteps: defined twice; the first is on line 1`},
		"inline twice": {"provider = {providerName = 'ollama', providerName = 'ollama'}", `p.toml:1:38: provider.providerName: defined twice; the first is on line 1`},
		"table twice":  {"[provider]\nproviderName = 'ollama'\n[provider]", `p.toml:3:2: provider: defined twice; the first is on line 1`},
		"dotted table": {"provider.providerName = 'ollama'\n[provider]", `p.toml:2:2: provider: table provider already exists as defined by a dotted key`},
		"huge number":  {"maxSteps = 99999999999999999999", `p.toml:1:12: decimal number is too large to fit in a 64-bit signed integer`},
		"huge file":    {strings.Repeat("#", 1<<20+1), `p.toml:1:1: the file is larger than 1 MiB; keep long texts out of it`},
		"deep array":   {"model = " + strings.Repeat("[", 40) + strings.Repeat("]", 40), `p.toml:1:1: tables and arrays are nested more than 32 deep`},
		"deep key":     {strings.Repeat("a.", 40) + "a = 1", `p.toml:1:65: tables and arrays are nested more than 32 deep`},
		"many keys":    {"[experts]\n" + numbered(1025, "x#={}\n"), `p.toml:1026:1: a table has more than 1024 keys`},
		"hidden text":  {"\"\u202e\" = 1\n['\u202e']", `p.toml:1:1: "\u202e": unknown key; known here: provider, model, reasoningBudget, runtime, maxSteps, maxTokens, maxCost, maxDuration, maxToolCalls, maxDepth, maxParallel, maxRetries, timeout, maxWorkspaceBytes, approvals, rules, approvalTimeout, snapshots, docker, sandbox, prices, models, perstackApiBaseUrl, registries, perstackBaseSkillCommand, envPath, experts` + "\n" + `p.toml:2:2: "\u202e": key � should be a table, not a value`},
	} {
		t.Run(name, func(t *testing.T) { check(t, c.text, strings.Split(c.want, "\n")...) })
	}
}

// Before a syntax error our own checks hold; about what it hides nothing is said.
func TestSyntaxErrorHidesNothingBefore(t *testing.T) {
	check(t, "maxStep = 1\n[experts.a]\ninstruction = oops",
		`p.toml:1:1: maxStep: unknown key; did you mean "maxSteps"?`,
		`p.toml:3:15: unexpected character U+006F 'o' at start of value; put text in quotes`)
}

func TestEmptyFile(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "\ufeff", "\ufeffmodel = 'm'\r\n", "[experts]"} {
		if c := check(t, text); c == nil || len(c.Experts) != 0 {
			t.Errorf("%q gives %+v", text, c)
		}
	}
}

func TestUnknownKeys(t *testing.T) {
	top := "it is a top-level key: move it above the first [table]"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"slip":       {"maxStep = 1", []string{`p.toml:1:1: maxStep: unknown key; did you mean "maxSteps"?`}},
		"case":       {"Model = 'x'", []string{`p.toml:1:1: Model: unknown key; did you mean "model"?`}},
		"snake case": {"max_retries = 1", []string{`p.toml:1:1: max_retries: unknown key; did you mean "maxRetries"?`}},
		"envPath trap": {"[provider]\nproviderName = 'anthropic'\nenvPath = ['.env']",
			[]string{`p.toml:3:1: warning: provider.envPath: belongs at the top of the file and is read as if it stood there; move it above the first [table]`}},
		"envPath trap of an expert": {expertWith("[experts.a.provider]\nproviderName = 'anthropic'\nenvPath = ['.env']"),
			[]string{`p.toml:5:1: experts.a.provider.envPath: unknown key; ` + top}},
		"top key in expert": {expertWith("runtime = 'local'"), []string{`p.toml:3:1: experts.a.runtime: unknown key; ` + top}},
		"expert key on top": {"instruction = 'x'", []string{
			`p.toml:1:1: instruction: unknown key; it belongs to an expert: move it into [experts.<name>]`}},
		"expert without experts": {"[writer]\ninstruction = 'x'", []string{
			`p.toml:1:2: writer: unknown key; an expert is declared as [experts.writer]`}},
		"setting in provider": {"[provider]\nproviderName = 'openai'\nbaseUrl = 'https://a.example'", []string{
			`p.toml:3:1: provider.baseUrl: unknown key; it is a setting: move it into [provider.setting]`}},
		"setting of another": {"[provider]\nproviderName = 'anthropic'\n[provider.setting]\nregion = 'x'", []string{
			`p.toml:4:1: provider.setting.region: unknown key; it is a setting of amazon-bedrock`}},
		"skill key in expert": {expertWith("command = 'npx'"), []string{
			`p.toml:3:1: experts.a.command: unknown key; it belongs to a skill: move it into [experts.<name>.skills.<skill>]`}},
		"key of another type": {expertWith("[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'npx'\nargs = ['x']\nendpoint = 'https://x.example'"), []string{
			`p.toml:7:1: experts.a.skills.s.endpoint: unknown key; it is a key of mcpSseSkill or mcpHttpSkill`}},
		"nested": {"[experts.a.b]\ninstruction = 'x'", []string{
			`p.toml:1:10: experts.a.instruction: is required; tell the expert what to do`,
			`p.toml:1:12: experts.a.b: unknown key; known here: version, minRuntimeVersion, description, instruction, model, provider, skills, delegates, tags, maxSteps, maxTokens, maxCost, maxDuration, providerTools, providerSkills, providerToolOptions`}},
	} {
		t.Run(name, func(t *testing.T) { check(t, c.text, c.want...) })
	}
}

func TestTopLevelValues(t *testing.T) {
	for text, want := range map[string]string{
		"model = 1":           `p.toml:1:9: model: must be a string, not an integer; put it in quotes`,
		"model = ' '":         `p.toml:1:9: model: is empty; write something or remove the key`,
		"model = [1]":         `p.toml:1:1: model: must be a string, not an array`,
		"provider = 'x'":      `p.toml:1:12: provider: must be a table, not a string; write [provider] and, below it, providerName = "anthropic"`,
		"provider = 'ollama'": `p.toml:1:12: provider: must be a table, not a string; write [provider] and, below it, providerName = "ollama"`,
		"timeout = '30s'":     `p.toml:1:11: timeout: must be an integer, not a string; it is a number of milliseconds: write 30000`,
		"experts = 1":         `p.toml:1:11: experts: must be a table, not an integer; each expert is a table of its own: write [experts.<name>]`,
		"[[experts]]":         `p.toml:1:3: experts: must be a table, not an array; each expert is a table of its own: write [experts.<name>]`,
		"[[experts]]\nname = 'a'\ninstruction = 'x'": `p.toml:1:3: experts: must be a table, not an array; each expert is a table of its own: write [experts.a]`,
		"apiKey = 'k'":                        `p.toml:1:1: apiKey: unknown key; a key does not belong in a file that others read: set the variable of the provider in the environment or in .env, like ANTHROPIC_API_KEY`,
		"env = {A = '1'}":                     `p.toml:1:1: env: unknown key; values do not belong in a file that others read: name the variables in the skill, like requiredEnv = ["A"], and set them in the environment or in .env`,
		"[mcpServers.files]\ncommand = 'npx'": "p.toml:1:2: mcpServers: unknown key; an MCP server is a skill of an expert: write [experts.<name>.skills.files] with type = \"mcpStdioSkill\"",
		"[provider]\nproviderName = 'ollama'\nenvPath = ['x.env']":               "p.toml:3:1: warning: provider.envPath: belongs at the top of the file and is read as if it stood there; move it above the first [table]",
		"envPath = []\n[provider]\nproviderName = 'ollama'\nenvPath = ['x.env']": "p.toml:4:1: provider.envPath: is set at the top of the file, too; keep that one",
		"[provider]\nproviderName = 'ollama'\nenvPath = 'x.env'":                 "p.toml:3:1: warning: provider.envPath: belongs at the top of the file and is read as if it stood there; move it above the first [table]\np.toml:3:11: provider.envPath: must be an array, not a string; put it in brackets, like [\"x.env\"]",
		"experts.a = 1":                                `p.toml:1:13: experts.a: must be a table, not an integer`,
		"maxSteps = 0":                                 `p.toml:1:12: maxSteps: must be between 1 and 2147483647; without the key it is 100`,
		"maxSteps = 1.0":                               `p.toml:1:12: maxSteps: must be an integer, not a floating-point number; write a whole number`,
		"maxSteps = '1'":                               `p.toml:1:12: maxSteps: must be an integer, not a string; remove the quotes`,
		"maxRetries = -1":                              `p.toml:1:14: maxRetries: must be between 0 and 2147483647`,
		"timeout = -1":                                 `p.toml:1:11: timeout: must be between 0 and 2147483647`,
		"timeout = 2020-01-01":                         `p.toml:1:11: timeout: must be an integer, not a date or time`,
		"timeout = 9999999999999":                      `p.toml:1:11: timeout: must be between 0 and 2147483647`,
		"maxWorkspaceBytes = 0":                        `p.toml:1:21: maxWorkspaceBytes: must be between 1 and 4611686018427387904; leave the key out for no limit`,
		"maxWorkspaceBytes = -5":                       `p.toml:1:21: maxWorkspaceBytes: must be between 1 and 4611686018427387904; leave the key out for no limit`,
		"maxWorkspaceBytes = 1e9":                      `p.toml:1:21: maxWorkspaceBytes: must be an integer, not a floating-point number; write a whole number`,
		"maxWorkspaceBytes = '1 GB'":                   `p.toml:1:21: maxWorkspaceBytes: must be an integer, not a string; remove the quotes`,
		"reasoningBudget = 'lots'":                     `p.toml:1:19: reasoningBudget: unknown value "lots"; use none, minimal, low, medium, high or a number of tokens`,
		"reasoningBudget = -1":                         `p.toml:1:19: reasoningBudget: unknown value "-1"; use none, minimal, low, medium, high or a number of tokens`,
		"reasoningBudget = '100'":                      `p.toml:1:19: reasoningBudget: a number of tokens must be an integer, not a string; remove the quotes`,
		"reasoningBudget = true":                       `p.toml:1:19: reasoningBudget: must be a string or an integer, not a boolean; use none, minimal, low, medium, high or a number of tokens`,
		"runtime = 'dokcer'":                           `p.toml:1:11: runtime: unknown value "dokcer"; did you mean "docker"?`,
		"runtime = 'kubernetes'":                       `p.toml:1:11: runtime: unknown value "kubernetes"; use local, docker, claude-code, cursor or gemini`,
		"runtime = 'perstack'":                         `p.toml:1:11: warning: runtime: "perstack" is the older name of the built-in runtime; write "local"`,
		"temperature = 0.5":                            `p.toml:1:1: warning: temperature: is no longer used; remove it`,
		"envPath = '.env'":                             `p.toml:1:11: envPath: must be an array, not a string; put it in brackets, like [".env"]`,
		"envPath = ['.env', 1]":                        `p.toml:1:20: envPath.1: must be a string, not an integer; put it in quotes`,
		"envPath = ['']":                               `p.toml:1:12: envPath.0: is empty; write something or remove the key`,
		"envPath = [\n  '.env',\n  \"\\u0000\"]":       `p.toml:3:3: envPath.1: has a NUL character; remove it`,
		"perstackBaseSkillCommand = ['']":              `p.toml:1:29: perstackBaseSkillCommand.0: is empty; the first entry is the program to start`,
		"perstackBaseSkillCommand = ['-c']":            `p.toml:1:29: perstackBaseSkillCommand.0: "-c" is not a program; name the program to start, like npx`,
		"perstackBaseSkillCommand = ['npx', '-c']":     `p.toml:1:36: perstackBaseSkillCommand.1: npx does not get the option "-c"; before the package only -y, --yes, -q, --quiet, -p, --package or -- may stand; what the server gets comes after it`,
		"perstackBaseSkillCommand = ['npx']":           `p.toml:1:1: perstackBaseSkillCommand: npx is given no package; name one, like "@scope/name@1.0.0"`,
		"perstackApiBaseUrl = 'http://r.example'":      `p.toml:1:22: perstackApiBaseUrl: must use https; write it like https://registry.example`,
		"perstackApiBaseUrl = 'https://u:p@r.example'": `p.toml:1:22: perstackApiBaseUrl: must not contain a user name or password; use headers or environment variables for keys`,
		"perstackApiBaseUrl = 'r.example'":             `p.toml:1:22: perstackApiBaseUrl: is not a URL; write it like https://host.example/path`,
		"   model = true # é":                          `p.toml:1:12: model: must be a string, not a boolean; put it in quotes`,
		"\"é\".model = 1":                              `p.toml:1:1: "é": unknown key; known here: provider, model, reasoningBudget, runtime, maxSteps, maxTokens, maxCost, maxDuration, maxToolCalls, maxDepth, maxParallel, maxRetries, timeout, maxWorkspaceBytes, approvals, rules, approvalTimeout, snapshots, docker, sandbox, prices, models, perstackApiBaseUrl, registries, perstackBaseSkillCommand, envPath, experts`,
		"provider = {providerName='öö', setting={}}":   `p.toml:1:26: provider.providerName: unknown value "öö"; use anthropic, google, openai, ollama, azure-openai, amazon-bedrock, google-vertex, deepseek, openai-compatible or replay`,
		"x = 'öö'\nmodel = 'm'\nmodell = 'öö'":         "p.toml:1:1: x: unknown key; known here: provider, model, reasoningBudget, runtime, maxSteps, maxTokens, maxCost, maxDuration, maxToolCalls, maxDepth, maxParallel, maxRetries, timeout, maxWorkspaceBytes, approvals, rules, approvalTimeout, snapshots, docker, sandbox, prices, models, perstackApiBaseUrl, registries, perstackBaseSkillCommand, envPath, experts\np.toml:3:1: modell: unknown key; did you mean \"model\"?",
	} {
		check(t, text, strings.Split(want, "\n")...)
	}
}

// The lists that serve hints name exactly the keys that are read.
func TestKeyListsAreComplete(t *testing.T) {
	const unknown = "zzzzzzzz = 1\n"
	read := func(text, table string, listed ...string) {
		t.Helper()
		_, ps := Parse("p.toml", []byte(text))
		for _, p := range ps {
			if p.Message == "unknown key" {
				known := strings.Split(strings.TrimPrefix(p.Hint, "known here: "), ", ")
				slices.Sort(known)
				slices.Sort(listed)
				if d := cmp.Diff(listed, known); d != "" {
					t.Errorf("keys of %s (-listed +read)\n%s", table, d)
				}
				return
			}
		}
		t.Errorf("%s: no unknown key in %v", table, ps)
	}
	all := allTables
	read(unknown, "the top", keyNames(all.top())...)
	read(expertWith(unknown), "an expert", keyNames(all.expert())...)
	for _, name := range model.Providers() {
		read(settingOf(name, unknown), name, keyNames(ofKind(all.setting(), name))...)
	}
	for _, kind := range skillKinds {
		read(skillWith(kind, unknown), kind, keyNames(ofKind(all.skill(), kind))...)
	}
}
