package providers

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/rawjson"
)

// Ollama may be reached by plain http beyond this machine: where the user says so, or the
// file for the own network, and never with what may be a key. The user is told.
func TestPlainOllama(t *testing.T) {
	const told = "what the Expert sees goes to ollama:11434 unencrypted; others on the way can read and change it"
	const mine, here, public = "http://ollama:11434", "http://127.0.0.1:11434", "http://gpu.example:11434"
	body := func(member string) map[string]rawjson.Value {
		return map[string]rawjson.Value{"m": rawjson.Value(member)}
	}
	const bodyRefused = "ollama: extraBody has text that may be a key, and is not sent to ollama:11434 by plain http"
	headers := map[string]string{"Authorization": "x"}
	for name, c := range map[string]struct {
		variable, want, warns string
		setting               expert.Setting
	}{
		"by the user":          {variable: mine, warns: told},
		"by number":            {variable: "http://192.168.1.5:11434", warns: strings.ReplaceAll(told, "ollama:", "192.168.1.5:")},
		"by the user, public":  {variable: public, warns: strings.ReplaceAll(told, "ollama:", "gpu.example:")},
		"encrypted":            {variable: "https://ollama:11434"},
		"here":                 {variable: here},
		"here, with headers":   {variable: here, setting: expert.Setting{Headers: headers}},
		"an env file":          {variable: inFile + mine, want: "ollama: OLLAMA_BASE_URL must use https; plain http is accepted for localhost only; it is set in .env, which may have come with a repository; in your environment it would count"},
		"an env file, allowed": {variable: inFile + mine, setting: expert.Setting{AllowPrivateEndpoint: true}, want: "OLLAMA_BASE_URL must use https"},
		"with headers":         {variable: mine, setting: expert.Setting{Headers: headers}, want: "ollama: headers may hold a key, and are not sent to ollama:11434 by plain http"},
		"with text":            {variable: mine, setting: expert.Setting{ExtraBody: body(`"secret"`)}, want: bodyRefused},
		"with text inside":     {variable: mine, setting: expert.Setting{ExtraBody: body(`{"a": [1, {"b": "secret"}]}`)}, want: bodyRefused},
		"with text, encrypted": {variable: "https://ollama:11434", setting: expert.Setting{ExtraBody: body(`"secret"`)}},
		"here, with text":      {variable: here, setting: expert.Setting{ExtraBody: body(`"secret"`)}},
		"with numbers":         {variable: mine, setting: expert.Setting{ExtraBody: body(`{"a": [1, {"b": true}], "c": null}`)}, warns: told},
		"the file, text":       {setting: expert.Setting{BaseURL: mine, AllowPrivateEndpoint: true, ExtraBody: body(`"secret"`)}, want: bodyRefused},
		"the file":             {setting: expert.Setting{BaseURL: mine, AllowPrivateEndpoint: true}, warns: "what the Expert sees goes to " + mine + ", as perstack.toml says\n" + told},
		"the file, not meant":  {setting: expert.Setting{BaseURL: mine}, want: "is not https"},
		"the file, public":     {setting: expert.Setting{BaseURL: public, AllowPrivateEndpoint: true}, want: "is not https"},
		"the file, headers":    {setting: expert.Setting{BaseURL: mine, AllowPrivateEndpoint: true, Headers: headers}, want: "headers may hold a key"},
	} {
		choice := env{"OLLAMA_BASE_URL": c.variable}.choose("ollama", "gpt-oss:20b")
		choice.Setting = c.setting
		t.Run(name, func(t *testing.T) {
			warnings, err := open(t, choice)
			expect(t, err, c.want)
			if got := strings.Join(warnings, "\n"); err == nil && got != c.warns {
				t.Errorf("got  %q\nwant %q", got, c.warns)
			}
		})
	}
	_, err := open(t, enough("openai").with("OPENAI_BASE_URL", mine).choose("openai", "gpt-5"))
	expect(t, err, "must use https") // there is a key
}

// The old form of Azure's addresses goes with versions that are dates.
func TestDeploymentURLsWantADate(t *testing.T) {
	for version, warns := range map[string]bool{"": true, "v1": true, "preview": true, "2025-04-01-preview": false} {
		choice := enough("azure-openai").choose("azure-openai", "gpt-5")
		choice.Setting = expert.Setting{UseDeploymentBasedURLs: true, APIVersion: version}
		warnings, err := open(t, choice)
		if got := strings.HasPrefix(strings.Join(warnings, ""), "useDeploymentBasedUrls goes with an API version that is a date"); err != nil || got != warns {
			t.Errorf("%s: %v, %q", version, err, warnings)
		}
	}
}

// Where a key may come from several variables, a server that refuses it leads to the one
// that it came from.
func TestRefusedKeyNamesItsVariable(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refuses.Close()
	for _, c := range []struct {
		provider, model, key string
		env                  env
	}{
		{"google", "gemini-2.5-pro", "GEMINI_API_KEY", env{"GOOGLE_GENERATIVE_AI_BASE_URL": refuses.URL}},
		{"google", "gemini-2.5-pro", "GOOGLE_API_KEY", env{"GOOGLE_GENERATIVE_AI_BASE_URL": refuses.URL}},
		{"azure-openai", "gpt-5", "AZURE_OPENAI_API_KEY", env{"AZURE_BASE_URL": refuses.URL}},
		{"amazon-bedrock", "amazon.nova-pro-v1:0", "AWS_BEARER_TOKEN_BEDROCK", env{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": refuses.URL, "AWS_REGION": "us-east-1"}},
	} {
		m, err := Open(c.env.with(c.key, secretKey).choose(c.provider, c.model))
		if err != nil {
			t.Fatal(err)
		}
		if err := ask(t, m); err == nil || !strings.Contains(err.Error(), "check "+c.key) {
			t.Errorf("%s: %v", c.key, err)
		}
	}
}
