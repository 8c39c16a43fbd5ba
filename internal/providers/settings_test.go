package providers

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// What the file says of a provider and of a model shows in what the provider is sent.
func TestSettingsReachTheProvider(t *testing.T) {
	no := false
	safety := []expert.SafetySetting{{Category: "HARM_CATEGORY_HARASSMENT", Threshold: "BLOCK_NONE"}}
	const sentSafety = `"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}]`
	for name, c := range map[string]struct {
		provider string
		env      env
		setting  expert.Setting
		entry    expert.ModelEntry
		want     string // in the head or the body of the request
		without  string // not there
	}{
		"organization and project": {
			provider: "openai", env: env{"OPENAI_PROJECT": "p1"}, setting: expert.Setting{Organization: "o2", Project: "p2"},
			want: "Openai-Project: p2\r\n", without: "p1",
		},
		"version of Azure":               {provider: "azure-openai", env: env{"AZURE_API_VERSION": "2024-10-21"}, want: "?api-version=2024-10-21"},
		"version of Azure, in the file":  {provider: "azure-openai", env: env{"AZURE_API_VERSION": "2024-10-21"}, setting: expert.Setting{APIVersion: "preview"}, want: "?api-version=preview"},
		"version of Azure, not said":     {provider: "azure-openai", want: "?api-version=v1"},
		"guardrail":                      {provider: "amazon-bedrock", setting: expert.Setting{Guardrail: &expert.Guardrail{Identifier: "gr-1", Version: "2"}}, want: `"guardrailConfig":{"guardrailIdentifier":"gr-1","guardrailVersion":"2"}`},
		"safety, Google":                 {provider: "google", setting: expert.Setting{SafetySettings: safety}, want: sentSafety},
		"safety, Vertex":                 {provider: "google-vertex", setting: expert.Setting{SafetySettings: safety}, want: sentSafety},
		"limit of the catalogue":         {provider: "anthropic", want: `"max_tokens":64000`},
		"limit of the file":              {provider: "anthropic", entry: expert.ModelEntry{MaxOutputTokens: 777}, want: `"max_tokens":777,`},
		"limit where there is none else": {provider: "openai", entry: expert.ModelEntry{MaxOutputTokens: 777}, want: `"max_output_tokens":777,`},
		"way to think":                   {provider: "openai", entry: expert.ModelEntry{Reasoning: "none"}, want: `"model":"gpt-5"`, without: `"reasoning"`},
		"eyes":                           {provider: "openai", entry: expert.ModelEntry{Images: &no}, want: "hello", without: "input_image"},
		"what is fetched":                {provider: "amazon-bedrock", want: "its address is not a public one"},
	} {
		t.Run(name, func(t *testing.T) {
			var sent string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet { // the metadata server
					w.Header().Set("Metadata-Flavor", "Google")
					_, _ = io.WriteString(w, `{"access_token":"t","expires_in":3600}`)
					return
				}
				var head strings.Builder
				_ = r.Header.Write(&head)
				body, _ := io.ReadAll(r.Body)
				sent = r.RequestURI + "\r\n" + head.String() + string(body)
				w.WriteHeader(http.StatusBadRequest)
			}))
			defer server.Close()
			environment := enough(c.provider).with(model.ProviderNamed(c.provider).BaseURLEnv, server.URL, "GCE_METADATA_HOST", strings.TrimPrefix(server.URL, "http://"))
			for name, value := range c.env {
				environment[name] = value
			}
			name := model.DefaultModel(c.provider)
			if name == "" {
				name = "gpt-5"
			}
			choice := environment.choose(c.provider, name)
			choice.Setting, choice.Entry = c.setting, c.entry
			m, err := Open(choice)
			if err != nil {
				t.Fatal(err)
			}
			said := &event.Message{ID: "1", Type: event.UserMessage, Contents: []event.Part{
				{Type: event.TextPart, Text: "hello"}, {Type: event.ImageURLPart, URL: "https://127.0.0.1/a.png", MIMEType: "image/png"},
			}}
			for _, err := range m.Generate(t.Context(), &model.Request{Messages: []*event.Message{said}, Reasoning: "low"}) {
				_ = err // it refuses
			}
			if !strings.Contains(sent, c.want) || c.without != "" && strings.Contains(sent, c.without) {
				t.Errorf("want %q and not %q in\n%s", c.want, c.without, sent)
			}
		})
	}
}

// A region, a location and a resource of the file go before those of the environment.
func TestPlacesOfTheFile(t *testing.T) {
	for provider, c := range map[string]struct {
		setting expert.Setting
		want    string
	}{
		"amazon-bedrock": {expert.Setting{Region: "eu-central-1"}, "bedrock-runtime.eu-central-1.amazonaws.com:443"},
		"google-vertex":  {expert.Setting{Location: "europe-west1"}, "europe-west1-aiplatform.googleapis.com:443"},
		"azure-openai":   {expert.Setting{ResourceName: "theirs"}, "theirs.openai.azure.com:443"},
	} {
		var asked []string
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet { // the metadata server
				w.Header().Set("Metadata-Flavor", "Google")
				_, _ = io.WriteString(w, `{"access_token":"t","expires_in":3600}`)
				return
			}
			asked = append(asked, r.Host)
			w.WriteHeader(http.StatusForbidden)
		}))
		name := model.DefaultModel(provider)
		if name == "" {
			name = "gpt-5"
		}
		choice := enough(provider).with(proxyVariable, proxy.URL, "GCE_METADATA_HOST", strings.TrimPrefix(proxy.URL, "http://")).choose(provider, name)
		choice.Setting = c.setting
		m, err := Open(choice)
		if err != nil {
			t.Fatal(err)
		}
		err = ask(t, m)
		proxy.Close()
		if err == nil || len(asked) == 0 || asked[0] != c.want {
			t.Errorf("%s: %v, %q, want %s", provider, err, asked, c.want)
		}
	}
}
