package host

import (
	"github.com/perstack-go/perstack/expert"
)

// HideSecrets adds the keys that lookup knows to the secrets that are not printed: those
// of all providers, not only of the one in use, and that of the registry.
func (h *Host) HideSecrets(lookup func(name string) string) {
	h.Secrets.AddKey("PERSTACK_API_KEY", lookup("PERSTACK_API_KEY"))
	for _, provider := range expert.Providers() {
		for _, name := range expert.ProviderKeyEnv(provider) {
			if name == "GOOGLE_APPLICATION_CREDENTIALS" { // a path, as a rule
				h.Secrets.AddIfRandom(name, lookup(name))
			} else {
				h.Secrets.AddKey(name, lookup(name))
			}
		}
	}
	// A proxy may want a password, which stands in its address.
	for _, name := range []string{
		"PERSTACK_PROXY_URL", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
	} {
		h.Secrets.AddIfRandom(name, lookup(name))
	}
}

// GuardStderr makes standard error show no secret: log, warnings, errors and hints. The
// commands write whole lines to it, so none is cut in two.
func (h *Host) GuardStderr() { h.Stderr = h.Secrets.Writer(h.Stderr) }
