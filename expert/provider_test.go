package expert

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// settingOf is a file with settings for one provider. They start on line 4.
func settingOf(provider, keys string) string {
	return "[provider]\nproviderName = '" + provider + "'\n[provider.setting]\n" + keys
}

func TestProviderSettings(t *testing.T) {
	headers := map[string]string{"X-Team": "blue"}
	abs, err := filepath.Abs("demo.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	const url, common = "https://gateway.example/v1", "baseUrl = 'https://gateway.example/v1'\nheaders = {X-Team = 'blue'}\n"
	for provider, c := range map[string]struct {
		keys string
		want Setting
	}{
		"anthropic":      {common, Setting{BaseURL: url, Headers: headers}},
		"google":         {common, Setting{BaseURL: url, Headers: headers}},
		"openai":         {common + "organization='o'\nproject='p'\nname='n'", Setting{BaseURL: url, Headers: headers, Organization: "o", Project: "p", Name: "n"}},
		"ollama":         {"baseUrl = 'http://localhost:11434'", Setting{BaseURL: "http://localhost:11434"}},
		"azure-openai":   {common + "resourceName='r'\napiVersion='v1'\nuseDeploymentBasedUrls=true", Setting{BaseURL: url, Headers: headers, ResourceName: "r", APIVersion: "v1", UseDeploymentBasedURLs: true}},
		"amazon-bedrock": {"region='us-east-1'", Setting{Region: "us-east-1"}},
		"google-vertex":  {common + "project='p'\nlocation='us-central1'", Setting{BaseURL: url, Headers: headers, Project: "p", Location: "us-central1"}},
		"deepseek":       {common, Setting{BaseURL: url, Headers: headers}},
		"replay":         {"cassette = 'demo.jsonl'", Setting{Cassette: abs}},
	} {
		t.Run(provider, func(t *testing.T) {
			cfg := check(t, settingOf(provider, c.keys))
			if cfg == nil {
				return
			}
			if d := cmp.Diff(Provider{Name: provider, Setting: c.want}, cfg.Provider); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestProviderProblems(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[provider]", `p.toml:1:2: provider.providerName: is required; write providerName = "anthropic"`},
		{"[provider]\nproviderName = 'Anthropic'", `p.toml:2:16: provider.providerName: unknown value "Anthropic"; did you mean "anthropic"?`},
		{"[provider]\nproviderName = 'openai'\nsetting = 1", `p.toml:3:11: provider.setting: must be a table, not an integer`},
		{settingOf("openai", "headers = 'x'"), `p.toml:4:11: provider.setting.headers: must be a table, not a string`},
		{settingOf("openai", "headers = {A = 1}"), `p.toml:4:16: provider.setting.headers.A: must be a string, not an integer; put it in quotes`},
		{settingOf("openai", "headers = {'A B' = 'x'}"), `p.toml:4:12: provider.setting.headers."A B": is not a header name; use letters, digits and -`},
		{settingOf("openai", `headers = {A = "sk-secret\r\nB: c"}`), `p.toml:4:16: provider.setting.headers.A: has a control character in its value; remove it`},
		{settingOf("ollama", "baseUrl = 'http://gpu.example'"), `p.toml:4:11: provider.setting.baseUrl: must use https; plain http is accepted for localhost only`},
		{settingOf("ollama", "baseUrl = 'https://10.0.0.7'"), `p.toml:4:11: provider.setting.baseUrl: is a private address; set allowPrivateEndpoint = true beside it if that is what you want`},
		{settingOf("ollama", "baseUrl = 'https://me:secret@x.example'"), `p.toml:4:11: provider.setting.baseUrl: must not contain a user name or password; use headers or environment variables for keys`},
		{settingOf("amazon-bedrock", "region = 'evil.example/'"), `p.toml:4:10: provider.setting.region: becomes part of a host name; use letters, digits and - only`},
		{settingOf("azure-openai", "useDeploymentBasedUrls = 'yes'"), `p.toml:4:26: provider.setting.useDeploymentBasedUrls: must be a boolean, not a string; remove the quotes`},
		{settingOf("replay", "cassete = 'x'"), `p.toml:4:1: provider.setting.cassete: unknown key; did you mean "cassette"?`},
	} {
		check(t, c.text, c.want)
	}
	check(t, settingOf("anthropic", "baseUrl = 'http://127.0.0.1:8080'"))
	check(t, settingOf("ollama", "baseUrl = 'https://10.0.0.7'\nallowPrivateEndpoint = true"))
}

// What a message repeats of the file must not be a secret.
func TestMessagesHideSecrets(t *testing.T) {
	for _, text := range []string{
		settingOf("openai", `headers = {Authorization = "hunter2\n"}`),
		settingOf("openai", `baseUrl = "https://me:hunter2@host.example"`),
		settingOf("openai", `baseUrl = "http://host.example/?key=hunter2"`),
		settingOf("openai", `baseUrl = "hunter2"`),
	} {
		_, ps := Parse("p.toml", []byte(text))
		if ps.Err() == nil || strings.Contains(ps.Err().Error(), "hunter2") {
			t.Errorf("%q gives %v", text, ps.Err())
		}
	}
}
