package manifest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
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
		want expert.Setting
	}{
		"anthropic":         {common, expert.Setting{BaseURL: url, Headers: headers}},
		"google":            {common, expert.Setting{BaseURL: url, Headers: headers}},
		"openai":            {common + "organization='o'\nproject='p'\nname='n'", expert.Setting{BaseURL: url, Headers: headers, Organization: "o", Project: "p", Name: "n"}},
		"ollama":            {"baseUrl = 'http://localhost:11434'", expert.Setting{BaseURL: "http://localhost:11434"}},
		"openai-compatible": {"baseUrl = 'http://192.168.1.5:8000/v1'\nallowPrivateEndpoint = true", expert.Setting{BaseURL: "http://192.168.1.5:8000/v1", AllowPrivateEndpoint: true}},
		"azure-openai":      {common + "resourceName='r'\napiVersion='v1'\nuseDeploymentBasedUrls=true", expert.Setting{BaseURL: url, Headers: headers, ResourceName: "r", APIVersion: "v1", UseDeploymentBasedURLs: true}},
		"amazon-bedrock": {common + "region='us-east-1'\nguardrail = {identifier = 'g', version = '1', trace = 'enabled'}", expert.Setting{BaseURL: url, Headers: headers, Region: "us-east-1",
			Guardrail: &expert.Guardrail{Identifier: "g", Version: "1", Trace: "enabled"}}},
		"google-vertex": {common + "project='p'\nlocation='us-central1'\n[[provider.setting.safetySettings]]\ncategory='HARM_CATEGORY_HARASSMENT'\nthreshold='BLOCK_NONE'",
			expert.Setting{BaseURL: url, Headers: headers, Project: "p", Location: "us-central1", SafetySettings: []expert.SafetySetting{{Category: "HARM_CATEGORY_HARASSMENT", Threshold: "BLOCK_NONE"}}}},
		"deepseek": {common, expert.Setting{BaseURL: url, Headers: headers}},
		"replay":   {"cassette = 'demo.jsonl'", expert.Setting{Cassette: abs}},
	} {
		t.Run(provider, func(t *testing.T) {
			cfg := check(t, settingOf(provider, c.keys))
			if cfg == nil {
				return
			}
			if d := cmp.Diff(job.Settings{Provider: provider, Setting: c.want}, cfg.Settings); d != "" {
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
		{settingOf("openai", "headers = {Host = 'x'}"), `p.toml:4:12: provider.setting.headers.Host: is a header that perstack sets itself; remove it`},
		{settingOf("ollama", "headers = {content-length = '1'}"), `p.toml:4:12: provider.setting.headers.content-length: is a header that perstack sets itself; remove it`},
		{settingOf("openai", "headers = {authorization = 'x'}"), `p.toml:4:12: provider.setting.headers.authorization: is a header that perstack sets itself, with your key for openai; remove it; perstack reads the key from the environment`},
		{settingOf("anthropic", "headers = {X-Api-Key = 'x'}"), `p.toml:4:12: provider.setting.headers.X-Api-Key: is a header that perstack sets itself, with your key for anthropic; remove it; perstack reads the key from the environment`},
		{settingOf("amazon-bedrock", "headers = {x-amz-date = 'x'}"), `p.toml:4:12: provider.setting.headers.x-amz-date: is a header that perstack sets itself, with your key for amazon-bedrock; remove it; perstack reads the key from the environment`},
		{settingOf("openai", `headers = {A = "sk-secret\r\nB: c"}`), `p.toml:4:16: provider.setting.headers.A: has a control character in its value; remove it`},
		{settingOf("ollama", "baseUrl = 'http://gpu.example'"), `p.toml:4:11: provider.setting.baseUrl: must use https; plain http is accepted for localhost and, with allowPrivateEndpoint = true, in a private network`},
		{settingOf("ollama", "baseUrl = 'https://10.0.0.7'"), `p.toml:4:11: provider.setting.baseUrl: is a private address; set allowPrivateEndpoint = true beside it if that is what you want`},
		{settingOf("ollama", "baseUrl = 'https://me:secret@x.example'"), `p.toml:4:11: provider.setting.baseUrl: must not contain a user name or password; use headers or environment variables for keys`},
		{settingOf("amazon-bedrock", "region = 'evil.example/'"), `p.toml:4:10: provider.setting.region: becomes part of a host name; use letters, digits and - only`},
		{settingOf("azure-openai", "useDeploymentBasedUrls = 'yes'"), `p.toml:4:26: provider.setting.useDeploymentBasedUrls: must be a boolean, not a string; remove the quotes`},
		{settingOf("amazon-bedrock", "baseUrl = 'http://vpce.example'"), `p.toml:4:11: provider.setting.baseUrl: must use https; plain http is accepted for localhost only`},
		{settingOf("amazon-bedrock", "guardrail = 'g'"), `p.toml:4:13: provider.setting.guardrail: must be a table, not a string`},
		{settingOf("amazon-bedrock", "[provider.setting.guardrail]\nidentifier = 'g'"), `p.toml:4:19: provider.setting.guardrail.version: is required; write its number, in quotes, or "DRAFT"`},
		{settingOf("amazon-bedrock", "guardrail = {identifier = 'g', version = 1}"), `p.toml:4:42: provider.setting.guardrail.version: must be a string, not an integer; put it in quotes`},
		{settingOf("amazon-bedrock", "guardrail = {identifier = 'g', version = '1', trace = 'on'}"), `p.toml:4:55: provider.setting.guardrail.trace: unknown value "on"; use enabled or disabled`},
		{settingOf("amazon-bedrock", "guardrail = {identifier = 'g', version = '1', tarce = 'on'}"), `p.toml:4:47: provider.setting.guardrail.tarce: unknown key; did you mean "trace"?`},
		{settingOf("anthropic", "guardrail = {}"), `p.toml:4:1: provider.setting.guardrail: unknown key; it is a setting of amazon-bedrock`},
		{settingOf("google", "safetySettings = [{category = 'HARASSMENT', threshold = 'BLOCK_NONE'}]"), `p.toml:4:31: provider.setting.safetySettings.0.category: unknown value "HARASSMENT"; did you mean "HARM_CATEGORY_HARASSMENT"?`},
		{settingOf("google", "[[provider.setting.safetySettings]]\ncategory = 'HARM_CATEGORY_HARASSMENT'"), `p.toml:4:20: provider.setting.safetySettings.0.threshold: is required; write threshold = "BLOCK_ONLY_HIGH", for instance`},
		{settingOf("google", strings.Repeat("[[provider.setting.safetySettings]]\ncategory = 'HARM_CATEGORY_HARASSMENT'\nthreshold = 'BLOCK_NONE'\n", 2)),
			`p.toml:8:12: provider.setting.safetySettings.1.category: HARM_CATEGORY_HARASSMENT is there already; each category has one threshold`},
		{settingOf("openai", "safetySettings = []"), `p.toml:4:1: provider.setting.safetySettings: unknown key; it is a setting of google or google-vertex`},
		{settingOf("openai", "organization = \"a\\nb\""), `p.toml:4:16: provider.setting.organization: has a control character in its value; remove it`},
		{settingOf("replay", "extraBody = {}"), `p.toml:4:1: provider.setting.extraBody: unknown key; it is a setting of anthropic, google, openai, ollama, azure-openai, amazon-bedrock, google-vertex, deepseek or openai-compatible`},
		{settingOf("replay", "cassete = 'x'"), `p.toml:4:1: provider.setting.cassete: unknown key; did you mean "cassette"?`},
	} {
		check(t, c.text, c.want)
	}
	check(t, settingOf("anthropic", "baseUrl = 'http://127.0.0.1:8080'"))
	check(t, settingOf("ollama", "baseUrl = 'https://10.0.0.7'\nallowPrivateEndpoint = true"))
	// Ollama is sent no key: in the own network it may do without encryption.
	check(t, settingOf("ollama", "baseUrl = 'http://10.0.0.7:11434'\nallowPrivateEndpoint = true"))
	check(t, settingOf("ollama", "baseUrl = 'http://ollama:11434'\nallowPrivateEndpoint = true"))
	check(t, settingOf("ollama", "baseUrl = 'http://ollama:11434'"),
		`p.toml:4:11: provider.setting.baseUrl: is a private address; set allowPrivateEndpoint = true beside it if that is what you want; nothing is encrypted on the way there`)
	const plain = `p.toml:4:11: provider.setting.baseUrl: must use https; plain http is accepted for localhost only`
	check(t, settingOf("ollama", "baseUrl = 'http://gpu.example'\nallowPrivateEndpoint = true"), strings.Replace(plain, "localhost only", "localhost and, with allowPrivateEndpoint = true, in a private network", 1))
	check(t, settingOf("openai", "baseUrl = 'http://10.0.0.7'\nallowPrivateEndpoint = true"), plain)
}

// What a message repeats of the file must not be a secret.
func TestMessagesHideSecrets(t *testing.T) {
	for _, text := range []string{
		settingOf("openai", `headers = {X-Key = "hunter2\n"}`),
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
