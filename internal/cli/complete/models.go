package complete

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/model"
)

// Models returns what the catalogue has of a provider, or, if none is named, of the one
// that the configuration names.
func Models(h *host.Host, config, provider string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if path, err := expert.Locate(h.Dir, config); err == nil && provider == "" {
		if c, _, err := expert.Load(path); err == nil && c != nil {
			provider = c.Provider.Name
		}
	}
	provider = cmp.Or(provider, expert.DefaultProvider)
	var ids []cobra.Completion
	for _, e := range model.Of(provider) {
		ids = append(ids, e.ID)
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// Providers returns the providers that have models to list.
func Providers() []cobra.Completion {
	var names []cobra.Completion
	for _, name := range expert.Providers() {
		if name != "replay" {
			names = append(names, name)
		}
	}
	return names
}
