package validate

import (
	"strings"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers/replay"
	"github.com/perstack-go/perstack/internal/toml"
)

// cassetteProblems looks at the answers that the replay provider is to play. A file
// that does not say where they are is fine: perstack run --cassette can.
func cassetteProblems(c *manifest.Config, shorten func(string) string) toml.Problems {
	if c == nil || c.Provider.Name != "replay" {
		return nil
	}
	const key = "provider.setting.cassette"
	path := c.Provider.Setting.Cassette
	if path == "" {
		p := c.Problem(key, "is not set", "name the file with the answers, or give it to perstack run with --cassette")
		p.Warning = true
		return toml.Problems{p}
	}
	if _, err := replay.Load(path); err != nil {
		return toml.Problems{c.Problem(key, strings.ReplaceAll(err.Error(), path, shorten(path)), "")}
	}
	return nil
}
