package providers

import (
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
)

// What is missing or wrong shows when the model is opened, with the way out.
func TestOpen(t *testing.T) {
	key := map[string]string{"ANTHROPIC_API_KEY": "sk-ant-test"}
	with := func(name, value string) map[string]string {
		return map[string]string{"ANTHROPIC_API_KEY": "sk-ant-test", name: value}
	}
	inFile := func(names ...string) func(string) string {
		return func(name string) string {
			if slices.Contains(names, name) {
				return ".env"
			}
			return ""
		}
	}
	tests := []struct {
		name   string
		choice Choice
		env    map[string]string
		want   string // in the error; empty: none
	}{
		{"base URL and key of one env file", Choice{Provider: "anthropic", Model: "m", EnvFile: inFile("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")}, with("ANTHROPIC_BASE_URL", "https://b.example"), ""},
		{"base URL of an env file", Choice{Provider: "anthropic", Model: "m", EnvFile: inFile("ANTHROPIC_BASE_URL")}, with("ANTHROPIC_BASE_URL", "https://b.example"), "ANTHROPIC_BASE_URL is set in .env, but ANTHROPIC_API_KEY is not"},
		{"base URL of an env file that does not count", Choice{Provider: "anthropic", Model: "m", Setting: expert.Setting{BaseURL: "https://a.example"}, EnvFile: inFile("ANTHROPIC_BASE_URL")}, with("ANTHROPIC_BASE_URL", "https://b.example"), ""},
		{"key of an env file", Choice{Provider: "anthropic", Model: "m", EnvFile: inFile("ANTHROPIC_API_KEY")}, with("ANTHROPIC_BASE_URL", "https://b.example"), ""},
		{"proxy of an env file", Choice{Provider: "anthropic", Model: "m", EnvFile: inFile("PERSTACK_PROXY_URL")}, with("PERSTACK_PROXY_URL", "http://p.example"), "PERSTACK_PROXY_URL is set in .env"},
		{"anthropic", Choice{Provider: "anthropic", Model: "claude-sonnet-4-5"}, key, ""},
		{"no key", Choice{Provider: "anthropic", Model: "claude-sonnet-4-5"}, nil, "ANTHROPIC_API_KEY is not set"},
		{"no model", Choice{Provider: "anthropic"}, key, "no model is named"},
		{"local base URL", Choice{Provider: "anthropic", Model: "m"}, with("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/v1"), ""},
		{"plain base URL", Choice{Provider: "anthropic", Model: "m"}, with("ANTHROPIC_BASE_URL", "http://example.com/v1"), "not https"},
		{"setting before variable", Choice{Provider: "anthropic", Model: "m", Setting: expert.Setting{BaseURL: "http://a.example"}}, with("ANTHROPIC_BASE_URL", "https://b.example"), "a.example is not https"},
		{"bad proxy", Choice{Provider: "anthropic", Model: "m"}, with("PERSTACK_PROXY_URL", "::"), "PERSTACK_PROXY_URL is not a URL"},
		{"unknown tool of the provider", Choice{Provider: "anthropic", Model: "m", Expert: &expert.Expert{ProviderTools: []string{"webSerch"}}}, key, "webSerch"},
		{"replay without a cassette", Choice{Provider: "replay"}, nil, "needs a cassette"},
		{"replay with a missing one", Choice{Provider: "replay", Setting: expert.Setting{Cassette: "nope.toml"}}, nil, "nope.toml"},
		{"later", Choice{Provider: "openai", Model: "m"}, nil, "cannot be used by this version yet"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.choice.Env = func(name string) string { return tt.env[name] }
			if tt.choice.Expert == nil {
				tt.choice.Expert = &expert.Expert{}
			}
			m, err := Open(tt.choice)
			switch {
			case tt.want == "" && (err != nil || m == nil):
				t.Errorf("%v, %v", m, err)
			case tt.want != "" && (err == nil || m != nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v, %v; want an error with %q", m, err, tt.want)
			case err != nil && strings.Contains(err.Error(), "sk-ant-test"):
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
}
