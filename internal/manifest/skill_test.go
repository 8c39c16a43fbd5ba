package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/skills/base/prompt"
)

// skillWith is a file with one skill. Its keys start on line 4.
func skillWith(kind, keys string) string {
	return "[experts.a]\ninstruction='x'\n[experts.a.skills.s]\ntype = '" + kind + "'\n" + keys
}

func TestSkillProblems(t *testing.T) {
	const at = "experts.a.skills.s"
	for _, c := range []struct{ text, want string }{
		{expertWith("[experts.a.skills.s]\ncommand='npx'"), `p.toml:3:19: ` + at + `.type: is required; use mcpStdioSkill, mcpSseSkill, mcpHttpSkill or interactiveSkill` + "\n" +
			`p.toml:3:19: ` + at + `: has no packageName or args; write packageName = "name" or args = ["…"]`},
		{skillWith("stdio", "command = 'npx'\nargs = '-y pkg'\nendpoint = 'x'"), `p.toml:4:8: ` + at + `.type: unknown value "stdio"; did you mean "mcpStdioSkill"?` + "\n" +
			`p.toml:6:8: ` + at + `.args: must be an array, not a string; put it in brackets, like ["-y", "pkg"]`},
		{skillWith("stdio", ""), `p.toml:4:8: ` + at + `.type: unknown value "stdio"; did you mean "mcpStdioSkill"?`},
		{skillWith("mcpHTTPSkill", "endpoint = 'whatever'"), `p.toml:4:8: ` + at + `.type: unknown value "mcpHTTPSkill"; did you mean "mcpHttpSkill"?` + "\n" +
			`p.toml:5:12: ` + at + `.endpoint: must be a public HTTPS URL: it is not a URL; write it like https://host.example/path`},
		{expertWith("skills.s = 1"), `p.toml:3:12: ` + at + `: must be a table, not an integer`},
		{expertWith("skills.'' = {type='mcpHttpSkill', endpoint='https://a.example'}"), `p.toml:3:8: experts.a.skills."": the name is empty; write something or remove the key`},
		{expertWith("skills.\"a\\u200b\" = {type='mcpHttpSkill', endpoint='https://a.example'}"), `p.toml:3:8: experts.a.skills."a\u200b": the name has an invisible character (U+200B); remove it`},

		{skillWith("mcpStdioSkill", "args = ['x']"), `p.toml:3:19: ` + at + `.command: is required; name the program to start, like "npx"`},
		{skillWith("mcpStdioSkill", "command = ''\nargs = ['x']"), `p.toml:5:11: ` + at + `.command: is empty; write something or remove the key`},
		{skillWith("mcpStdioSkill", "command = 'npx -y'\nargs = ['x']"), `p.toml:5:11: ` + at + `.command: "npx -y" has blanks in it; put the arguments into args`},
		{skillWith("mcpStdioSkill", "command = '-x'\nargs = ['x']"), `p.toml:5:11: ` + at + `.command: "-x" is not a program; name the program to start, like npx`},
		{skillWith("mcpStdioSkill", "command = 'npx'"), `p.toml:3:19: ` + at + `: has no packageName or args; write packageName = "name" or args = ["…"]`},
		{skillWith("mcpStdioSkill", "command = 'npx'\nargs = []"), `p.toml:3:19: ` + at + `: has no packageName or args; write packageName = "name" or args = ["…"]`},
		{skillWith("mcpStdioSkill", "command = 'npx'\nargs = [1]"), `p.toml:6:9: ` + at + `.args.0: must be a string, not an integer; put it in quotes`},
		{skillWith("mcpStdioSkill", "command = 'uvx'"), `p.toml:3:19: ` + at + `: has no packageName or args; write packageName = "name" or args = ["…"]`},
		{skillWith("mcpStdioSkill", "command = '/usr/bin/npx'\nargs = ['x']"), `p.toml:5:11: ` + at + `.command: "/usr/bin/npx" calls npx in another way than by its name; write "npx": its packages are fetched and pinned for you`},
		{skillWith("mcpStdioSkill", "command = 'npx'\nargs = ['-y', '--call=touch x']"), `p.toml:6:15: ` + at + `.args.1: npx does not get the option "--call=touch x"; before the package only -y, --yes, -q, --quiet, -p, --package or -- may stand; what the server gets comes after it`},
		{skillWith("mcpStdioSkill", "command = 'npx'\nargs = ['-y']"), `p.toml:6:1: ` + at + `.args: npx is given no package; name one, like "@scope/name@1.0.0"`},
		{skillWith("mcpStdioSkill", "command = 'uvx'\nargs = ['git+https://x.example/y']"), `p.toml:6:9: ` + at + `.args.0: uvx cannot fetch "git+https://x.example/y"; write name, @scope/name or name@1.0.0 in lower case`},
		{skillWith("mcpStdioSkill", "command = 'npx'\nargs = [1, '-c']"), `p.toml:6:9: ` + at + `.args.0: must be a string, not an integer; put it in quotes`},
		{skillWith("mcpStdioSkill", "command = 'npx'\npackageName = 'x'\nargs = ['x']"), `p.toml:7:1: ` + at + `: has both packageName and args; keep one of them`},
		{skillWith("mcpStdioSkill", "command = 'npx'\npackageName = '-y'"), `p.toml:6:15: ` + at + `.packageName: "-y" is not a package name; write name, @scope/name or name@1.0.0 in lower case`},
		{skillWith("mcpStdioSkill", "command = 'npx'\npackageName = ''"), `p.toml:6:15: ` + at + `.packageName: "" is not a package name; write name, @scope/name or name@1.0.0 in lower case`},
		{skillWith("mcpStdioSkill", "command = 'npx'\nargs = [\"a\\u0000b\"]"), `p.toml:6:9: ` + at + `.args.0: has a NUL character; remove it`},
		{skillWith("mcpStdioSkill", "command = 'npx'\nargs = ['x']\nlazyInit = 1"), `p.toml:7:12: ` + at + `.lazyInit: must be a boolean, not an integer`},
		{skillWith("mcpStdioSkill", "command = 'npx'\nargs = ['x']\npick = ['']"), `p.toml:7:9: ` + at + `.pick.0: is empty; write something or remove the key`},
		{skillWith("mcpStdioSkill", "command = 'npx'\nargs = ['x']\nomit = ["+many(256, "'t%d'")+"]"), `p.toml:7:1: ` + at + `.omit: has 256 entries; at most 255 are allowed`},
		{skillWith("mcpStdioSkill", "command = 'npx'\nargs = ['x']\nrule = '"+strings.Repeat("x", 2049)+"'"), `p.toml:7:8: ` + at + `.rule: has 2049 characters; at most 2048 are allowed`},
		{skillWith("mcpStdioSkill", "command = 'npx'\nargs = ['x']\nrequiredEnv = ['A B']"), `p.toml:7:16: ` + at + `.requiredEnv.0: "A B" is not a variable name; use letters, digits and _`},
		{skillWith("mcpStdioSkill", "command = 'npx'\nargs = ['x']\nrequiredEnv = ['Path']"), `p.toml:7:16: ` + at + `.requiredEnv.0: "Path" is protected; skills cannot have it, since it decides which code a program loads or where it connects; remove it`},
		{skillWith("mcpStdioSkill", "command = 'npx'\nargs = ['x']\nrequiredEnv = ['ANTHROPIC_API_KEY']"), `p.toml:7:16: ` + at + `.requiredEnv.0: "ANTHROPIC_API_KEY" is the key of provider anthropic; skills cannot have it; give the skill a key of its own under another name`},
		{skillWith("mcpStdioSkill", "command = 'npx'\nargs = ['x']\nrequiredEnv = ['npm_config_registry']"), `p.toml:7:16: ` + at + `.requiredEnv.0: "npm_config_registry" is protected; skills cannot have it, since it decides which code a program loads or where it connects; remove it`},
		{skillWith("mcpStdioSkill", "command = 'x'\nstartTimeout = 0"), `p.toml:6:16: ` + at + `.startTimeout: must be between 1 and 3600000; it is a number of milliseconds`},
		{skillWith("mcpStdioSkill", "command = 'x'\ncallTimeout = 3600001"), `p.toml:6:15: ` + at + `.callTimeout: must be between 1 and 3600000; it is a number of milliseconds`},
		{skillWith("mcpStdioSkill", "command = 'x'\ncallTimeout = '1s'"), `p.toml:6:15: ` + at + `.callTimeout: must be an integer, not a string; it is a number of milliseconds: write 1000`},
		{skillWith("mcpStdioSkill", "command = 'x'\ntoolPrefix = 'a'"), `p.toml:6:14: ` + at + `.toolPrefix: must be a boolean, not a string; remove the quotes`},
		{skillWith("mcpStdioSkill", "command = 'x'\nheaders = {}"), `p.toml:6:1: ` + at + `.headers: unknown key; it is a key of mcpSseSkill or mcpHttpSkill`},
		{skillWith("interactiveSkill", "toolPrefix = true\ntools = {}"), `p.toml:5:1: ` + at + `.toolPrefix: unknown key; it is a key of mcpStdioSkill, mcpSseSkill or mcpHttpSkill`},
		{"toolPrefix = true", `p.toml:1:1: toolPrefix: unknown key; it belongs to a skill: move it into [experts.<name>.skills.<skill>]`},

		{skillWith("mcpSseSkill", ""), `p.toml:3:19: ` + at + `.endpoint: is required; give the URL of the server`},
		{skillWith("mcpSseSkill", "endpoint = 'http://a.example'"), `p.toml:5:12: ` + at + `.endpoint: must be a public HTTPS URL: it uses plain http; plain http is accepted for localhost only, with allowPrivateEndpoint = true`},
		{skillWith("mcpHttpSkill", "endpoint = 'https://localhost'"), `p.toml:5:12: ` + at + `.endpoint: must be a public HTTPS URL: its host is private; set allowPrivateEndpoint = true in the skill if the server is yours`},
		{skillWith("mcpHttpSkill", "endpoint = 'a.example'"), `p.toml:5:12: ` + at + `.endpoint: must be a public HTTPS URL: it is not a URL; write it like https://host.example/path`},
		{skillWith("mcpHttpSkill", "endpoint = 'http://10.0.0.1'\nallowPrivateEndpoint = true"), `p.toml:5:12: ` + at + `.endpoint: must be a public HTTPS URL: it uses plain http; plain http is accepted for localhost only, with allowPrivateEndpoint = true`},

		{skillWith("interactiveSkill", ""), `p.toml:3:19: ` + at + `.tools: is required; declare a tool as [experts.a.skills.s.tools.<name>]`},
		{skillWith("interactiveSkill", "pick = []\ntools = {}"), `p.toml:5:1: ` + at + `.pick: unknown key; it is a key of mcpStdioSkill, mcpSseSkill or mcpHttpSkill`},
		{skillWith("interactiveSkill", "tools.t = {}"), `p.toml:5:7: ` + at + `.tools.t.inputJsonSchema: is required; give a JSON Schema as text`},
		{skillWith("interactiveSkill", "tools.t = {inputJsonSchema = {}}"), `p.toml:5:30: ` + at + `.tools.t.inputJsonSchema: must be a string, not a table`},
		{skillWith("interactiveSkill", "tools.'ask me' = {inputJsonSchema = '{}'}"), `p.toml:5:7: ` + at + `.tools."ask me": is not a tool name that providers accept; use letters, digits, _ and -, at most 64 of them`},
		{skillWith("interactiveSkill", "tools.'' = {inputJsonSchema = '{}'}"), `p.toml:5:7: ` + at + `.tools."": is not a tool name that providers accept; use letters, digits, _ and -, at most 64 of them`},
		{skillWith("interactiveSkill", "tools."+strings.Repeat("a", 65)+" = {inputJsonSchema = '{}'}"), `p.toml:5:7: ` + at + `.tools.` + strings.Repeat("a", 65) + `: is not a tool name that providers accept; use letters, digits, _ and -, at most 64 of them`},
		{skillWith("interactiveSkill", `tools.t = {inputJsonSchema = '{"type":"objekt"}'}`), `p.toml:5:30: ` + at + `.tools.t.inputJsonSchema: type must be "object", not "objekt"; the arguments of a tool have names`},
		{skillWith("interactiveSkill", `tools.ask = {inputJsonSchema = '{'}`), `p.toml:5:32: ` + at + `.tools.ask.inputJsonSchema: is not JSON: unexpected EOF at byte 1; write a JSON Schema between ''' and ''', like '{"type": "object"}'`},
		{skillWith("interactiveSkill", "tools.t = {inputJsonSchema = '{}', desc = 'x'}"), `p.toml:5:36: ` + at + `.tools.t.desc: unknown key; did you mean "description"?`},
	} {
		check(t, c.text, strings.Split(c.want, "\n")...)
	}
	check(t, skillWith("interactiveSkill", "tools.w = {inputJsonSchema='{}'}\n[experts.a.skills.u]\ntype='interactiveSkill'\ntools.w={inputJsonSchema='{}'}\n"),
		`p.toml:8:7: experts.a.skills.u.tools.w: the tool name "w" is already taken by skill "s"; tools of one expert need different names`)
	check(t, "provider.providerName='openai'\n"+skillWith("mcpStdioSkill", "command = 'npx'\nargs = ['x']\nrequiredEnv = ['ANTHROPIC_API_KEY']"))
}

