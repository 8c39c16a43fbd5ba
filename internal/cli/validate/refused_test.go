package validate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a run would refuse is a note, with its place; the file can be used all the same.
func TestRefusedAreNotes(t *testing.T) {
	const head = "[experts.a]\ninstruction = 'x'\n"
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"another family":   {"model = 'gpt-5'\n" + head, []string{`note: perstack.toml:1:1: model: no run will start: anthropic: the model "gpt-5" is not one of this provider`}},
		"bad region":       {"[provider]\nproviderName = 'amazon-bedrock'\nsetting = {region = 'Frankfurt'}\n" + head, []string{`no run will start: amazon-bedrock: "Frankfurt" is not a region`}},
		"no deployment":    {"[provider]\nproviderName = 'azure-openai'\n" + head, []string{"model: no run will start: azure-openai: no deployment is named"}},
		"reserved":         {"[provider]\nproviderName = 'openai'\n[provider.setting.extraBody]\ninput = 1\nmodel = 'm'\n" + head, []string{`extraBody cannot set "input"`, `extraBody cannot set "model"`}},
		"query":            {"[provider]\nproviderName = 'openai'\n[provider.setting]\nbaseUrl = 'https://gw.example/v1?a=b'\n" + head, []string{"perstack.toml:4:1: provider.setting.baseUrl: no run will start: openai: the base URL of gw.example has a user, a query or a fragment"}},
		"text unencrypted": {"[provider]\nproviderName = 'ollama'\n[provider.setting]\nbaseUrl = 'http://192.168.1.5:11434'\nallowPrivateEndpoint = true\nextraBody = {mode = 'x'}\n" + head, []string{"perstack.toml:6:1: provider.setting.extraBody: no run will start: ollama: extraBody has text that may be a key"}},
		"custom skill":     {head + "providerSkills = [{type = 'custom', name = 'x', definition = 'y'}]", []string{`experts.a.providerSkills: no run will start: anthropic: provider skill "x" is custom`}},
		"mixed tools":      {"[provider]\nproviderName = 'google-vertex'\n" + head + "providerTools = ['googleSearch']", []string{"experts.a.providerTools: no run will start: google-vertex: gemini-2.5-pro cannot use googleSearch together with the tools of the Expert"}},
		"price":            {"model = 'claude-next'\nmaxCost = 1\n" + head, []string{`maxCost: no run will start: what the model "claude-next" costs is not known; write it into [prices."claude-next"]`}},
		"price of one":     {"model = 'claude-next'\n" + head + "maxCost = 1", []string{`experts.a.maxCost: no run will start: what the model "claude-next" costs is not known`}},
		"price of a delegate": {head + "maxCost = 1\ndelegates = ['b']\n[experts.b]\ndescription = 'x'\ninstruction = 'x'\nmodel = 'claude-next'", []string{
			`perstack.toml:3:1: experts.a.maxCost: no run will start: what the model "claude-next" costs is not known`,
		}},
		"limit of a delegate": {head + "model = 'claude-next'\ndelegates = ['b', 'c']\n[experts.b]\ndescription = 'x'\ninstruction = 'x'\nmaxCost = 1\n[experts.c]\ndescription = 'x'\ninstruction = 'x'\nmodel = 'claude-other'", []string{
			`perstack.toml:8:1: experts.b.maxCost: no run will start: what the model "claude-next" costs is not known`,
			`perstack.toml:8:1: experts.b.maxCost: no run will start: what the model "claude-other" costs is not known`,
		}},
		"a model of its own": {head + "model = 'gpt-5'", []string{`perstack.toml:3:1: experts.a.model: no run will start: anthropic: the model "gpt-5" is not one of this provider`}},
		"a provider of its own": {head + "[experts.a.provider]\nproviderName = 'openai'\n[experts.a.provider.setting]\nbaseUrl = 'https://gw.example/v1?a=b'", []string{
			"perstack.toml:6:1: experts.a.provider.setting.baseUrl: no run will start: openai: the base URL of gw.example",
		}},
		"not pinned":   {"runtime = 'docker'\n" + head + "[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'npx'\npackageName = 'x'", []string{`perstack.toml:4:19: experts.a.skills.s: no run will start: the package "x" is not pinned, and runtime docker puts only pinned ones into an image; run: perstack install`}},
		"not enforced": {head + "[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'x'\nworkspace = 'none'", []string{`perstack.toml:6:1: experts.a.skills.s.workspace: it is not enforced`}},
		"a sandbox":    {head + "[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'x'\nworkspace = 'none'\nsandbox = 'landlock'", nil},
		"no key":       {head, nil},
		"priced":       {"model = 'claude-next'\nmaxCost = 1\n[prices.claude-next]\ninput = 1\noutput = 1\n" + head, nil},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(c.file), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errOut, code := validate(t, dir)
		if code != 0 || errOut != "" || strings.Count(out, "note: ") != len(c.want) {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, errOut)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", name, want, out)
			}
		}
	}
}
