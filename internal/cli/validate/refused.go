package validate

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// refused lists what would keep perstack run from starting an Expert although the file can
// be read: whether it matters depends on the flags that are given, so these are notes. A
// key that is not set here is not one of them.
func refused(c *manifest.Config, e *expert.Expert) (notes toml.Problems) {
	provider := cmp.Or(c.Provider.Name, job.DefaultProvider)
	name := cmp.Or(c.Model, model.DefaultModel(provider))
	for _, p := range providers.Check(providers.Config{
		Provider: provider, Model: name,
		Setting: c.Provider.Setting, Entry: c.Models[name],
		Expert: e, OwnTools: true,
	}) {
		path := p.Path
		if p.OfExpert() {
			path = of(e, path)
		}
		notes = append(notes, c.Problem(path, "no run will start: "+p.Err.Error(), ""))
	}
	_, known := model.PriceOf(provider, name)
	if _, stated := c.Prices[name]; known || stated || name == "" {
		return notes
	}
	var path string
	switch {
	case c.Limits.MaxCost > 0:
		path = "maxCost"
	case e.MaxCost > 0:
		path = of(e, "maxCost")
	default:
		return notes
	}
	return append(notes, c.Problem(path, fmt.Sprintf("no run will start: what the model %q costs is not known", name), fmt.Sprintf("write it into [prices.%q]", name)))
}

// of is the path of an Expert's key, as [manifest.Config.Unsupported] writes it.
func of(e *expert.Expert, key string) string {
	name := e.Name
	if strings.ContainsAny(name, "@/") {
		name = fmt.Sprintf("%q", name)
	}
	return "experts." + name + "." + key
}