// Two tools of one name would fail when the run starts; the file says so before.
func TestToolNames(t *testing.T) {
	const base = "[experts.a.skills.\"@perstack/base\"]\ntype = 'mcpStdioSkill'\n"
	ask := func(name string) string {
		return "[experts.a.skills.user]\ntype = 'interactiveSkill'\ntools." + name + " = {inputJsonSchema = '{}'}\n"
	}
	const byBase = "is already taken by the base skill; choose another name"
	const path = "experts.a.skills.user.tools."
	check(t, expertWith(ask("readTextFile")), `p.toml:5:7: `+path+`readTextFile: the tool name "readTextFile" `+byBase)
	check(t, expertWith(ask("moveFile")), `p.toml:5:7: `+path+`moveFile: the tool name "moveFile" `+byBase)
	check(t, expertWith(base+"omit = ['exec']\n"+ask("readTextFile")), `p.toml:8:7: `+path+`readTextFile: the tool name "readTextFile" `+byBase)
	// The names stay with the base skill, also when it does not offer them: no run would start.
	check(t, expertWith(base+"omit = ['readTextFile']\n"+ask("readTextFile")), `p.toml:8:7: `+path+`readTextFile: the tool name "readTextFile" `+byBase)
	check(t, expertWith(base+"pick = ['think']\n"+ask("readTextFile")), `p.toml:8:7: `+path+`readTextFile: the tool name "readTextFile" `+byBase)
	check(t, expertWith(base+"omit = ['exec']\n"+ask("exec")), `p.toml:8:7: `+path+`exec: the tool name "exec" `+byBase)
	check(t, expertWith("delegates = ['@acme/todo']"), `p.toml:3:14: experts.a.delegates.0: the tool name "todo" `+byBase)
	check(t, expertWith("delegates = ['@acme/w']\n"+ask("w")),
		`p.toml:3:14: experts.a.delegates.0: the tool name "w" is already taken by skill "user"; tools of one expert need different names`)
	check(t, "perstackBaseSkillCommand = ['node', 'x']\n"+expertWith(ask("readTextFile")), `p.toml:6:7: `+path+`readTextFile: the tool name "readTextFile" `+byBase)
	// What another program offers in its place is known only when it runs.
	check(t, expertWith(base+"command = 'npx'\npackageName = '@perstack/base@0.0.34'\nomit = ['exce']\n"+ask("q")))
}

