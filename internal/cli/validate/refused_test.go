package validate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/wording"
)

// What a run would refuse for a reason in the file is an error, with its place.
func TestRefusedAreErrors(t *testing.T) {
	const head = "[experts.a]\ninstruction = 'x'\n"
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"another family":   {"model = 'gpt-5'\n" + head, []string{`perstack.toml:1:1: model: anthropic: the model "gpt-5" is not one of this provider`}},
		"bad region":       {"[provider]\nproviderName = 'amazon-bedrock'\nsetting = {region = 'Frankfurt'}\n" + head, []string{`amazon-bedrock: "Frankfurt" is not a region`}},
		"no deployment":    {"[provider]\nproviderName = 'azure-openai'\n" + head, []string{"model: azure-openai: no deployment is named"}},
		"reserved":         {"[provider]\nproviderName = 'openai'\n[provider.setting.extraBody]\ninput = 1\nmodel = 'm'\n" + head, []string{`extraBody cannot set "input"`, `extraBody cannot set "model"`}},
		"query":            {"[provider]\nproviderName = 'openai'\n[provider.setting]\nbaseUrl = 'https://gw.example/v1?a=b'\n" + head, []string{"perstack.toml:4:1: provider.setting.baseUrl: openai: the base URL of gw.example has a user, a query or a fragment"}},
		"text unencrypted": {"[provider]\nproviderName = 'ollama'\n[provider.setting]\nbaseUrl = 'http://192.168.1.5:11434'\nallowPrivateEndpoint = true\nextraBody = {mode = 'x'}\n" + head, []string{"perstack.toml:6:1: provider.setting.extraBody: ollama: extraBody has text that may be a key"}},
		"custom skill":     {head + "providerSkills = [{type = 'custom', name = 'x', definition = 'y'}]", []string{`experts.a.providerSkills: anthropic: provider skill "x" is custom`}},
		"mixed tools":      {"[provider]\nproviderName = 'google-vertex'\n" + head + "providerTools = ['googleSearch']", []string{"experts.a.providerTools: google-vertex: gemini-2.5-pro cannot use googleSearch together with the tools of the Expert"}},
		"price":            {"model = 'claude-next'\nmaxCost = 1\n" + head, []string{`maxCost: the cost is limited, but what the model "claude-next" costs is not known; write it into [prices."claude-next"]`}},
		"price of one":     {"model = 'claude-next'\n" + head + "maxCost = 1", []string{`experts.a.maxCost: the cost is limited, but what the model "claude-next" costs is not known`}},
		"price of a delegate": {head + "maxCost = 1\ndelegates = ['b']\n[experts.b]\ndescription = 'x'\ninstruction = 'x'\nmodel = 'claude-next'", []string{
			`perstack.toml:3:1: experts.a.maxCost: the cost is limited, but what the model "claude-next" costs is not known`,
		}},
		"limit of a delegate": {head + "model = 'claude-next'\ndelegates = ['b', 'c']\n[experts.b]\ndescription = 'x'\ninstruction = 'x'\nmaxCost = 1\n[experts.c]\ndescription = 'x'\ninstruction = 'x'\nmodel = 'claude-other'", []string{
			`perstack.toml:8:1: experts.b.maxCost: the cost is limited, but what the model "claude-next" costs is not known`,
			`perstack.toml:8:1: experts.b.maxCost: the cost is limited, but what the model "claude-other" costs is not known`,
		}},
		"a model of its own": {head + "model = 'gpt-5'", []string{`perstack.toml:3:1: experts.a.model: anthropic: the model "gpt-5" is not one of this provider`}},
		"a provider of its own": {head + "[experts.a.provider]\nproviderName = 'openai'\n[experts.a.provider.setting]\nbaseUrl = 'https://gw.example/v1?a=b'", []string{
			"perstack.toml:6:1: experts.a.provider.setting.baseUrl: openai: the base URL of gw.example",
		}},
		"not pinned":   {"runtime = 'docker'\n" + head + "[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'npx'\npackageName = 'x'", []string{`perstack.toml:4:19: experts.a.skills.s: the package "x" is not pinned, and runtime docker puts only pinned ones into an image; run: perstack install`}},
		"not enforced": {"[sandbox]\nmode = 'off'\n" + head + "[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'x'\nworkspace = 'none'", []string{`perstack.toml:8:1: experts.a.skills.s.workspace: it is not enforced`}},
		"a sandbox":    {head + "[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'x'\nworkspace = 'none'\nsandbox = 'landlock'", nil},
		"no key":       {head, nil},
		"no delegate":  {head + "delegates = ['nobody']", []string{`perstack.toml:3:1: experts.a.delegates.0: delegate "nobody" is not in this file`}},
		"a slip":       {head + "delegates = ['wirter']\n[experts.writer]\ninstruction = 'x'", []string{`delegate "wirter" is not in this file; did you mean "writer"?`}},
		"runtime":      {"runtime = 'cursor'\n" + head, []string{`perstack.toml:1:1: runtime: runtime "cursor" cannot be used by this version yet`}},
		"command":      {head + "[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'npx -y x'", []string{`"npx -y x" has blanks in it; put the arguments into args`}},
		"no end":       {head + "[experts.a.skills.'@perstack/base']\ntype = 'mcpStdioSkill'\npick = ['exec']", []string{`perstack.toml:5:1: experts.a.skills."@perstack/base".pick: leaves out the tool attemptCompletion`}},
		"omitted end":  {head + "[experts.a.skills.'@perstack/base']\ntype = 'mcpStdioSkill'\nomit = ['attemptCompletion']", []string{`perstack.toml:5:1: experts.a.skills."@perstack/base".omit: leaves out the tool attemptCompletion`}},
		"own base":     {head + "[experts.a.skills.'@perstack/base']\ntype = 'mcpStdioSkill'\ncommand = 'x'\npick = ['exec']", nil},
		"two managers": {"runtime = 'docker'\n" + head + "delegates = ['b']\n[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'npx'\npackageName = 'x'\n" +
			"[experts.b]\ndescription = 'x'\ninstruction = 'x'\n[experts.b.skills.t]\ntype = 'mcpStdioSkill'\ncommand = 'uvx'\npackageName = 'x'\n[docker]\npythonImage = 'python:3'", []string{
			"experts.a.skills.s: the package", "experts.b.skills.t: the package", "perstack.toml:12:19: experts.b.skills.t: is a package of uvx beside packages of npx",
		}},
		"apart": {"runtime = 'docker'\n" + head + "[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'npx'\npackageName = 'x'\n" +
			"[experts.b]\ndescription = 'x'\ninstruction = 'x'\n[experts.b.skills.t]\ntype = 'mcpStdioSkill'\ncommand = 'uvx'\npackageName = 'x'\n[docker]\npythonImage = 'python:3'", []string{
			"experts.a.skills.s: the package", "experts.b.skills.t: the package",
		}},
		"priced": {"model = 'claude-next'\nmaxCost = 1\n[prices.claude-next]\ninput = 1\noutput = 1\n" + head, nil},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errOut, code := validate(t, dir)
		wantCode := 0
		if len(c.want) > 0 {
			wantCode = 2
			c.want = append(c.want, "perstack.toml: "+wording.Count(len(c.want), "error"))
		}
		if code != wantCode {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, errOut)
		}
		for _, want := range c.want {
			if !strings.Contains(errOut, want) {
				t.Errorf("%s: no %q in\n%s", name, want, errOut)
			}
		}
	}
}
