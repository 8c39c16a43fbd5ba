package run

import (
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
)

// A base URL or headers that stand with one provider must not meet the key of another.
func TestSettingBelongsToItsProvider(t *testing.T) {
	config := &manifest.Config{Provider: expert.Provider{Name: "openai", Setting: expert.Setting{
		BaseURL: "https://gateway.example", Headers: map[string]string{"X-Team": "a"},
	}}}
	for provider, want := range map[string]string{"openai": "https://gateway.example", "anthropic": ""} {
		s := &setup{opts: &Options{Host: &host.Host{}}, config: config, provider: provider}
		if got := s.setting(); got.BaseURL != want || (got.Headers != nil) != (want != "") {
			t.Errorf("--provider %s uses %q and headers %v", provider, got.BaseURL, got.Headers)
		}
	}
}