// A typo in omit would leave the tool with the Expert.
func TestBaseToolNames(t *testing.T) {
	base := func(keys string) string {
		return expertWith("[experts.a.skills.\"@perstack/base\"]\ntype = 'mcpStdioSkill'\n" + keys)
	}
	const path = `experts.a.skills."@perstack/base"`
	names := prompt.Names()
	last := len(names) - 1
	all := strings.Join(names[:last], ", ") + " or " + names[last]
	check(t, base("omit = ['exce']"), `p.toml:5:9: `+path+`.omit.0: the base skill has no tool "exce"; did you mean "exec"?`)
	check(t, base("omit = ['exec', 'rm']"), `p.toml:5:17: `+path+`.omit.1: the base skill has no tool "rm"; use `+all)
	check(t, base("pick = ['Exec']"), `p.toml:5:9: `+path+`.pick.0: the base skill has no tool "Exec"; did you mean "exec"?`)
	check(t, base("pick = ['editTextFile', 'think']"))
	check(t, base("omit = ['editTextFile', 'deleteFile']"))
	check(t, base("omit = [' ', 1]"), `p.toml:5:9: `+path+`.omit.0: is empty; write something or remove the key`,
		`p.toml:5:14: `+path+`.omit.1: must be a string, not an integer; put it in quotes`)
}

