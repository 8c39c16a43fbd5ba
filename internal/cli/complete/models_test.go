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
	for _, c := range []struct{ dir, provider, has, hasNot string }{
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
