package consent

import (
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/toml"
)

// A Registry is one that only the project names, and that a run would ask for Experts. Package
// registry/scopes finds them.
type Registry struct {
	Name   string // [manifest.DefaultRegistry] for perstackApiBaseUrl
	URL    string // oci:// and the host for a container registry
	LogKey string // empty if the file has none
	Scope  string // whose Experts come from there; with the default registry, empty
}

// registries adds where the Experts come from that are not in the file. The answer is for the scope,
// the address and the key of the log.
func (l *lister) registries() {
	for _, r := range l.project.Registries {
		subject := r.URL + " " + r.LogKey
		if r.Name == manifest.DefaultRegistry {
			// The key of the user in the environment is for the default registry. It could publish in
			// the name of the user, so a general yes is not enough.
			l.add(manifest.RequestRegistries, "perstackApiBaseUrl", "default "+subject,
				"Experts that are not in the file come from %s, which can get your PERSTACK_API_KEY", r.URL).Explicit = true
			continue
		}
		if expert.IsOCI(r.URL) {
			l.add(manifest.RequestRegistries, "experts", r.URL, "Experts come from the container registry %s, which can get your login for it", r.URL)
			continue
		}
		key := "the first key of its log that is seen counts"
		if r.LogKey != "" {
			key = "its log has the key " + r.LogKey
		}
		l.add(manifest.RequestRegistries, toml.PathTo("registries", r.Name), r.Scope+" "+subject, "Experts of %s come from %s; %s", r.Scope, r.URL, key)
	}
}