func TestArgumentSchema(t *testing.T) {
	const types = "use string, number, integer, boolean, object, array or null"
	for schema, want := range map[string]string{
		`{}`:                                "",
		`{"type": "object"}`:                "",
		`{"type":"object","properties":{}}`: "",
		`{"properties": {"a": {"type": "string"}, "b": {"type": ["integer", "null"]}, "c": {}, "d": true}, "required": ["a"]}`: "",
		`{"type": "objekt"}`:                                       `type must be "object", not "objekt"; the arguments of a tool have names`,
		`{"type": "string"}`:                                       `type must be "object", not "string"; the arguments of a tool have names`,
		`{"type": ["object"]}`:                                     `type must be "object", not an array; the arguments of a tool have names`,
		`{"type": null}`:                                           `type must be "object", not null; the arguments of a tool have names`,
		`{"properties": []}`:                                       `properties must be an object, not an array`,
		`{"properties": "a"}`:                                      `properties must be an object, not "a"`,
		`{"required": "a"}`:                                        `required must be an array of names, not "a"`,
		`{"required": {}}`:                                         `required must be an array of names, not an object`,
		`{"required": ["a", 1]}`:                                   `required must hold names, not a number`,
		`{"properties": {"a": "string"}}`:                          `properties.a must be an object, not "string"`,
		`{"properties": {"a": {"type": "strng"}}}`:                 `properties.a.type: unknown type "strng"; did you mean "string"?`,
		`{"properties": {"a": {"type": "date"}}}`:                  `properties.a.type: unknown type "date"; ` + types,
		`{"properties": {"a b": {"type": ["int"]}}}`:               `properties."a b".type: unknown type "int"; did you mean "integer"?`,
		`{"properties": {"a": {"type": true}}}`:                    `properties.a.type must be a name, not a boolean; ` + types,
		`{"properties": {"b": {"type": "x"}, "a": {"type": "y"}}}`: `properties.a.type: unknown type "y"; ` + types,
	} {
		message, hint := argumentSchema(schema)
		if hint != "" {
			message += "; " + hint
		}
		if d := cmp.Diff(want, message); d != "" {
			t.Errorf("%s (-want +got)\n%s", schema, d)
		}
	}
}

func TestInputSchema(t *testing.T) {
	const hint = `; write a JSON Schema between ''' and ''', like '{"type": "object"}'`
	for schema, want := range map[string]string{
		`{}`:                        "",
		" {\"a\": [1, {}]}\n":       "",
		`[]`:                        "is not a JSON object" + hint,
		`"x"`:                       "is not a JSON object" + hint,
		`{} {}`:                     "has text after the JSON object" + hint,
		`{"a": 1, "a": 2}`:          `is not JSON: duplicate object member name at byte 9` + hint,
		`{"a": `:                    "is not JSON: unexpected EOF at byte 6" + hint,
		`{'a': 1}`:                  `is not JSON: invalid character '\'' at start of value at byte 1` + hint,
		strings.Repeat(`{"a":`, 70): "is nested more than 64 deep; simplify the schema",
	} {
		message, h := jsonObject(schema)
		if h != "" {
			message += "; " + h
		}
		if d := cmp.Diff(want, message); d != "" {
			t.Errorf("%q (-want +got)\n%s", schema, d)
		}
	}
}
