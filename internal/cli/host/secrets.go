package host

import (
	"strings"

	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/model"
)

// CredentialsVariable names a file with the key of an account of Google Cloud, which file
// tools must not reach.
const CredentialsVariable = "GOOGLE_APPLICATION_CREDENTIALS"

// HideSecrets adds the keys that lookup knows to the secrets that are not printed: those
// of all providers, not only of the one in use, and that of the registry.
func (h *Host) HideSecrets(lookup func(name string) string) {
	h.Secrets.AddKey("PERSTACK_API_KEY", lookup("PERSTACK_API_KEY"))
	for _, provider := range model.Providers() {
		for _, name := range model.KeyEnv(provider) {
			if name == CredentialsVariable { // a path, as a rule
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

// HideProject adds what a file and its environment hold to the secrets that are not
// printed, and by that takes it out of everything that tools, servers and providers say.
// Whatever a skill is given counts if it looks like a key; so does what stands in an env
// file, even if another value won, and what somebody wrote into a header or extraBody.
func (h *Host) HideProject(c *manifest.Config, env env.Env) {
	h.HideSecrets(env.Get)
	for _, e := range c.Experts {
		for _, s := range e.Skills {
			for _, name := range s.RequiredEnv {
				h.Secrets.AddIfRandom(name, env.Get(name))
			}
			for _, header := range s.Headers {
				h.hideHeader(header.Name, header.Value)
			}
		}
	}
	for name, value := range c.Provider.Setting.Headers {
		h.hideHeader(name, value)
	}
	for name, value := range c.Provider.Setting.ExtraBody {
		h.Secrets.AddIfRandom(name, string(value)) // a gateway may want a key there
	}
	for name, value := range env.InFiles() {
		h.Secrets.AddIfRandom(name, value)
	}
}

// hideHeader hides the value of a header as it is written in the file. Of "Bearer KEY"
// the key alone must not be seen either. What variables add to it is hidden by their
// own names.
func (h *Host) hideHeader(name, value string) {
	if words := strings.Fields(value); len(words) > 0 {
		h.Secrets.AddIfRandom(name, words[len(words)-1])
	}
}

// GuardStderr makes standard error show no secret: log, warnings, errors and hints. The
// commands write whole lines to it, so none is cut in two.
func (h *Host) GuardStderr() { h.Stderr = h.Secrets.Writer(h.Stderr) }
