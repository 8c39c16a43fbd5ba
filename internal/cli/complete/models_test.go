package complete

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/perstack-go/perstack/internal/cli/host"
)

func TestModels(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte("[provider]\nproviderName = 'google'"), 0o600); err != nil {
		t.Fatal(err)
	}
	own := t.TempDir()
	text := "model = 'one-of-mine'\n[provider]\nproviderName = 'azure-openai'\n[models.two-of-mine]\nimages = true\n[prices.three-of-mine]\ninput = 1\noutput = 1\n"
	if err := os.WriteFile(filepath.Join(own, "perstack.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, provider, has, hasNot string }{
		{own, "", "one-of-mine", "claude-sonnet-4-5"},
		{own, "", "two-of-mine", "gemini-2.5-pro"},
		{own, "azure-openai", "three-of-mine", "gemini-2.5-pro"},
		{own, "openai", "gpt-5", "two-of-mine"},
		{t.TempDir(), "", "claude-sonnet-4-5", "gpt-5"},
		{dir, "", "gemini-2.5-pro", "claude-sonnet-4-5"},
		{dir, "openai", "gpt-5", "gemini-2.5-pro"},
		{dir, "azure-openai", "gpt-5", "gemini-2.5-pro"},
		{dir, "google-vertex", "gemini-2.5-pro", "gpt-5"},
	} {
		got, _ := Models(&host.Host{Dir: c.dir}, "", c.provider)
		if !slices.Contains(got, c.has) || slices.Contains(got, c.hasNot) {
			t.Errorf("%q: %q", c.provider, got)
		}
	}
}
