package host

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
)

// HideSecrets adds keys to the secrets that are not printed: those of all providers, not
// only of the one in use, and that of the registry.
func (h *Host) HideSecrets(lookup func(name string) string) {
	runtimes.HideAllKeys(&h.Secrets, lookup)
}

// HideProject adds the secrets of a file and its environment to those that are not printed,
// which also removes them from everything that tools, servers and providers return. A value
// for a skill is a secret if it looks like a key; so is a value in an env file, even if
// another value overrides it, and one in a header or in extraBody.
func (h *Host) HideProject(c *manifest.Config, env env.Env) {
	h.HideSecrets(env.Get)
	runtimes.HideSecrets(&h.Secrets, job.Spec{Experts: c.All(), Settings: c.Settings}, env.Get)
	for name, value := range env.InFiles() {
		h.Secrets.AddIfRandom(name, value)
	}
}

// GuardStderr redacts secrets on standard error: in logs, warnings, errors and hints.
// Commands write whole lines to it, so that no secret is split.
func (h *Host) GuardStderr() {
	h.errors.to = h.Stderr
	h.Stderr = h.Secrets.Writer(&h.errors)
}

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
		program = terminal.ShellJoin(argv...)
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
