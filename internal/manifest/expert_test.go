package manifest

import (
	"fmt"
	"strings"
	"testing"
)

func many(n int, format string) string {
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(format, i))
	}
	return strings.Join(items, ", ")
}

func TestExpertProblems(t *testing.T) {
	const nameHint = "use lower-case letters, digits, - and _, optionally after @scope/"
	for _, c := range []struct{ text, want string }{
		{"[experts.a]", `p.toml:1:10: experts.a.instruction: is required; tell the expert what to do`},
		{"[experts.a]\ninstruction = \" \\n\"", `p.toml:2:15: experts.a.instruction: is empty; write something or remove the key`},
		{"[experts.a]\ninstruction = '" + strings.Repeat("é", 20481) + "'", `p.toml:2:15: experts.a.instruction: has 20481 characters; at most 20480 are allowed`},
		{"[experts.A]\ninstruction='x'", `p.toml:1:10: experts.A: is not a valid expert name; write "a"`},
		{"[experts.'a.b']\ninstruction='x'", `p.toml:1:10: experts."a.b": is not a valid expert name; ` + nameHint},
		{"[experts.'a@1.0.0']\ninstruction='x'", `p.toml:1:10: experts."a@1.0.0": is not a valid expert name; write "a" and set version inside the table`},
		{"[experts.'']\ninstruction='x'", `p.toml:1:10: experts."": is not a valid expert name; ` + nameHint},
		{"[experts." + strings.Repeat("a", 256) + "]\ninstruction='x'", `p.toml:1:10: experts.` + strings.Repeat("a", 256) + `: is not a valid expert name; a name has at most 255 characters`},
		{expertWith("version = 'v1'"), `p.toml:3:11: experts.a.version: "v1" is not a version; write it like "1.0.0"`},
		{expertWith("minRuntimeVersion = 1.0"), `p.toml:3:21: experts.a.minRuntimeVersion: must be a string, not a floating-point number; put it in quotes`},
		{expertWith("description = '" + strings.Repeat("x", 2049) + "'"), `p.toml:3:15: experts.a.description: has 2049 characters; at most 2048 are allowed`},
		{expertWith("skills = []"), `p.toml:3:1: experts.a.skills: must be a table, not an array`},
		{expertWith("tags = ['-a']"), `p.toml:3:9: experts.a.tags.0: "-a" is not a tag; use lower-case letters, digits, - and _`},
		{expertWith("tags = [" + many(9, "'t%d'") + "]"), `p.toml:3:1: experts.a.tags: has 9 entries; at most 8 are allowed`},
		{expertWith("delegates = [" + many(256, "'d%d'") + "]"), `p.toml:3:1: experts.a.delegates: has 256 entries; at most 255 are allowed`},
		{expertWith("delegates = [1]"), `p.toml:3:14: experts.a.delegates.0: must be a string, not an integer; put it in quotes`},
		{expertWith("delegates = ['a']"), `p.toml:3:14: experts.a.delegates.0: an expert cannot delegate to itself; remove it`},
		{expertWith("delegates = ['a@1.0.0']"), `p.toml:3:14: experts.a.delegates.0: an expert cannot delegate to itself; remove it`},
		{expertWith("delegates = ['@x/w', '@x/w@1.0.0']"), `p.toml:3:22: experts.a.delegates.1: the tool name "w" is already taken by delegate "@x/w"; tools of one expert need different names`},
		{expertWith("delegates = ['w', 'w']"), `p.toml:3:19: experts.a.delegates.1: the tool name "w" is already taken by delegate "w"; tools of one expert need different names`},
		{expertWith("providerTools = ['web_search']"), `p.toml:3:18: experts.a.providerTools.0: no provider has a tool "web_search"; did you mean "webSearch"?`},
		{"provider.providerName = 'openai'\n" + expertWith("providerTools = ['fileSearch']"), `p.toml:4:1: warning: experts.a.providerTools: fileSearch has nothing to search; set providerToolOptions.fileSearch.vectorStoreIds`},
		{expertWith("providerSkills = [{type = 'builtin', skillId = 'odt'}]"), `p.toml:3:48: experts.a.providerSkills.0.skillId: unknown value "odt"; use pdf, docx, pptx or xlsx`},
		{expertWith("[[experts.a.providerSkills]]\ntype = 'custom'\nname = 'n'"), `p.toml:3:13: experts.a.providerSkills.0.definition: is required; say what the skill is`},
		{expertWith("[[experts.a.providerSkills]]\nskillId = 'pdf'"), `p.toml:3:13: experts.a.providerSkills.0.type: is required; write type = "builtin" or type = "custom"`},
		{expertWith("providerSkills = ['pdf']"), `p.toml:3:19: experts.a.providerSkills.0: must be a table, not a string`},
		{expertWith("providerToolOptions = {webSearch = {maxUses = 0}}"), `p.toml:3:47: experts.a.providerToolOptions.webSearch.maxUses: must be between 1 and 2147483647`},
		{expertWith("providerToolOptions = {webFetch = {allowedDomains = []}}"), `p.toml:3:36: experts.a.providerToolOptions.webFetch.allowedDomains: unknown key; known here: maxUses`},
		{expertWith("providerToolOptions = {websearch = {}}"), `p.toml:3:24: experts.a.providerToolOptions.websearch: unknown key; did you mean "webSearch"?`},
		{"[experts.writer]\ninstruction='x'\n" + expertWith("delegates = ['writr']\ntags = ['-a']"), `p.toml:5:14: warning: experts.a.delegates.0: this file has no expert "writr"; did you mean "writer"?` + "\n" +
			`p.toml:6:9: experts.a.tags.0: "-a" is not a tag; use lower-case letters, digits, - and _`},
	} {
		check(t, c.text, strings.Split(c.want, "\n")...)
	}
	// Another version of the same name is another Expert, in the registry.
	check(t, expertWith("delegates = ['a@2.0.0', 'b']"))
	// Which provider is used is not known yet: --provider may name another.
	check(t, expertWith("providerTools = ['googleMaps']"))
}
