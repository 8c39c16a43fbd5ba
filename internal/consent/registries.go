package consent

import (
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/toml"
)

// A Registry is one that a run would ask for Experts, and of which only the project names something: the
// place, or the key of its log. Package registry/scopes finds them.
type Registry struct {
	Name   string // [manifest.DefaultRegistry] for perstackApiBaseUrl
	URL    string // oci:// and the host for a container registry
	LogKey string // empty if the file has none
	Scope  string // whose Experts come from there; with the default registry, empty
	// KeyOnly says that the user names the registry, and the project the key of its log.
	KeyOnly bool
}

// registries adds where the Experts come from that are not in the file. The answer is for the scope,
// the address and the key of the log.
func (l *lister) registries() {
	for _, r := range l.project.Registries {
		subject := r.URL + " " + r.LogKey
		if r.KeyOnly {
			l.add(manifest.RequestRegistries, "registries", "key "+subject, "the log of %s has the key %s", r.URL, r.LogKey)
			continue
		}
		if r.Name == manifest.DefaultRegistry {
			// All names without a scope would come from there, so a general yes is not enough.
			l.add(manifest.RequestRegistries, "perstackApiBaseUrl", "default "+subject,
				"Experts that are not in the file come from %s, which does not get your PERSTACK_API_KEY; %s", r.URL, r.key()).Explicit = true
			continue
		}
		if expert.IsOCI(r.URL) {
			l.add(manifest.RequestRegistries, "experts", r.URL, "Experts come from the container registry %s, which can get your login for it", r.URL)
			continue
		}
		l.add(manifest.RequestRegistries, toml.PathTo("registries", r.Name), r.Scope+" "+subject, "Experts of %s come from %s; %s", r.Scope, r.URL, r.key())
	}
}

// key says which key the log has.
func (r Registry) key() string {
	if r.LogKey == "" {
		return "the first key of its log that is seen counts"
	}
	return "its log has the key " + r.LogKey
}
