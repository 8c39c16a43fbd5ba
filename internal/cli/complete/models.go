package complete

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// Models returns what the catalogue has of a provider, or, if none is named, of the one
// that the configuration names; and what the configuration says of further models, if it
// is about that provider.
func Models(h *host.Host, config, provider string) ([]cobra.Completion, cobra.ShellCompDirective) {
	file := load(h, config)
	own := cmp.Or(file.Settings.Provider, job.DefaultProvider)
	provider = cmp.Or(provider, own)
	var ids []cobra.Completion
	for _, e := range model.Of(provider) {
		ids = append(ids, e.ID)
	}
	if provider == own {
		for _, id := range slices.Sorted(slices.Values(append(Described(file), file.Settings.Model))) {
			// A shell reads this line by line, and takes a tab for the end of the name.
			if id != "" && !slices.Contains(ids, id) && id == terminal.CleanLine(id) && !strings.ContainsAny(id, "\t\r\n") {
				ids = append(ids, id)
			}
		}
	}
	return ids, directive
}

// Described returns the models that a file says something of, in order.
func Described(c *manifest.Config) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(c.Models)), maps.Keys(c.Prices))
	slices.Sort(all)
	return slices.Compact(all)
}

// Providers returns the providers that have models to list.
func Providers() []cobra.Completion {
	return slices.DeleteFunc(model.Providers(), func(name string) bool { return name == "replay" })
}
