package host

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/model"
)

// CredentialsVariable names a file with the key of a Google Cloud account, which file tools
// must not reach.
const CredentialsVariable = "GOOGLE_APPLICATION_CREDENTIALS"

// HideSecrets adds keys to the secrets that are not printed: those of all providers, not
// only of the one in use, and that of the registry.
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
	// The address of a proxy may contain a password.
	for _, name := range []string{
		"PERSTACK_PROXY_URL", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
	} {
		h.Secrets.AddIfRandom(name, lookup(name))
	}
}

// HideProject adds the secrets of a file and its environment to those that are not printed,
// which also removes them from everything that tools, servers and providers return. A value
// for a skill is a secret if it looks like a key; so is a value in an env file, even if
// another value overrides it, and one in a header or in extraBody.
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

// hideHeader hides the value of a header as it is written in the file. For "Bearer KEY" it
// hides the key alone. Values of variables in it are hidden by their own names.
func (h *Host) hideHeader(name, value string) {
	if words := strings.Fields(value); len(words) > 0 {
		h.Secrets.AddIfRandom(name, words[len(words)-1])
	}
}

// GuardStderr redacts secrets on standard error: in logs, warnings, errors and hints.
// Commands write whole lines to it, so that no secret is split.
func (h *Host) GuardStderr() { h.Stderr = h.Secrets.Writer(h.Stderr) }

// Address returns scheme and host of a URL. Everything else in it may be a key.
func Address(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	return terminal.CleanLine(u.Scheme + "://" + u.Host)
}

// Behind returns the program that a skill starts, or the address that it uses, safe to
// print.
func Behind(k *expert.Skill) string {
	if k.Endpoint != "" {
		return Address(k.Endpoint)
	}
	var program string
	if p, ok := k.Package(); ok {
		program = p.Manager + " " + p.Spec()
	} else if argv, err := k.CommandLine(); err == nil {
		program = ShellJoin(argv...)
	}
	return terminal.CleanLine(program)
}

// HandedKeys returns a line for each skill of an Expert that gets the key of a provider.
func HandedKeys(e *expert.Expert) (lines []string) {
	for _, k := range e.Servers() {
		if keys := manifest.ProviderKeys(k); len(keys) > 0 {
			lines = append(lines, fmt.Sprintf("skill %q (%s) gets your %s", terminal.CleanLine(k.Name), Behind(k), strings.Join(keys, ", ")))
		}
	}
	return lines
}
