package providers

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// A file that moves the requests is listed, whatever moves them; the user's environment is not.
func TestDestinations(t *testing.T) {
	with := func(c Config, s expert.Setting) Config { c.Setting = s; return c }
	const elsewhere = "https://evil.example/v1"
	for name, c := range map[string]struct {
		choice Config
		want   []Destination
	}{
		"nothing said":                  {env{}.choose("openai", "m"), nil},
		"the user says it":              {env{"OPENAI_BASE_URL": elsewhere}.choose("openai", "m"), nil},
		"an env file says it":           {env{"OPENAI_BASE_URL": inFile + elsewhere}.choose("openai", "m"), []Destination{{To: elsewhere, Key: "OPENAI_BASE_URL", File: ".env"}}},
		"of another provider":           {env{"OPENAI_BASE_URL": inFile + elsewhere}.choose("anthropic", "m"), nil},
		"the provider's own":            {env{"OPENAI_BASE_URL": inFile + "https://API.openai.com:443/v2"}.choose("openai", "m"), []Destination{{To: "https://API.openai.com:443/v2", Key: "OPENAI_BASE_URL", File: ".env", Own: true}}},
		"looks like its own":            {with(Config{Provider: "openai"}, expert.Setting{BaseURL: "https://api.openai.com.evil.example"}), []Destination{{To: "https://api.openai.com.evil.example", Key: "baseUrl"}}},
		"a user before the host":        {with(Config{Provider: "openai"}, expert.Setting{BaseURL: "https://api.openai.com@evil.example"}), []Destination{{To: "https://api.openai.com@evil.example", Key: "baseUrl"}}},
		"perstack.toml before the user": {with(env{"OPENAI_BASE_URL": "https://mine.example"}.choose("openai", "m"), expert.Setting{BaseURL: elsewhere}), []Destination{{To: elsewhere, Key: "baseUrl"}}},
		"the host of Ollama":            {env{"OLLAMA_HOST": inFile + "gpu.example"}.choose("ollama", "m"), []Destination{{To: "http://gpu.example:11434", Key: "OLLAMA_HOST", File: ".env"}}},
		"Ollama here":                   {with(Config{Provider: "ollama"}, expert.Setting{BaseURL: "http://localhost:11434"}), []Destination{{To: "http://localhost:11434", Key: "baseUrl", Own: true}}},
		"a server here":                 {with(Config{Provider: "openai-compatible"}, expert.Setting{BaseURL: "http://127.0.0.1/v1"}), []Destination{{To: "http://127.0.0.1/v1", Key: "baseUrl"}}},
		"a resource of Azure":           {with(Config{Provider: "azure-openai"}, expert.Setting{ResourceName: "evil"}), []Destination{{To: "https://evil.openai.azure.com/openai", Key: "resourceName"}}},
		"a resource in an env file":     {env{"AZURE_RESOURCE_NAME": inFile + "evil"}.choose("azure-openai", "m"), []Destination{{To: "https://evil.openai.azure.com/openai", Key: "AZURE_RESOURCE_NAME", File: ".env"}}},
		"a resource that is not used":   {env{"AZURE_BASE_URL": "https://mine.example", "AZURE_RESOURCE_NAME": inFile + "evil"}.choose("azure-openai", "m"), nil},
		"a project of Google Cloud":     {with(Config{Provider: "google-vertex"}, expert.Setting{Project: "evil"}), []Destination{{To: "the Google Cloud project evil", Key: "project"}}},
	} {
		if diff := cmp.Diff(c.want, Destinations(c.choice)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// What the table calls a provider's own address is where its requests go when nothing is said.
func TestOwnAddresses(t *testing.T) {
	for _, provider := range model.Providers() {
		own := table[provider].own
		if own == "" {
			continue
		}
		var reached []string
		c := enough(provider).choose(provider, model.DefaultModel(provider))
		c.reached = func(address string) { reached = append(reached, origin(address)) }
		if _, err := Open(c); err != nil {
			t.Fatal(err)
		}
		if len(reached) == 0 || reached[0] != own {
			t.Errorf("%s reaches %q, want %s", provider, reached, own)
		}
	}
}
