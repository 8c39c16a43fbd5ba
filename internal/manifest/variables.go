package manifest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// checkVariable says why a skill may not have a variable while these providers are in use.
func checkVariable(name string, providers []string) (message, hint string) {
	upper := strings.ToUpper(name)
	ownsKey := slices.IndexFunc(providers, func(p string) bool { return slices.Contains(model.KeyEnv(p), upper) })
	switch {
	case env.Protected(name):
		return wording.Quote(name) + " is protected", "skills cannot have it, since it decides which code a program loads or where it connects; remove it"
	case strings.HasPrefix(upper, "PERSTACK_"):
		return wording.Quote(name) + " belongs to perstack itself", "skills cannot have it; remove it"
	case ownsKey >= 0:
		return wording.Quote(name) + " is the key of provider " + providers[ownsKey], "skills cannot have it; give the skill a key of its own under another name"
	case !expert.ValidVariable(name):
		return wording.Quote(name) + " is not a variable name", "use letters, digits and _"
	}
	return "", ""
}

// RefusedEnv lists the variables in requiredEnv of all skills of a job that no skill may have
// while its providers are in use. Parse has asked the same about the providers of the file; a
// flag can name another, and an Expert need not come from a file.
func RefusedEnv(spec *job.Spec) (all expert.VariableProblems) {
	var providers []string
	for _, use := range spec.ModelUses() {
		providers = append(providers, use.Provider)
	}
	for _, e := range spec.Experts {
		all = append(all, e.CheckEnv(func(name string) (string, string) { return checkVariable(name, providers) })...)
	}
	return all
}

// providersIn lists the providers that a file names, for the job and for single Experts, as
// far as they can be told before the Experts are read.
func providersIn(c *Config, experts *toml.Node) []string {
	all := []string{cmp.Or(c.Settings.Provider, job.DefaultProvider)}
	for _, name := range experts.Keys {
		if p := experts.Fields[name].Fields["provider"]; p != nil && p.Fields["providerName"] != nil {
			all = append(all, p.Fields["providerName"].Text)
		}
	}
	return all
}

// ProviderKeys lists the variables in requiredEnv that hold a key of a provider, of any:
// which of them is in use is for the file to say, and the file may be untrusted.
func ProviderKeys(s *expert.Skill) (keys []string) {
	for _, name := range s.RequiredEnv {
		isKey := slices.ContainsFunc(model.Providers(), func(p string) bool {
			return slices.Contains(model.KeyEnv(p), strings.ToUpper(name))
		})
		if isKey && !slices.Contains(keys, name) {
			keys = append(keys, name)
		}
	}
	return keys
}
